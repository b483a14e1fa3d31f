// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The attributes of one tag, in their order (RFC 8216 §4.2). A name appears once.
package struct AttributeList: Sendable, Hashable {
    /// The value of an attribute.
    package enum Value: Sendable, Hashable {
        /// Text between quotation marks, without them.
        case quoted(String)
        /// Anything else: a number, a hexadecimal sequence, a resolution or an enumerated string, as written.
        case bare(String)

        /// The text, with or without quotation marks.
        package var text: String {
            switch self {
            case .quoted(let text), .bare(let text): text
            }
        }
    }

    /// One attribute.
    package struct Attribute: Sendable, Hashable {
        package let name: String
        package let value: Value
    }

    /// All attributes in their order.
    package private(set) var attributes: [Attribute] = []

    package init() {}

    /// The attributes of a tag with their texts.
    init(_ scanned: [ScannedAttribute], _ bytes: RawSpan) {
        attributes.reserveCapacity(scanned.count)
        for attribute in scanned {
            let text = bytes.text(attribute.value)
            attributes.append(
                Attribute(name: bytes.text(attribute.name), value: attribute.isQuoted ? .quoted(text) : .bare(text))
            )
        }
    }

    /// The value of the attribute, or nil. Setting an existing one replaces it in its place.
    package subscript(name: String) -> Value? {
        get { attributes.first { $0.name == name }?.value }
        set {
            let index = attributes.firstIndex { $0.name == name }
            switch (index, newValue) {
            case (let index?, let value?): attributes[index] = Attribute(name: name, value: value)
            case (let index?, nil): attributes.remove(at: index)
            case (nil, let value?): attributes.append(Attribute(name: name, value: value))
            case (nil, nil): break
            }
        }
    }

    /// The text of a quoted attribute; nil if it is absent or bare.
    package func quoted(_ name: String) -> String? {
        guard case .quoted(let text) = self[name] else { return nil }
        return text
    }

    /// The text of an attribute without quotation marks; nil if it is absent or quoted.
    package func bare(_ name: String) -> String? {
        guard case .bare(let text) = self[name] else { return nil }
        return text
    }

    /// A decimal integer (§4.2); nil if absent or invalid.
    package func integer(_ name: String) -> UInt64? {
        bare(name).flatMap { DecimalInteger.parse($0) }
    }

    /// A decimal floating-point number of seconds (§4.2), which may be negative; nil if absent or invalid.
    package func seconds(_ name: String) -> Duration? {
        guard let text = bare(name) else { return nil }
        guard text.hasPrefix("-") else { return DecimalInteger.parseSeconds(text) }
        return DecimalInteger.parseSeconds(text.dropFirst()).map { .zero - $0 }
    }

    /// Whether an enumerated attribute is YES.
    package func isYes(_ name: String) -> Bool { bare(name) == "YES" }

    /// A width and a height, such as `1280x720` (§4.2); nil if absent or invalid.
    package func resolution(_ name: String) -> (width: UInt64, height: UInt64)? {
        let parts = bare(name)?.split(separator: "x", omittingEmptySubsequences: false) ?? []
        guard parts.count == 2, let width = DecimalInteger.parse(parts[0]), let height = DecimalInteger.parse(parts[1]) else {
            return nil
        }
        return (width, height)
    }

    /// Changes every value.
    mutating func mapValues(_ change: (Value) -> Value) {
        attributes = attributes.map { Attribute(name: $0.name, value: change($0.value)) }
    }

    /// Adds an attribute without a search for its name.
    mutating func append(_ name: String, _ value: Value) {
        attributes.append(Attribute(name: name, value: value))
    }

    /// The list as text after a tag's colon.
    func text() throws(PlaylistError) -> String {
        var out = ""
        for attribute in attributes {
            if !out.isEmpty { out += "," }
            out += attribute.name + "="
            switch attribute.value {
            case .bare(let text):
                guard !text.isEmpty,
                    text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: ",") })
                else {
                    throw PlaylistError(
                        .quotedString,
                        "a value without quotation marks cannot hold a blank, comma or quotation mark"
                    )
                }
                out += text
            case .quoted(let text):
                guard
                    text.unicodeScalars.allSatisfy({
                        ($0.value >= 0x20 || $0 == "\t") && !(0x7f...0x9f).contains($0.value) && $0 != "\""
                    })
                else {
                    throw PlaylistError(.quotedString, "a quoted string cannot hold a quotation mark or a control character")
                }
                out += "\"\(text)\""
            }
        }
        return out
    }
}
