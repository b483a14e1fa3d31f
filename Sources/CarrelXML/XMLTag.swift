import CXML
import Glibc

/// The start tag of an element, while it is read: nothing of it is copied but what is asked for.
@safe
public final class XMLTag {
    /// The parser's own texts, which it ends with a NUL. Nil when the tag is over, and for an element in no name space.
    private var localName: UnsafePointer<xmlChar>?
    private var uri: UnsafePointer<xmlChar>?
    /// Five pointers for each attribute: local name, prefix, name space, the value's first byte and the one behind its last.
    private var attributes: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?
    private var attributeCount = 0
    private let names: XMLNames

    init(_ names: XMLNames) { self.names = names }

    /// Lends the tag to a visitor.
    func lend(
        _ localName: UnsafePointer<xmlChar>?,
        _ uri: UnsafePointer<xmlChar>?,
        _ attributes: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?,
        count: Int,
        to visitor: any XMLVisitor
    ) {
        unsafe self.localName = unsafe localName
        unsafe self.uri = unsafe uri
        unsafe self.attributes = unsafe attributes
        attributeCount = unsafe attributes == nil ? 0 : count
        visitor.start(self)
        unsafe self.localName = nil
        unsafe self.uri = nil
        unsafe self.attributes = nil
        attributeCount = 0
    }

    /// The name without its prefix.
    public var local: String { unsafe names[localName] ?? "" }

    /// Whether that is its name without its prefix.
    public func isNamed(_ name: StaticString) -> Bool { unsafe Self.isEqual(localName, name) }

    /// Whether it is in a name space.
    ///
    /// - Parameter namespace: the URI.
    /// - Returns: false for one in none.
    public func isIn(_ namespace: StaticString) -> Bool { unsafe Self.isEqual(uri, namespace) }

    /// The value of the first attribute of a local name, in whatever name space.
    public func value(_ local: StaticString) -> String? {
        unsafe bytes(local).map { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// The value of an attribute that is in no name space.
    public subscript(name: StaticString) -> String? {
        unsafe bytes(name, isPlain: true).map { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// Whether an attribute has a value, without a copy of it.
    public func has(_ local: StaticString, _ value: String) -> Bool {
        let span = value.utf8.span
        guard let bytes = unsafe bytes(local), bytes.count == span.count else { return false }
        for index in span.indices where unsafe bytes[index] != span[index] { return false }
        return true
    }

    /// The element as it is before its content.
    public var element: XMLElement {
        var element = XMLElement(XMLName(local, namespace: unsafe names[uri]))
        guard let attributes = unsafe attributes else { return element }
        element.attributes.reserveCapacity(attributeCount)
        for index in 0..<attributeCount {
            guard let name = unsafe names[attributes[index * 5]], let value = unsafe value(at: index) else { continue }
            let namespace = unsafe names[attributes[index * 5 + 2]]
            let content = unsafe String(decoding: value, as: UTF8.self)
            element.attributes.append(XMLAttribute(XMLName(name, namespace: namespace), content))
        }
        return element
    }

    private func bytes(_ local: StaticString, isPlain: Bool = false) -> UnsafeBufferPointer<UInt8>? {
        guard let attributes = unsafe attributes else { return nil }
        for index in 0..<attributeCount where unsafe Self.isEqual(attributes[index * 5], local) {
            if isPlain, unsafe attributes[index * 5 + 2] != nil { continue }
            return unsafe value(at: index)
        }
        return nil
    }

    private func value(at index: Int) -> UnsafeBufferPointer<UInt8>? {
        guard let attributes = unsafe attributes, let start = unsafe attributes[index * 5 + 3],
            let end = unsafe attributes[index * 5 + 4]
        else { return nil }
        return unsafe UnsafeBufferPointer(start: start, count: end - start)
    }

    /// Compares up to the NUL, wherever that is.
    private static func isEqual(_ text: UnsafePointer<xmlChar>?, _ name: StaticString) -> Bool {
        guard let text = unsafe text else { return false }
        let count = name.utf8CodeUnitCount
        return unsafe strncmp(
            UnsafeRawPointer(text).assumingMemoryBound(to: CChar.self),
            UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self),
            count
        ) == 0 && text[count] == 0
    }
}
