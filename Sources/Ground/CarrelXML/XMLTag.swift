// SPDX-License-Identifier: Apache-2.0

import CXML
import Glibc

/// The start tag of an element, while it is read: only the requested parts are copied.
///
/// It cannot be kept: it cannot be copied, and is only lent.
@safe
package struct XMLTag: ~Copyable {
    /// The parser's own texts, which it ends with a NUL. Nil for an element in no name space.
    private var localName: UnsafePointer<xmlChar>?
    private var uri: UnsafePointer<xmlChar>?
    /// Five pointers for each attribute: local name, prefix, namespace, the value's first byte and the byte after its last.
    private var attributes = unsafe UnsafeBufferPointer<UnsafePointer<xmlChar>?>(start: nil, count: 0)
    private let names = XMLNames()

    /// Points the tag at an element.
    ///
    /// - Parameters:
    ///   - localName: the name without its prefix.
    ///   - uri: the namespace URI.
    ///   - attributes: five pointers for each. All memory belongs to the parser, and is valid until its callback returns.
    mutating func point(
        at localName: UnsafePointer<xmlChar>?,
        _ uri: UnsafePointer<xmlChar>?,
        _ attributes: UnsafeBufferPointer<UnsafePointer<xmlChar>?>
    ) {
        unsafe self.localName = unsafe localName
        unsafe self.uri = unsafe uri
        unsafe self.attributes = unsafe attributes
    }

    /// The name without its prefix.
    package var local: String { unsafe names[localName] ?? "" }

    /// Bytes of all values of attributes.
    package var valueBytes: Int {
        var count = 0
        for index in unsafe stride(from: 0, to: attributes.count, by: 5) { count += unsafe value(at: index)?.count ?? 0 }
        return count
    }

    /// Whether that is its name without its prefix.
    package func isNamed(_ name: StaticString) -> Bool { unsafe Self.isEqual(localName, name) }

    /// Whether it is in a name space.
    ///
    /// - Parameter namespace: the URI.
    /// - Returns: false for one in none.
    package func isIn(_ namespace: StaticString) -> Bool { unsafe Self.isEqual(uri, namespace) }

    /// The value of the first attribute of a local name, in whatever name space.
    package func value(_ local: StaticString) -> String? {
        unsafe bytes(local).map { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// The value of an attribute that is in no name space.
    package subscript(name: StaticString) -> String? {
        unsafe bytes(name, isPlain: true).map { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// Passes the numbers in attributes with single-letter names and without a namespace, without copying them.
    ///
    /// - Parameter take: receives the letter and the number; nil unless the value has 1 to 18 decimal digits.
    package func eachNumber(_ take: (UInt8, Int64?) -> Void) {
        for index in unsafe stride(from: 0, to: attributes.count, by: 5) {
            guard let name = unsafe attributes[index], unsafe name[0] != 0, unsafe name[1] == 0,
                unsafe attributes[index + 2] == nil, let value = unsafe value(at: index)
            else { continue }
            unsafe take(name[0], Self.digits(value))
        }
    }

    private static func digits(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard 1...18 ~= bytes.count else { return nil }
        var number: Int64 = 0
        for index in 0..<bytes.count {
            let digit = unsafe bytes[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            number = number &* 10 &+ Int64(digit)
        }
        return number
    }

    /// Whether an attribute has a value, without copying it.
    ///
    /// - Parameters:
    ///   - local: its local name.
    ///   - value: the value.
    ///   - isPlain: whether only an attribute without a namespace counts.
    /// - Returns: false if there is no such attribute.
    package func has(_ local: StaticString, _ value: String, isPlain: Bool = false) -> Bool {
        guard let bytes = unsafe bytes(local, isPlain: isPlain) else { return false }
        let span = value.utf8.span
        guard bytes.count == span.count else { return false }
        return unsafe span.withUnsafeBufferPointer { span in
            guard let expected = span.baseAddress, let bytes = bytes.baseAddress else { return true }
            return unsafe memcmp(expected, bytes, span.count) == 0
        }
    }

    /// The element without its content.
    package var element: XMLElement {
        var element = XMLElement(XMLName(local, namespace: unsafe names[uri]))
        unsafe element.attributes.reserveCapacity(attributes.count / 5)
        for index in unsafe stride(from: 0, to: attributes.count, by: 5) {
            guard let name = unsafe names[attributes[index]], let value = unsafe value(at: index) else { continue }
            let namespace = unsafe names[attributes[index + 2]]
            let content = unsafe String(decoding: value, as: UTF8.self)
            element.attributes.append(XMLAttribute(XMLName(name, namespace: namespace), content))
        }
        return element
    }

    private func bytes(_ local: StaticString, isPlain: Bool = false) -> UnsafeBufferPointer<UInt8>? {
        for index in unsafe stride(from: 0, to: attributes.count, by: 5) where unsafe Self.isEqual(attributes[index], local) {
            if isPlain, unsafe attributes[index + 2] != nil { continue }
            return unsafe value(at: index)
        }
        return nil
    }

    private func value(at index: Int) -> UnsafeBufferPointer<UInt8>? {
        guard let start = unsafe attributes[index + 3], let end = unsafe attributes[index + 4] else { return nil }
        return unsafe UnsafeBufferPointer(start: start, count: end - start)
    }

    /// Compares up to the NUL, wherever that is.
    private static func isEqual(_ text: UnsafePointer<xmlChar>?, _ name: StaticString) -> Bool {
        // most differ in the first byte
        guard let text = unsafe text, unsafe text[0] == name.utf8Start[0] else { return false }
        let count = name.utf8CodeUnitCount
        // a shorter text differs at its NUL
        for index in 1..<count where unsafe text[index] != name.utf8Start[index] { return false }
        return unsafe text[count] == 0
    }
}
