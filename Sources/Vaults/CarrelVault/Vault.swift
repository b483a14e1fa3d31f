// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto

/// A store for a device's keys: a security chip, a token, the desktop's keyring or a sealed file.
///
/// Keys are on the curve P-256, for signatures and key agreement. A vault reports its strength (``level``) and its guarantees
/// (``promises``), and never falls back to a weaker one by itself.
public final class Vault: Sendable, CustomStringConvertible {
    private let backend: any VaultBackend

    package init(_ backend: any VaultBackend) {
        self.backend = backend
    }

    /// The kind of vault.
    public var kind: VaultKind { backend.kind }
    /// The strength of the vault.
    public var level: VaultLevel { backend.level }
    /// The properties of its keys.
    public var promises: VaultPromises { backend.promises }
    /// The kind, the level and the promises in words.
    public var description: String { "\(kind.rawValue) vault, level \(level.rawValue): \(promises.sentence)" }

    /// Ends the use of the vault: its thread ends, and a token or chip is released. Every later call throws `vault.unavailable`.
    public func close() async {
        await backend.close()
    }

    /// Creates a key, or keeps an existing key of that name, so that a repeated call is harmless.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 characters of a–z, 0–9, `-`, `.` and `_`.
    ///   - uses: its purposes, which never change; both by default.
    /// - Returns: the public key.
    /// - Throws: ``VaultError``: `vault.use` if the existing key has other purposes; `vault.full`; and the errors of every call:
    ///   `vault.locked`, `vault.absent`, `vault.damaged`, `vault.unavailable`.
    package func makeKey(
        named name: String,
        for uses: VaultKeyUses = [.sign, .agree]
    ) async throws(VaultError) -> P256.PublicKey {
        precondition(!uses.isEmpty, "a key has a purpose")
        return try await backend.makeKey(named: checked(name), for: uses)
    }

    /// The public key of a name; nil if there is no such key.
    package func publicKey(named name: String) async throws(VaultError) -> P256.PublicKey? {
        try await backend.publicKey(named: checked(name))
    }

    /// Signs with ECDSA and SHA-256.
    ///
    /// - Parameters:
    ///   - message: whole; it is hashed here.
    ///   - name: the name of the key.
    /// - Returns: R and S, 64 bytes (RFC 7518 §3.4).
    /// - Throws: ``VaultError``: `vault.absent` for an unknown key, `vault.use`.
    package func sign(_ message: [UInt8], withKey name: String) async throws(VaultError) -> [UInt8] {
        try await backend.sign(message, withKey: checked(name))
    }

    /// The secret that a key shares with another: the X coordinate of the product (SEC 1 §3.3.1).
    ///
    /// - Parameters:
    ///   - name: the name of the key.
    ///   - other: the public half of the other key.
    /// - Returns: 32 bytes. They are not yet a key; a key is derived from them.
    /// - Throws: ``VaultError``: `vault.absent` for an unknown key, `vault.use`.
    package func agree(withKey name: String, other: P256.PublicKey) async throws(VaultError) -> Secret {
        try await backend.agree(withKey: checked(name), other: other)
    }

    /// Removes a key, if there is one of that name.
    package func removeKey(named name: String) async throws(VaultError) {
        try await backend.removeKey(named: checked(name))
    }

    /// Encrypts and authenticates bytes so that only this vault opens them.
    ///
    /// - Parameters:
    ///   - plaintext: up to ``VaultBlob/byteLimit`` bytes.
    ///   - associated: identifies the bytes; it is authenticated, but not part of the result.
    /// - Returns: the sealed bytes, some 50 to 130 more than the plaintext; the caller stores them.
    /// - Throws: ``VaultError``.
    package func seal(_ plaintext: Secret, associated: [UInt8]) async throws(VaultError) -> [UInt8] {
        precondition(plaintext.count <= VaultBlob.byteLimit, "a vault seals \(VaultBlob.byteLimit) bytes at most")
        return try await backend.seal(plaintext, associated: associated)
    }

    /// Decrypts the output of `seal`.
    ///
    /// - Throws: ``VaultError``: `vault.damaged` if the bytes were altered, have other associated bytes or are another vault's;
    ///   `vault.absent` if the vault's key was deleted.
    package func open(_ sealed: [UInt8], associated: [UInt8]) async throws(VaultError) -> Secret {
        guard sealed.count <= VaultBlob.byteLimit + 1024 else { throw .sealedBytes }
        return try await backend.open(sealed, associated: associated)
    }

    private func checked(_ name: String) -> String {
        precondition(Self.isName(name), "a key's name has 1 to 64 characters of a–z, 0–9, '-', '.' and '_'")
        return name
    }

    static func isName(_ name: String) -> Bool {
        1...64 ~= name.utf8.count
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
                default: false
                }
            }
    }
}
