// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto

/// The keys derived from a vault's master key, one per purpose.
package struct VaultKeys: Sendable {
    /// Authenticates the vault's file.
    package let file: HMACSHA256
    /// Seals the private keys of a software vault.
    let entries: Secret
    /// Seals the caller's bytes.
    package let blobs: Secret

    /// - Parameter master: 32 random bytes.
    package init(master: Secret) {
        func key(_ purpose: String) -> Secret {
            HKDF.sha256(secret: master, salt: [], info: "carrel vault 1 \(purpose)", count: 32)
        }
        file = HMACSHA256(key: key("file"))
        entries = key("entries")
        blobs = key("blobs")
    }
}
