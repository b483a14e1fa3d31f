// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
public import CarrelVault
import Glibc

/// Keeps a subscription in a file that only its owner can read; with a vault, encrypted under a key that the vault seals.
public struct FileSubscriptionStore: SubscriptionStore {
    private let file: PrivateFile
    /// The content's key; nil for a file in the clear.
    private let key: Secret?

    private static let mark = Array("carrel sealed file 1\n".utf8)
    private static let keyContext = Array("carrel subscription key 1".utf8)
    private static let contentContext = VaultBlob.context("carrel subscription 1")

    /// Creates a store in an unencrypted file. A process that can read the file has the subscription's token.
    ///
    /// - Parameter path: the path of the file; its folder exists.
    public init(path: String) {
        file = Self.file(path)
        key = nil
    }

    private static func file(_ path: String) -> PrivateFile {
        // a response with 50,000 issues has about three megabytes
        PrivateFile(path: path, limit: 16 << 20, name: "file with the subscription")
    }

    /// The file with the sealed key.
    private static func keyFile(_ path: String) -> PrivateFile {
        PrivateFile(path: "\(path).key", limit: 1 << 16, name: "key of the file with the subscription")
    }

    /// Creates a store in a file that the vault seals, with its sealed key in `PATH.key`. An unencrypted file is replaced by a
    /// sealed one.
    ///
    /// - Parameters:
    ///   - path: the path of the file; its folder exists.
    ///   - vault: the vault of this device.
    /// - Throws: `reader.store` if a file cannot be read or written, or the vault does not open the key.
    public init(path: String, sealedBy vault: Vault) async throws(ReaderError) {
        let file = Self.file(path)
        let key: Secret
        do {
            key = try await Self.key(Self.keyFile(path), vault)
            try file.locked {
                guard let clear = try file.load(), !clear.starts(with: Self.mark) else { return }
                try file.save(Self.seal(clear, key))
            }
        } catch let error as VaultError {
            throw ReaderError(.store, "the vault does not open the file with the subscription: \(error.message)")
        } catch {
            throw error as? ReaderError ?? ReaderError(.store, "the file with the subscription cannot be sealed")
        }
        (self.file, self.key) = (file, key)
    }

    /// The key of a file, or the key that another process has created.
    private static func key(_ file: PrivateFile, _ vault: Vault) async throws -> Secret {
        if let sealed = try file.load() { return try await vault.open(sealed, associated: keyContext) }
        let fresh = try await vault.seal(.random(count: AESGCM.keyByteCount), associated: keyContext)
        let sealed = try file.locked {
            if let known = try file.load() { return known }
            try file.save(fresh)
            return fresh
        }
        return try await vault.open(sealed, associated: keyContext)
    }

    public func load() throws -> [UInt8]? {
        guard let bytes = try file.load() else { return nil }
        let isSealed = bytes.starts(with: Self.mark)
        guard let key else {
            if isSealed { throw Self.sealed }
            return bytes
        }
        guard isSealed,
            let opened = try? VaultBlob.open(Array(bytes.dropFirst(Self.mark.count)), key: key, context: Self.contentContext)
        else { throw ReaderError(.store, "the file with the subscription was altered") }
        return opened.withBytes { [UInt8](copying: $0) }
    }

    /// Writes and syncs a temporary file, then renames it over the old one.
    ///
    /// - Parameter bytes: the bytes to store; nil removes the file.
    /// - Throws: `reader.store` if the file cannot be written, or if it is sealed and this store has no vault.
    public func save(_ bytes: [UInt8]?) throws(ReaderError) {
        // unencrypted data never replace data that a vault sealed
        if key == nil, unsafe access("\(file.path).key", F_OK) == 0 { throw Self.sealed }
        guard let bytes else { return try file.remove() }
        try file.save(key.map { Self.seal(bytes, $0) } ?? bytes)
    }

    private static func seal(_ bytes: [UInt8], _ key: Secret) -> [UInt8] {
        mark + VaultBlob.seal(Secret(bytes), key: key, context: contentContext)
    }

    private static var sealed: ReaderError {
        ReaderError(.store, "the file with the subscription is sealed: it needs the vault that sealed it")
    }
}
