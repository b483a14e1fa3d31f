// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto

/// The key under which the resources of a publication are encrypted (AES-256). It never prints.
public final class ContentKey: Sendable {
    let cipher: AESCBCBlocks

    /// A key of a protection of your own.
    ///
    /// - Parameter bytes: 32 of them; they are copied to memory that is wiped when the key is released.
    /// - Throws: `resource.decryption` for any other number.
    public convenience init(_ bytes: [UInt8]) throws(ResourceError) {
        do throws(CryptoError) { try self.init(Secret(bytes)) } catch {
            throw ResourceError(.decryption, "a content key has 32 bytes")
        }
    }

    /// - Parameter bytes: 32 of them.
    /// - Throws: `crypto.key-length`.
    package init(_ bytes: Secret) throws(CryptoError) {
        cipher = try AESCBCBlocks(key: bytes)
    }
}
