// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The content of a PDF's document information dictionary (ISO 32000-1 §14.3.3), if it is unencrypted in the file.
///
/// A title in a compressed or encrypted object is not found; the operator can provide one.
struct PDFInformation {
    private(set) var title: String?
    private(set) var author: String?
    private(set) var isEncrypted = false

    /// Bytes at the end of the file in which the trailer is looked for, and of an object that is looked at.
    private static let tailLimit: Int64 = 65_536
    private static let objectLimit: Int64 = 16_384

    init(_ file: SourceFile) throws {
        let tail = try file.bytes(max(0, file.size - Self.tailLimit)..<file.size)
        isEncrypted = tail.index(of: "/Encrypt") != nil
        guard !isEncrypted, let number = Self.reference("/Info", in: tail), let at = try Self.offset(of: number, in: file) else {
            return
        }
        let object = try file.bytes(at..<min(file.size, at + Self.objectLimit))
        let end = object.index(of: "endobj") ?? object.count
        title = Self.string("/Title", in: object[..<end])
        author = Self.string("/Author", in: object[..<end])
    }

    /// The object and generation number of the last `key N G R`.
    private static func reference(_ key: String, in bytes: [UInt8]) -> (UInt64, UInt64)? {
        var (from, reference): (Int, (UInt64, UInt64)?) = (0, nil)
        while let at = bytes.index(of: key, from: from) {
            from = at + key.utf8.count
            let parts = bytes[from...].prefix(40).split { $0 <= 0x20 }.prefix(3).map { String(decoding: $0, as: UTF8.self) }
            if parts.count == 3, let number = UInt64(parts[0]), let generation = UInt64(parts[1]), parts[2].hasPrefix("R") {
                reference = (number, generation)
            }
        }
        return reference
    }

    /// The offset of the last object of that number.
    private static func offset(of object: (UInt64, UInt64), in file: SourceFile) throws -> Int64? {
        let mark = "\(object.0) \(object.1) obj"
        var (offset, at): (Int64?, Int64) = (nil, 0)
        var overlap: [UInt8] = []
        try file.forEachWindow { window in
            let bytes = overlap + [UInt8](copying: window)
            let start = at - Int64(overlap.count)
            var from = 0
            while let index = bytes.index(of: mark, from: from) {
                from = index + 1
                // "12 0 obj" is not the end of "112 0 obj"
                if index == 0 ? start == 0 : bytes[index - 1] <= 0x20 { offset = start + Int64(index + mark.utf8.count) }
            }
            at += Int64(window.byteCount)
            overlap = Array(bytes.suffix(mark.utf8.count))
        }
        return offset
    }

    /// The text string after a key, in parentheses or in hexadecimal (§7.3.4, §7.9.2.2).
    private static func string(_ key: String, in object: ArraySlice<UInt8>) -> String? {
        let object = Array(object)
        guard let at = object.index(of: key) else { return nil }
        let remainder = object[(at + key.utf8.count)...].drop { $0 <= 0x20 }
        var bytes: [UInt8]?
        if remainder.first == UInt8(ascii: "(") {
            bytes = literal(remainder.dropFirst())
        } else if remainder.first == UInt8(ascii: "<") {
            let digits = remainder.dropFirst().prefix { $0 != UInt8(ascii: ">") }.filter { $0 > 0x20 }
            bytes = Hex.decode(String(decoding: digits + (digits.count % 2 == 1 ? [0x30] : []), as: UTF8.self))
        }
        guard let bytes else { return nil }
        let text = PageHead.words(decoded(bytes), limit: 300)
        return text.isEmpty ? nil : text
    }

    private static func literal(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var out: [UInt8] = []
        var depth = 1
        var remainder = text
        while let byte = remainder.popFirst() {
            switch byte {
            case UInt8(ascii: "("): depth += 1
            case UInt8(ascii: ")"):
                depth -= 1
                if depth == 0 { return out }
            case UInt8(ascii: "\\"):
                guard let escaped = remainder.popFirst() else { return nil }
                switch escaped {
                case UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"): out.append(0x20)
                case UInt8(ascii: "b"), UInt8(ascii: "f"): break
                case 0x0a: break
                case 0x0d: if remainder.first == 0x0a { remainder.removeFirst() }
                case 0x30...0x37:
                    var value = UInt16(escaped - 0x30)
                    for _ in 0..<2 {
                        guard let digit = remainder.first, (0x30...0x37).contains(digit) else { break }
                        value = value << 3 | UInt16(digit - 0x30)
                        remainder.removeFirst()
                    }
                    out.append(UInt8(truncatingIfNeeded: value))
                default: out.append(escaped)
                }
                continue
            default: break
            }
            out.append(byte)
        }
        return nil
    }

    /// UTF-16 or UTF-8 with a mark, or else Latin-1, which PDFDocEncoding is for almost all letters.
    private static func decoded(_ bytes: [UInt8]) -> String {
        if bytes.starts(with: [0xfe, 0xff]) {
            let units = stride(from: 2, to: bytes.count - 1, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
            return String(decoding: units, as: UTF16.self)
        }
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) { return String(decoding: bytes.dropFirst(3), as: UTF8.self) }
        return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}
