// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto

/// The digest of a passphrase: its SHA-256, 32 bytes (LCP 1.0 §4.1). The passphrase itself is never kept.
public struct UserKey: Sendable, Equatable {
    let secret: Secret

    /// Creates a key from a passphrase.
    ///
    /// - Parameter passphrase: the passphrase as typed; it is neither trimmed nor normalized.
    public init(passphrase: String) {
        let bytes = Array(passphrase.utf8)
        secret = Secret(SHA256.hash(bytes.rawSpan))
    }

    /// Creates a key from the digest of a passphrase.
    ///
    /// - Parameter digest: the SHA-256 of a passphrase. Nil if it has not 32 bytes.
    public init?(digest: [UInt8]) { self.init(digest: Secret(digest)) }

    /// - Parameter digest: Nil if it has not 32 bytes.
    package init?(digest: Secret) {
        guard digest.count == SHA256.byteCount else { return nil }
        secret = digest
    }

    /// Creates a key from the digest of a passphrase, in hexadecimal digits.
    ///
    /// - Parameter hexDigest: 64 digits. Nil for anything else.
    public init?(hexDigest: String) {
        guard let bytes = Hex.decode(hexDigest) else { return nil }
        self.init(digest: Secret(bytes))
    }

    /// The keys that a user may have meant: the digest of the words, and if they look like a digest, that digest.
    ///
    /// - Parameter words: the user's input.
    /// - Returns: one key or two.
    public static func candidates(_ words: String) -> [UserKey] {
        [UserKey(passphrase: words), UserKey(hexDigest: words)].compactMap(\.self)
    }
}

extension UserKey {
    /// The digest in 64 hexadecimal digits. A secret: it is equivalent to the passphrase.
    var hexDigest: String {
        secret.withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe Hex.encode($0) } }
    }
}
