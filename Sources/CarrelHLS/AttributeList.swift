/// The attributes of one tag, in their order (RFC 8216 §4.2). A name appears once.
package struct AttributeList: Sendable, Hashable {
    /// The value of an attribute.
    package enum Value: Sendable, Hashable {
        /// Text between quotation marks, without them.
        case quoted(String)
        /// Anything else: a number, a hexadecimal sequence, a resolution or an enumerated string, as written.
        case bare(String)
    }

    /// One attribute.
    package struct Attribute: Sendable, Hashable {
        package let name: String
        package let value: Value
    }

    /// All attributes in their order.
    package private(set) var attributes: [Attribute] = []

    package init() {}

    /// The value of the attribute, or nil. Setting an existing one replaces it in its place.
    package subscript(name: String) -> Value? {
        get { attributes.first { $0.name == name }?.value }
        set {
            let place = attributes.firstIndex { $0.name == name }
            switch (place, newValue) {
            case (let place?, let value?): attributes[place] = Attribute(name: name, value: value)
            case (let place?, nil): attributes.remove(at: place)
            case (nil, let value?): attributes.append(Attribute(name: name, value: value))
            case (nil, nil): break
            }
        }
    }

    /// The text of a quoted attribute; nil when it is absent or bare.
    package func quoted(_ name: String) -> String? {
        guard case .quoted(let text) = self[name] else { return nil }
        return text
    }

    /// The text of an attribute without quotation marks; nil when it is absent or quoted.
    package func bare(_ name: String) -> String? {
        guard case .bare(let text) = self[name] else { return nil }
        return text
    }

    /// A decimal integer (§4.2); nil when it is absent or not one.
    package func integer(_ name: String) -> UInt64? {
        bare(name).flatMap(DecimalInteger.parse)
    }

    /// Reads the list after a tag's colon, or says what is wrong with it.
    static func parse(_ text: Substring) -> Result<AttributeList, AttributeFault> {
        var list = AttributeList()
        var rest = text
        while true {
            guard let equals = rest.firstIndex(of: "=") else { return .failure(AttributeFault("attribute has no value")) }
            let name = rest[..<equals]
            guard !name.isEmpty, name.utf8.allSatisfy(isNameCharacter) else {
                return .failure(AttributeFault("attribute name is not made of capitals, digits and hyphens"))
            }
            rest = rest[rest.index(after: equals)...]
            let value: Value
            if rest.first == "\"" {
                let inner = rest.dropFirst()
                guard let close = inner.firstIndex(of: "\"") else {
                    return .failure(AttributeFault("quoted string does not end"))
                }
                value = .quoted(String(inner[..<close]))
                rest = inner[inner.index(after: close)...]
            } else {
                let end = rest.firstIndex(of: ",") ?? rest.endIndex
                guard end > rest.startIndex, rest[..<end].utf8.allSatisfy({ $0 > 0x20 && $0 != UInt8(ascii: "\"") }) else {
                    return .failure(AttributeFault("attribute value is empty or holds a blank or quotation mark"))
                }
                value = .bare(String(rest[..<end]))
                rest = rest[end...]
            }
            guard list.attributes.count < 64 else { return .failure(AttributeFault("tag has too many attributes")) }
            guard list[String(name)] == nil else { return .failure(AttributeFault("attribute appears twice")) }
            list[String(name)] = value
            guard !rest.isEmpty else { return .success(list) }
            guard rest.first == "," else { return .failure(AttributeFault("attributes are not separated by a comma")) }
            rest = rest.dropFirst()
        }
    }

    /// The list as it stands after a tag's colon.
    func text() throws(PlaylistError) -> String {
        var out = ""
        for attribute in attributes {
            if !out.isEmpty { out += "," }
            out += attribute.name + "="
            switch attribute.value {
            case .bare(let text): out += text
            case .quoted(let text):
                guard text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && !(0x7f...0x9f).contains($0.value) && $0 != "\"" })
                else {
                    throw PlaylistError(.quotedString, "a quoted string cannot hold a quotation mark or a control character")
                }
                out += "\"\(text)\""
            }
        }
        return out
    }

    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
        default: false
        }
    }
}

/// The error in an attribute list, without the place: the line's reader knows that.
struct AttributeFault: Error {
    let what: String

    init(_ what: String) {
        self.what = what
    }
}
