import CarrelBytes
package import CarrelStore

/// The SQL of accounts, sessions and back-office keys.
package enum AccountStore {
    static let insertAccount = SQL(
        "INSERT INTO accounts (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING"
    )
    static let accountByName = SQL("SELECT id, name FROM accounts WHERE name = $1")
    static let accountByID = SQL("SELECT id, name FROM accounts WHERE id = $1")
    static let insertSession = SQL(
        "INSERT INTO sessions (token_hash, account_id, purpose, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)"
    )
    static let accountOfSession = SQL(
        """
        SELECT accounts.id, accounts.name FROM sessions JOIN accounts ON accounts.id = sessions.account_id
        WHERE sessions.token_hash = $1 AND sessions.purpose = $2 AND sessions.expires_at > $3
        """
    )
    static let deleteSession = SQL("DELETE FROM sessions WHERE token_hash = $1")
    static let deleteExpiredSessions = SQL("DELETE FROM sessions WHERE expires_at <= $1")
    static let insertServiceKey = SQL(
        "INSERT INTO service_keys (id, name, role, token_hash, created_at) VALUES ($1, $2, $3, $4, $5)"
    )
    static let serviceKeyByHash = SQL(
        """
        SELECT id, name, role, created_at, revoked_at FROM service_keys WHERE token_hash = $1 AND revoked_at IS NULL
        """
    )
    static let allServiceKeys = SQL("SELECT id, name, role, created_at, revoked_at FROM service_keys ORDER BY created_at, id")
    static let revokeServiceKey = SQL("UPDATE service_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL")
    static let serviceKeyByID = SQL("SELECT 1 FROM service_keys WHERE id = $1")

    package static let statements = [
        insertAccount, accountByName, accountByID, insertSession, accountOfSession, deleteSession, deleteExpiredSessions,
        insertServiceKey, serviceKeyByHash, allServiceKeys, revokeServiceKey, serviceKeyByID,
    ]

    static func findOrInsert(_ account: Account, at now: Instant, in transaction: any Transaction) throws -> Account {
        _ = try transaction.run(insertAccount, [.text(account.id), .text(account.name), .integer(now.milliseconds)])
        guard let found = try self.account(named: account.name, in: transaction) else {
            throw ServerError(.conflict, "the account was removed while it was being created")
        }
        return found
    }

    static func account(named name: String, in transaction: any Transaction) throws -> Account? {
        try transaction.row(accountByName, [.text(name)]).map(account)
    }

    static func account(id: String, in transaction: any Transaction) throws -> Account? {
        try transaction.row(accountByID, [.text(id)]).map(account)
    }

    private static func account(_ row: Row) throws -> Account {
        Account(id: try row.text(0), name: try row.text(1))
    }

    static func insertSession(
        _ hash: [UInt8],
        account: String,
        purpose: String,
        created: Instant,
        expires: Instant,
        in transaction: any Transaction
    ) throws {
        let values: [SQLValue] = [
            .blob(hash), .text(account), .text(purpose), .integer(created.milliseconds), .integer(expires.milliseconds),
        ]
        _ = try transaction.run(insertSession, values)
    }

    static func account(
        ofSession hash: [UInt8],
        purpose: String,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> Account? {
        try transaction.row(accountOfSession, [.blob(hash), .text(purpose), .integer(now.milliseconds)]).map(account)
    }

    static func deleteSession(_ hash: [UInt8], in transaction: any Transaction) throws {
        _ = try transaction.run(deleteSession, [.blob(hash)])
    }

    static func deleteExpiredSessions(before now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(deleteExpiredSessions, [.integer(now.milliseconds)])
    }

    static func insertServiceKey(_ key: Accounts.ServiceKey, hash: [UInt8], in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .text(key.id), .text(key.name), .text(key.role.rawValue), .blob(hash), .integer(key.createdAt.milliseconds),
        ]
        _ = try transaction.run(insertServiceKey, values)
    }

    static func serviceKey(hash: [UInt8], in transaction: any Transaction) throws -> Accounts.ServiceKey? {
        try transaction.row(serviceKeyByHash, [.blob(hash)]).map(serviceKey)
    }

    static func serviceKeys(in transaction: any Transaction) throws -> [Accounts.ServiceKey] {
        try transaction.rows(allServiceKeys, []).map(serviceKey)
    }

    /// Whether there is such a key.
    static func revokeServiceKey(_ id: String, at now: Instant, in transaction: any Transaction) throws -> Bool {
        if try transaction.run(revokeServiceKey, [.text(id), .integer(now.milliseconds)]) > 0 { return true }
        return try transaction.row(serviceKeyByID, [.text(id)]) != nil
    }

    private static func serviceKey(_ row: Row) throws -> Accounts.ServiceKey {
        guard let role = Role(rawValue: try row.text(2)) else {
            throw ServerError(.home, "a back-office key has a role that this version does not know")
        }
        return Accounts.ServiceKey(
            id: try row.text(0),
            name: try row.text(1),
            role: role,
            createdAt: Instant(milliseconds: try row.integer(3)),
            revokedAt: try row.integerIfPresent(4).map { Instant(milliseconds: $0) }
        )
    }
}
