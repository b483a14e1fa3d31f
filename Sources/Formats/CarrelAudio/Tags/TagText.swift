// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Text as tags store it.
package enum TagText {
    /// The characters of windows-1252 at the control codes of ISO 8859-1, which tags do not contain.
    private static let windows1252: [UInt16] = [
        0x20ac, 0xfffd, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0xfffd, 0x017d,
        0xfffd,
        0xfffd, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0xfffd, 0x017e,
        0x0178,
    ]

    /// ISO 8859-1, with Windows' additions.
    package static func latin1(_ bytes: RawSpan) -> String {
        var units: [UInt16] = []
        units.reserveCapacity(bytes.byteCount)
        for i in 0..<bytes.byteCount {
            let byte = bytes.u8(at: i)
            units.append(byte & 0xe0 == 0x80 ? windows1252[Int(byte & 0x1f)] : UInt16(byte))
        }
        return String(decoding: units, as: UTF16.self)
    }

    /// UTF-8; invalid bytes become U+FFFD. A byte order mark is dropped.
    package static func utf8(_ bytes: RawSpan) -> String {
        let text = String(decoding: [UInt8](copying: bytes), as: UTF8.self)
        return text.unicodeScalars.first == "\u{feff}" ? String(text.unicodeScalars.dropFirst()) : text
    }

    /// Decodes UTF-16 with a byte order mark; without one, in the given byte order. An odd last byte is dropped.
    package static func utf16(_ bytes: RawSpan, bigEndian: Bool) -> String {
        var bigEndian = bigEndian
        var units: [UInt16] = []
        units.reserveCapacity(bytes.byteCount / 2)
        for i in stride(from: 0, to: bytes.byteCount - 1, by: 2) {
            let unit = bytes.u16(at: i)
            if i == 0, unit == 0xfeff || unit == 0xfffe {
                bigEndian = unit == 0xfeff
            } else {
                units.append(bigEndian ? unit : unit.byteSwapped)
            }
        }
        return String(decoding: units, as: UTF16.self)
    }

    /// The text without white space and NULs around it; nil if nothing is left.
    package static func trimmed(_ text: String) -> String? {
        func blank(_ scalar: Unicode.Scalar) -> Bool { scalar.value <= 32 || scalar.value == 0xa0 || scalar.value == 0xfeff }
        let scalars = text.unicodeScalars
        guard let first = scalars.firstIndex(where: { !blank($0) }), let last = scalars.lastIndex(where: { !blank($0) }) else {
            return nil
        }
        return String(scalars[first...last])
    }
}
