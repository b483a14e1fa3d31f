// SPDX-License-Identifier: Apache-2.0

/// A variable of a playlist (draft-pantos-hls-rfc8216bis §4.4.2.3, EXT-X-DEFINE).
package struct PlaylistVariable: Sendable, Hashable {
    /// The giver of the value.
    package enum Origin: String, Sendable, Hashable {
        /// The playlist itself.
        case value = "NAME"
        /// The multivariant playlist that names this one.
        case imported = "IMPORT"
        /// The query of the playlist's own address.
        case queryParameter = "QUERYPARAM"
    }

    package var name: String
    package var origin: Origin
    /// The value; nil if it was not supplied, which only a lenient reader accepts.
    package var value: String?
    /// The offset of the line that defines it: a line before it does not know the variable.
    var source = Provenance<Int>()

    package init(_ name: String, _ value: String?, origin: Origin = .value) {
        self.name = name
        self.origin = origin
        self.value = value
    }

    /// The attributes of the tag.
    var attributes: AttributeList {
        var list = AttributeList()
        list[origin.rawValue] = .quoted(name)
        if origin == .value { list["VALUE"] = .quoted(value ?? "") }
        return list
    }
}

/// The variables that were defined so far.
struct PlaylistVariables {
    private(set) var list: [PlaylistVariable] = []
    private var places: [String: Int] = [:]

    init(_ list: [PlaylistVariable] = []) {
        for variable in list { append(variable) }
    }

    var isEmpty: Bool { list.isEmpty }

    /// Most variables of a playlist.
    static let countLimit = 1000

    subscript(name: some StringProtocol) -> PlaylistVariable? { places[String(name)].map { list[$0] } }

    mutating func append(_ variable: PlaylistVariable) {
        if places[variable.name] == nil { places[variable.name] = list.count }
        list.append(variable)
    }

    /// Replaces references `{$name}` by the values of the variables.
    ///
    /// - Parameters:
    ///   - text: the text verbatim.
    ///   - unknown: gets the name of each variable that has no value; its reference is left unchanged.
    /// - Returns: nil if the text grows too long.
    func expand(_ text: String, unknown: (Substring) -> Void) -> String? {
        guard !list.isEmpty, text.utf8.contains(UInt8(ascii: "{")) else { return text }
        var out = ""
        var remainder = text[...]
        while let start = remainder.firstRange(of: "{$") {
            out += remainder[..<start.lowerBound]
            guard let end = remainder[start.upperBound...].firstIndex(of: "}") else {
                remainder = remainder[start.lowerBound...]
                break
            }
            let name = remainder[start.upperBound..<end]
            if let value = self[name]?.value {
                out += value
            } else {
                if Self.isName(name) { unknown(name) }
                out += remainder[start.lowerBound...end]
            }
            remainder = remainder[remainder.index(after: end)...]
            guard out.utf8.count <= Self.limit else { return nil }
        }
        return out + remainder
    }

    /// Most bytes of an expanded value.
    private static let limit = 65_536

    /// The characters of a variable's name.
    static func isName(_ text: some StringProtocol) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
