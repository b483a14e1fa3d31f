import CarrelCrypto
package import CarrelStore

/// The SQL of the server's own secrets, which are kept wrapped under the master key.
package enum SecretStore {
    static let insert = SQL(
        "INSERT INTO secrets (name, master_version, wrapped) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING"
    )
    static let all = SQL("SELECT name, master_version, wrapped FROM secrets ORDER BY name")
    static let rewrap = SQL("UPDATE secrets SET master_version = $2, wrapped = $3 WHERE name = $1")

    package static let statements = [insert, all, rewrap]

    /// What the server signs or derives with a secret of its own.
    enum Purpose: String {
        case ticket
        case credential
        case renewal
        case audit
        case throttle
    }

    /// The secrets of a purpose, by key id; the first is made at first use.
    static func secrets(
        for purpose: Purpose,
        _ keyring: MasterKeyring,
        in database: any Database
    ) async throws -> [UInt8: Secret] {
        let prefix = purpose.rawValue + "/"
        let first = try keyring.wrap(Secret.random(count: 32))
        let wrapped = try await database.write { transaction in
            try insert("\(prefix)1", first, in: transaction)
            return try secrets(in: transaction)
        }
        var found: [UInt8: Secret] = [:]
        for (name, secret) in wrapped where name.hasPrefix(prefix) {
            guard let id = UInt8(name.dropFirst(prefix.count)) else { continue }
            found[id] = try keyring.unwrap(secret)
        }
        return found
    }

    /// The one secret of a purpose that is never rotated.
    static func secret(for purpose: Purpose, _ keyring: MasterKeyring, in database: any Database) async throws -> Secret {
        guard let secret = try await secrets(for: purpose, keyring, in: database)[1] else {
            throw ServerError(.masterKey, "the secret \(purpose.rawValue) is missing from the database")
        }
        return secret
    }

    static func insert(_ name: String, _ secret: MasterKeyring.Wrapped, in transaction: any Transaction) throws {
        _ = try transaction.run(insert, [.text(name), .integer(secret.masterVersion), .blob(secret.bytes)])
    }

    static func secrets(in transaction: any Transaction) throws -> [(name: String, secret: MasterKeyring.Wrapped)] {
        try transaction.rows(all, []).map {
            (try $0.text(0), MasterKeyring.Wrapped(masterVersion: try $0.integer(1), bytes: try $0.blob(2)))
        }
    }

    static func rewrap(_ name: String, _ secret: MasterKeyring.Wrapped, in transaction: any Transaction) throws {
        _ = try transaction.run(rewrap, [.text(name), .integer(secret.masterVersion), .blob(secret.bytes)])
    }
}
