// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

/// The id of a content key: 16 bytes, as the key ids of ISO/IEC 23001-7 are.
package struct KeyID: Sendable, Hashable, CustomStringConvertible {
    /// Bytes of an id.
    package static let byteCount = 16
    /// The prefix of content ids that name their key.
    private static let prefix = "urn:marlin:kid:"
    /// The places of the hyphens in the form of RFC 9562 §4.
    private static let hyphens = [8, 13, 18, 23]

    /// 16 bytes, in the order in which they are written.
    package let bytes: [UInt8]

    /// - Parameter bytes: 16 of them; nil for any other number.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// - Parameter hex: 32 hexadecimal digits in either case; nil for anything else.
    package init?(hex: some StringProtocol) {
        guard hex.utf8.count == 2 * Self.byteCount, let bytes = Hex.decode(hex) else { return nil }
        self.bytes = bytes
    }

    /// - Parameter uuid: the form of RFC 9562 §4 in either case; nil for anything else.
    package init?(uuid: some StringProtocol) {
        // bytes, because generic text is taken apart slowly
        let text = Array(uuid.utf8)
        guard text.count == 36, Self.hyphens.allSatisfy({ text[$0] == UInt8(ascii: "-") }) else { return nil }
        let digits = text.indices.compactMap { Self.hyphens.contains($0) ? nil : text[$0] }
        self.init(hex: String(decoding: digits, as: UTF8.self))
    }

    /// The id that a label names: the first 16 bytes of the SHA-256 of its UTF-8. How the services that Carrel follows hash a label is not
    /// public, so ids of labels are Carrel's own.
    ///
    /// - Parameter label: any text.
    package init(label: some StringProtocol) {
        let text = Array(label.utf8)
        bytes = Array(SHA256.hash(text.rawSpan).prefix(Self.byteCount))
    }

    /// Reads the ID in a content ID such as `urn:marlin:kid:00112233445566778899aabbccddeeff`; nil if it has none.
    package init?(inContentID contentID: some StringProtocol) {
        guard contentID.utf8.starts(with: Self.prefix.utf8) else { return nil }
        self.init(hex: String(decoding: contentID.utf8.dropFirst(Self.prefix.utf8.count), as: UTF8.self))
    }

    /// 32 lower-case hexadecimal digits.
    package var hex: String { Hex.encode(bytes) }

    /// The form of RFC 9562 §4 in lower case.
    package var uuid: String {
        var text = Array(hex.utf8)
        for place in Self.hyphens { text.insert(UInt8(ascii: "-"), at: place) }
        return String(decoding: text, as: UTF8.self)
    }

    /// The content id that names this key and no other.
    package var contentID: String { Self.prefix + hex }

    package var description: String { hex }
}
