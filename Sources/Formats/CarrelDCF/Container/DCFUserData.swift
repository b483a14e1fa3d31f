// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelMP4

/// One entry of an object's user data (`udta`, OMA DRM Content Format 2.0; 3GPP TS 26.244 §8).
package struct DCFUserDataEntry: Sendable, Hashable {
    /// Its type: `titl`, `dscp`, `cprt`, `auth`, `gnre`, `icnu`, `infu`, `cvru`, `lrcu`, …
    package let type: FourCC
    /// ISO 639-2, three letters; nil if the entry has none.
    package let language: String?
    /// Its text or address; nil for an entry of another kind.
    package let text: String?

    /// Addresses, which have no language.
    private static let addresses: Set<FourCC> = ["icnu", "infu", "cvru", "lrcu"]
    /// Texts in a language.
    private static let texts: Set<FourCC> = ["titl", "dscp", "cprt", "auth", "gnre", "perf", "albm"]

    /// Reads the content of a box of user data.
    init(_ type: FourCC, _ content: RawSpan) {
        self.type = type
        let isAddress = Self.addresses.contains(type)
        guard isAddress || Self.texts.contains(type), content.byteCount >= (isAddress ? 4 : 6) else {
            language = nil
            text = nil
            return
        }
        language = isAddress ? nil : Self.language(content.u16(at: 4))
        text = Self.text(content.extracting(droppingFirst: isAddress ? 4 : 6))
    }

    /// A box with a title in no named language, as the user data of an object; empty for an empty title. A title longer than 1,000
    /// characters is cut.
    package static func title(_ title: String) -> [UInt8] {
        guard !title.isEmpty else { return [] }
        var writer = BoxWriter()
        writer.fullBox("titl") { writer in
            writer.u16(undetermined)
            writer.append(Array(title.prefix(1000).filter { $0 != "\0" }.utf8) + [0])
        }
        return writer.bytes
    }

    /// `und` in ISO 639-2, three letters of five bits.
    private static let undetermined: UInt16 = 0x55c4

    private static func language(_ code: UInt16) -> String? {
        var letters = ""
        for shift: UInt16 in [10, 5, 0] {
            let letter = UInt8(code >> shift & 31)
            guard (1...26).contains(letter) else { return nil }
            letters.unicodeScalars.append(Unicode.Scalar(letter + 0x60))
        }
        return letters
    }

    /// Decodes UTF-8, or UTF-16 after a byte order mark, up to a NUL.
    private static func text(_ bytes: RawSpan) -> String {
        guard bytes.byteCount >= 2, bytes.u16(at: 0) == 0xfeff else {
            return String(decoding: [UInt8](copying: bytes).prefix { $0 != 0 }, as: UTF8.self)
        }
        let units = stride(from: 2, to: bytes.byteCount - 1, by: 2).map { bytes.u16(at: $0) }
        return String(decoding: units.prefix { $0 != 0 }, as: UTF16.self)
    }
}
