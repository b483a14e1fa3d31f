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

    private static let ticketPrefix = "ticket/"

    /// The secrets that sign tickets, by key id; the first is made at first use.
    static func ticketSecrets(_ keyring: MasterKeyring, in database: any Database) async throws -> [UInt8: Secret] {
        let first = try keyring.wrap(Secret.random(count: 32))
        let wrapped = try await database.write { transaction in
            try insert("\(ticketPrefix)1", first, in: transaction)
            return try secrets(in: transaction)
        }
        var signers: [UInt8: Secret] = [:]
        for (name, secret) in wrapped where name.hasPrefix(ticketPrefix) {
            guard let id = UInt8(name.dropFirst(ticketPrefix.count)) else { continue }
            signers[id] = try keyring.unwrap(secret)
        }
        return signers
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
