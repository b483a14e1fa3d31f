// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The inside of a JSON string that has escapes (RFC 8259 §7).
enum JSONEscapes {
    /// The text of `raw`: the bytes between the quotation marks, without control characters, and without a lone backslash at the
    /// end. `start` is their offset, for errors.
    static func decode(_ raw: RawSpan, at start: Int) throws(Malformed) -> String {
        // escapes are ASCII, so the text is UTF-8 exactly when the bytes are
        try raw.checkUTF8(at: start)
        var out: [UInt8] = []
        out.reserveCapacity(raw.byteCount)
        var position = 0
        while position < raw.byteCount {
            let byte = raw.u8(at: position)
            guard byte == UInt8(ascii: "\\") else {
                out.append(byte)
                position += 1
                continue
            }
            let character = raw.u8(at: position + 1)
            if character == UInt8(ascii: "u") {
                let (scalar, count) = try scalar(raw, position, start)
                out.append(contentsOf: String(Character(scalar)).utf8)
                position += count
            } else {
                guard let plain = meaning(character) else {
                    throw Malformed("JSON string has an unknown escape", at: start + position)
                }
                out.append(plain)
                position += 2
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    private static func meaning(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): character
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0c
        case UInt8(ascii: "n"): 0x0a
        case UInt8(ascii: "r"): 0x0d
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// The scalar of one `\uXXXX`, or of a surrogate pair, and the number of bytes.
    private static func scalar(_ raw: RawSpan, _ position: Int, _ start: Int) throws(Malformed) -> (Unicode.Scalar, Int) {
        guard let unit = codeUnit(raw, position) else {
            throw Malformed("JSON string has an escape without four hexadecimal digits", at: start + position)
        }
        if let scalar = Unicode.Scalar(unit) { return (scalar, 6) }
        guard 0xd800...0xdbff ~= unit, let low = codeUnit(raw, position + 6), 0xdc00...0xdfff ~= low,
            let scalar = Unicode.Scalar(0x10000 + (UInt32(unit) - 0xd800) << 10 + (UInt32(low) - 0xdc00))
        else { throw Malformed("JSON string has half a surrogate pair", at: start + position) }
        return (scalar, 12)
    }

    /// The number in the `\uXXXX` at `position`; nil if there is none.
    private static func codeUnit(_ raw: RawSpan, _ position: Int) -> UInt16? {
        guard raw.matches("\\u", at: position), raw.byteCount - position >= 6 else { return nil }
        var unit: UInt16 = 0
        for offset in position + 2..<position + 6 {
            let character = raw.u8(at: offset)
            switch character {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): unit = unit << 4 | UInt16(character - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): unit = unit << 4 | UInt16(character - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): unit = unit << 4 | UInt16(character - UInt8(ascii: "A") + 10)
            default: return nil
            }
        }
        return unit
    }
}

extension RawSpan {
    /// The bytes as text; they are known to be ASCII.
    var asciiText: String {
        unsafe withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// The bytes as text.
    func utf8Text(at start: Int) throws(Malformed) -> String {
        try checkUTF8(at: start)
        return asciiText
    }

    func checkUTF8(at start: Int) throws(Malformed) {
        do {
            _ = try unsafe UTF8Span(validating: _unsafeView(as: UInt8.self))
        } catch {
            throw Malformed("JSON string is not UTF-8", at: start + error.byteOffsets.lowerBound)
        }
    }
}
