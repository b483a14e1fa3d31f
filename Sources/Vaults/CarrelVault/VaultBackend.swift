// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto

/// Something that keeps P-256 keys and seals bytes. Names of keys have 1 to 64 characters of a–z, 0–9, `-`, `.` and `_`.
package protocol VaultBackend: Sendable {
    var kind: VaultKind { get }
    var level: VaultLevel { get }
    var promises: VaultPromises { get }

    /// Creates a key, non-exportable if the vault supports it, or keeps an existing key of that name.
    ///
    /// - Parameters:
    ///   - name: the key's name.
    ///   - uses: its purposes, which never change.
    /// - Returns: the public key of the key with that name.
    /// - Throws: `vault.use` if the existing key has other purposes.
    func makeKey(named name: String, for uses: VaultKeyUses) async throws(VaultError) -> P256.PublicKey
    /// The public key of a name; nil if there is no such key.
    func publicKey(named name: String) async throws(VaultError) -> P256.PublicKey?
    /// Signs with ECDSA and SHA-256.
    ///
    /// - Returns: R and S, 64 bytes (RFC 7518 §3.4).
    /// - Throws: `vault.absent` for an unknown key.
    func sign(_ message: [UInt8], withKey name: String) async throws(VaultError) -> [UInt8]
    /// The X coordinate of the product of a key and a point (SEC 1 §3.3.1), 32 bytes. It is not yet a key; a key is derived from
    /// it.
    ///
    /// - Throws: `vault.absent` for an unknown key.
    func agree(withKey name: String, other: P256.PublicKey) async throws(VaultError) -> Secret
    /// Removes a key, if there is one of that name.
    func removeKey(named name: String) async throws(VaultError)
    /// Encrypts and authenticates bytes so that only this vault opens them.
    ///
    /// - Parameters:
    ///   - plaintext: up to ``VaultBlob/byteLimit`` bytes.
    ///   - associated: also authenticated, but not part of the result: it identifies the bytes, so that they cannot be swapped.
    /// - Returns: the sealed bytes.
    /// - Throws: `vault.absent` if the vault was deleted.
    func seal(_ plaintext: Secret, associated: [UInt8]) async throws(VaultError) -> [UInt8]
    /// Decrypts the output of `seal`.
    ///
    /// - Throws: `vault.damaged` for altered bytes, other associated bytes and another vault's.
    func open(_ sealed: [UInt8], associated: [UInt8]) async throws(VaultError) -> Secret
    /// Ends the use of the vault. Every later call throws `vault.unavailable`.
    func close() async
}
