// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

/// Reads a response of a third-party server: well-formed XML, with some tolerance around it.
struct AnswerDocument {
    /// A response with 50,000 issues has about three megabytes.
    static let limits = XMLLimits(bytes: 8 << 20, depth: 16, elements: 200_000, attributes: 32, text: 65_536)

    private let bytes: [UInt8]

    /// Accepts white space before the declaration, and ISO 8859-1 or windows-1252 if declared.
    init(_ bytes: [UInt8]) throws(Malformed) {
        guard bytes.count <= Self.limits.bytes else {
            throw Malformed("the answer is longer than \(Self.limits.bytes) bytes", at: Self.limits.bytes)
        }
        let start = bytes.firstIndex { !Self.isSpace($0) } ?? bytes.count
        let trimmed = start == 0 ? bytes : Array(bytes[start...])
        self.bytes = Self.declaresLatin1(trimmed) ? Self.latin1(trimmed) : trimmed
    }

    func root() throws(Malformed) -> XMLElement {
        try XMLElement.parse(bytes.rawSpan, limits: Self.limits)
    }

    /// Hands over the document's events in their order, a piece at a time, without holding them all.
    func each(_ take: (XMLEvent) -> Void) throws(Malformed) {
        var reader = XMLReader(limits: Self.limits)
        for start in stride(from: 0, to: bytes.count, by: 32_768) {
            let events = try reader.read(bytes.rawSpan.extracting(start..<min(start + 32_768, bytes.count)))
            events.forEach(take)
        }
        try reader.finish().forEach(take)
    }

    // MARK: Encodings

    private static func declaresLatin1(_ bytes: [UInt8]) -> Bool {
        let head = String(decoding: bytes.prefix(200), as: UTF8.self).lowercased()
        guard head.hasPrefix("<?xml"), let declaration = head.split(separator: "?>").first,
            let value = declaration.split(separator: "encoding", maxSplits: 1).dropFirst().first
        else { return false }
        let name = value.drop { " \t\r\n=\"'".contains($0) }.prefix { !"\"' ".contains($0) }
        return ["iso-8859-1", "latin1", "windows-1252", "cp1252"].contains(String(name))
    }

    /// UTF-8 of windows-1252, which agrees with ISO 8859-1 but for characters that XML has no use for.
    private static func latin1(_ bytes: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count + bytes.count / 8)
        for byte in bytes {
            if byte < 0x80 {
                out.append(byte)
            } else if byte < 0xa0 {
                out += String(windows1252[Int(byte) - 0x80]).utf8
            } else {
                out.append(0xc0 | byte >> 6)
                out.append(0x80 | byte & 0x3f)
            }
        }
        return out
    }

    /// The characters from 0x80 to 0x9f (WHATWG Encoding, index windows-1252).
    private static let windows1252: [Unicode.Scalar] = [
        "€", "\u{81}", "‚", "ƒ", "„", "…", "†", "‡", "ˆ", "‰", "Š", "‹", "Œ", "\u{8d}", "Ž", "\u{8f}", "\u{90}", "‘", "’", "“",
        "”",
        "•", "–", "—", "˜", "™", "š", "›", "œ", "\u{9d}", "ž", "Ÿ",
    ]

    // MARK: Words

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x9 || byte == 0xa || byte == 0xd }

    /// A text without the white space that laid it out.
    static func trimmed(_ text: String) -> String {
        let bytes = text.utf8
        guard let first = bytes.firstIndex(where: { !isSpace($0) }), let last = bytes.lastIndex(where: { !isSpace($0) }) else {
            return ""
        }
        return String(text[first...last])
    }

    /// A refusal's status in normalized spelling: `NOT_ENTITLED` is `notentitled`. Unknown words are unchanged.
    static func status(_ text: String?) -> String? {
        guard let text = text.map(trimmed), !text.isEmpty else { return nil }
        let plain = String(text.lowercased().filter { !"_- ".contains($0) })
        let word = plain == "notrecognized" ? "notrecognised" : plain
        return ["notrecognised", "notentitled", "expired", "suspended", "throttled", "devicelimit"].contains(word) ? word : text
    }

    /// The content of an `error` element.
    static func refusal(_ error: XMLElement) -> (status: String?, message: String?) {
        let text = trimmed(error.text)
        return (status(error["status"]), error["message"] ?? (text.isEmpty ? nil : text))
    }
}
