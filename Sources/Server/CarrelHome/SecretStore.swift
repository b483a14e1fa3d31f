// SPDX-License-Identifier: Apache-2.0

import CarrelCrypto
package import CarrelStore

/// The SQL of the server's own secrets, which are kept wrapped under the master key.
package enum SecretStore {
    static let insert = SQL(
        "INSERT INTO secrets (name, master_version, wrapped) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING"
    )
    static let all = SQL("SELECT name, master_version, wrapped FROM secrets ORDER BY name")
    static let rewrap = SQL("UPDATE secrets SET master_version = $2, wrapped = $3 WHERE name = $1")

    static let delete = SQL("DELETE FROM secrets WHERE name = $1")

    package static let statements = [insert, all, rewrap, delete]

    /// Purposes of rotated signing secrets; several of a kind are kept at the same time.
    package enum Signing: String, CaseIterable {
        case ticket
        /// Editions' credentials.
        case credential
        /// Business tokens.
        case token
        /// License messages.
        case message
    }

    /// Purposes of secrets that never change.
    package enum Purpose: String, CaseIterable {
        /// Passwords for feeds.
        case feed
        /// Successors of session tokens.
        case renewal
        /// The chain of the audit log.
        case audit
        /// Key of the hashes of sign-in attempts.
        case throttle
        /// Key of the hashes of upstream tokens.
        case upstream
        /// Key of the cookies of a running single sign-on.
        case signOn = "sign-on"
        /// Challenges to players that want a certificate.
        case challenge
    }

    /// The secret of every purpose; those that are missing are made.
    static func ownSecrets(_ master: MasterKeyring.Shared, in database: any Database) async throws -> [Purpose: Secret] {
        var known = try await database.read { try secrets(in: $0) }
        let missing = Purpose.allCases.filter { purpose in !known.contains { $0.name == purpose.rawValue } }
        if !missing.isEmpty {
            let fresh = try missing.map { ($0.rawValue, try master.current.wrap(Secret.random(count: 32))) }
            known = try await database.write { transaction in
                for (name, secret) in fresh { try insert(name, secret, in: transaction) }
                // Another process may have made them first: the database decides.
                return try secrets(in: transaction)
            }
        }
        var found: [Purpose: Secret] = [:]
        for (name, wrapped) in known {
            if let purpose = Purpose(rawValue: name) { found[purpose] = try master.unwrap(wrapped) }
        }
        return found
    }

    /// The name of the signing secret with this id.
    package static func name(_ signing: Signing, _ id: UInt8) -> String { "\(signing.rawValue)/\(id)" }

    /// The signing secrets of one purpose, by key id.
    package static func signing(
        _ signing: Signing,
        in transaction: any Transaction
    ) throws -> [(id: UInt8, wrapped: MasterKeyring.Wrapped)] {
        let prefix = "\(signing.rawValue)/"
        return try secrets(in: transaction).compactMap { name, secret in
            guard name.hasPrefix(prefix), let id = UInt8(name.dropFirst(prefix.count)) else { return nil }
            return (id, secret)
        }
    }

    package static func insert(_ name: String, _ secret: MasterKeyring.Wrapped, in transaction: any Transaction) throws {
        _ = try transaction.run(insert, [.text(name), .integer(secret.masterVersion), .blob(secret.bytes)])
    }

    package static func secrets(in transaction: any Transaction) throws -> [(name: String, secret: MasterKeyring.Wrapped)] {
        try transaction.rows(all, []).map {
            (try $0.text(0), MasterKeyring.Wrapped(masterVersion: try $0.integer(1), bytes: try $0.blob(2)))
        }
    }

    package static func rewrap(_ name: String, _ secret: MasterKeyring.Wrapped, in transaction: any Transaction) throws {
        _ = try transaction.run(rewrap, [.text(name), .integer(secret.masterVersion), .blob(secret.bytes)])
    }

    package static func delete(_ name: String, in transaction: any Transaction) throws {
        _ = try transaction.run(delete, [.text(name)])
    }
}
