// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelStore

extension MasterKeyring {
    /// Checks the keyring against a database, and lets it wrap under the version in use.
    ///
    /// A database without keys takes the keys of the keyring, if they unwrap its secrets. Later versions that the database
    /// does not know are kept for the next rotation.
    ///
    /// - Parameters:
    ///   - database: the database that the keys are for.
    ///   - now: the time.
    /// - Returns: the keyring, which wraps under the version in use.
    /// - Throws: ``ServerError`` `masterKey` when a key differs or is missing.
    func settled(in database: any Database, at now: Instant) async throws -> MasterKeyring {
        var keys = try await database.read { try MasterKeyStore.known(in: $0) }
        try keys.require(self)
        let isFirst = keys.known.isEmpty
        if isFirst {
            for (_, secret) in try await database.read({ try SecretStore.secrets(in: $0) }) { _ = try unwrap(secret) }
        }
        let newest = keys.known.last?.version ?? 0
        let fresh = versions.filter { $0 > newest }.compactMap { version in
            fingerprint(of: version).map { MasterKeys.Known(version: version, fingerprint: $0, isActive: isFirst) }
        }
        if !fresh.isEmpty {
            keys = try await database.write { transaction in
                for key in fresh { try MasterKeyStore.insert(key, at: now, in: transaction) }
                // Another node may have been first: what is in the database counts.
                return try MasterKeyStore.known(in: transaction)
            }
            try keys.require(self)
        }
        return wrapping(under: keys.current)
    }
}
