// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The name of a blob: the SHA-256 of its bytes (FIPS 180-4).
package struct BlobID: Hashable, Sendable, CustomStringConvertible {
    /// 64 digits of lower-case hexadecimal.
    package let text: String

    /// The id that `text` spells, or nil if it is not 64 digits of lower-case hexadecimal.
    package init?(_ text: String) {
        guard text.utf8.count == 64, let digest = Hex.decode(text), Hex.encode(digest) == text else { return nil }
        self.text = text
    }

    /// - Parameter digest: the 32 bytes of SHA-256.
    init(digest: [UInt8]) {
        text = Hex.encode(digest)
    }

    package var description: String { text }
}
