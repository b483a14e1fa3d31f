// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelStore
package import CarrelVault

extension LCPStore {
    /// Opens the vault of a store; returns nil if there is none. The argument tells whether the store is sealed.
    package typealias VaultOpening = @Sendable (_ isSealed: Bool) async throws -> Vault?

    private static let keyContext = Array("carrel lcp store 1".utf8)

    /// The seal of a store's digests: none for an unencrypted store.
    ///
    /// If there is a vault, an unencrypted store is sealed, including its digests. A sealed store requires its vault.
    static func digestSeal(_ database: any Database, _ vault: VaultOpening) async throws -> DigestSeal? {
        let storeKey = try await database.read { try $0.row(Statement.storeKey)?.blob(0) }
        guard let vault = try await vault(storeKey != nil) else {
            guard storeKey == nil else {
                throw LCPError(.store, "it is sealed, and needs the vault that sealed it")
            }
            return nil
        }
        do {
            if let storeKey {
                let seal = DigestSeal(key: try await vault.open(storeKey, associated: keyContext))
                try await sealClear(database, seal)
                return seal
            }
            let key = Secret.random(count: AESGCM.keyByteCount)
            return try await seal(database, key, sealed: try await vault.seal(key, associated: keyContext), vault)
        } catch let error as VaultError {
            throw LCPError(.store, "the vault does not open it: \(error.message)")
        }
    }

    /// Seals digests that an older version left in the clear.
    private static func sealClear(_ database: any Database, _ digests: DigestSeal) async throws {
        let count: [SQLValue] = [.integer(Int64(DigestSeal.digestByteCount))]
        guard try await database.read({ try $0.row(Statement.clearDigests, count) }) != nil else { return }
        try await database.write { try seal(clearIn: $0, digests) }
        _ = try await database.expunge()
    }

    private static func seal(clearIn transaction: any Transaction, _ digests: DigestSeal) throws {
        for row in try transaction.rows(Statement.clearDigests, [.integer(Int64(DigestSeal.digestByteCount))]) {
            let digest = try row.blob(0)
            try transaction.run(Statement.sealDigest, [.blob(digest), .blob(digests.seal(Secret(digest)))])
        }
    }

    /// Stores a new key and seals unencrypted digests in one transaction. Another process may have done so meanwhile.
    private static func seal(
        _ database: any Database,
        _ key: Secret,
        sealed: [UInt8],
        _ vault: Vault
    ) async throws -> DigestSeal {
        let fresh = DigestSeal(key: key)
        let storeKey = try await database.write { transaction -> [UInt8]? in
            if let storeKey = try transaction.row(Statement.storeKey)?.blob(0) { return storeKey }
            try transaction.run(Statement.addStoreKey, [.blob(sealed)])
            try seal(clearIn: transaction, fresh)
            return nil
        }
        guard let storeKey else {
            // the clear digests are in free pages and in the log still
            _ = try await database.expunge()
            return fresh
        }
        return DigestSeal(key: try await vault.open(storeKey, associated: keyContext))
    }
}
