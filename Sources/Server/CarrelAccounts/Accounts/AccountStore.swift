// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelHome
import CarrelJSON
package import CarrelStore

/// The SQL of accounts, sessions and back-office keys.
package enum AccountStore {
    static let insertAccount = SQL(
        "INSERT INTO accounts (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING"
    )
    static let accountByName = SQL("SELECT id, name, suspended_at FROM accounts WHERE name = $1 AND erased_at IS NULL")
    static let accountByID = SQL("SELECT id, name, suspended_at FROM accounts WHERE id = $1 AND erased_at IS NULL")
    static let namesByID = SQL(
        sqlite: "SELECT id, name FROM accounts WHERE id IN (SELECT value FROM json_each($1))",
        postgresql: "SELECT id, name FROM accounts WHERE id IN (SELECT json_array_elements_text(CAST(CAST($1 AS TEXT) AS JSON)))"
    )
    static let nameByID = SQL("SELECT name FROM accounts WHERE id = $1")
    static let details = SQL(
        """
        SELECT id, name, suspended_at, created_at, device_limit, password IS NOT NULL FROM accounts
        WHERE id = $1 AND erased_at IS NULL
        """
    )
    static let listAccounts = SQL(
        """
        SELECT id, name, suspended_at, created_at FROM accounts
        WHERE (created_at, id) > ($1, $2) AND erased_at IS NULL AND ($4 = '' OR lower(name) LIKE lower($4) ESCAPE '!')
        ORDER BY created_at, id LIMIT $3
        """
    )
    static let secretsByName = SQL("SELECT id, name, suspended_at, password, device_limit FROM accounts WHERE name = $1")
    static let updatePassword = SQL("UPDATE accounts SET password = $2 WHERE id = $1")
    static let updateSuspension = SQL("UPDATE accounts SET suspended_at = $2 WHERE id = $1")
    static let deviceLimit = SQL("SELECT device_limit FROM accounts WHERE id = $1")
    static let updateDeviceLimit = SQL("UPDATE accounts SET device_limit = $2 WHERE id = $1")
    static let insertLink = SQL(
        """
        INSERT INTO sessions (token_hash, account_id, purpose, created_at, expires_at, seen_at)
        VALUES ($1, $2, $3, $4, $5, $4)
        """
    )
    static let accountOfLink = SQL(
        """
        SELECT accounts.id, accounts.name, accounts.suspended_at FROM sessions
            JOIN accounts ON accounts.id = sessions.account_id
        WHERE sessions.token_hash = $1 AND sessions.purpose = $2 AND sessions.expires_at > $3
        """
    )
    static let deleteSession = SQL("DELETE FROM sessions WHERE token_hash = $1")
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
    static let validServiceKey = SQL("SELECT 1 FROM service_keys WHERE id = $1 AND revoked_at IS NULL")

    package static let statements =
        [
            insertAccount, accountByName, accountByID, nameByID, namesByID, details, listAccounts, secretsByName, updatePassword,
            updateSuspension,
            updateDeviceLimit, deviceLimit, insertLink, accountOfLink, deleteSession,
            insertServiceKey, serviceKeyByHash, allServiceKeys, revokeServiceKey, serviceKeyByID, validServiceKey,
        ] + statementsOfPersonalData

    package static func findOrInsert(_ account: Account, at now: Instant, in transaction: any Transaction) throws -> Account {
        _ = try transaction.run(insertAccount, [.text(account.id), .text(account.name), .integer(now.milliseconds)])
        guard let found = try self.account(named: account.name, in: transaction) else {
            throw ServerError(.conflict, "the account was removed while it was being created: try again")
        }
        return found
    }

    package static func account(named name: String, in transaction: any Transaction) throws -> Account? {
        try transaction.row(accountByName, [.text(name)]).map(account)
    }

    /// The account with this id; nil if unknown or erased.
    package static func account(id: String, in transaction: any Transaction) throws -> Account? {
        try transaction.row(accountByID, [.text(id)]).map(account)
    }

    /// The name of an account, or the random name it got when it was erased.
    package static func name(ofID id: String, in transaction: any Transaction) throws -> String? {
        try transaction.row(nameByID, [.text(id)])?.text(0)
    }

    /// The names of those ids that are accounts, or were.
    package static func names(ofIDs ids: Set<String>, in transaction: any Transaction) throws -> [String: String] {
        let list = JSON.array(ids.map { .string($0) }).write()
        return try transaction.rows(namesByID, [.text(String(decoding: list, as: UTF8.self))]).reduce(into: [:]) {
            $0[try $1.text(0)] = try $1.text(1)
        }
    }

    /// Details of an account for staff; nil if unknown or erased.
    package static func details(id: String, in transaction: any Transaction) throws -> AccountDetails? {
        try transaction.row(details, [.text(id)]).map { row in
            AccountDetails(
                account: try account(row),
                createdAt: try row.instant(3),
                deviceLimit: try row.integerIfPresent(4).map { Int($0) },
                hasPassword: try row.integer(5) != 0
            )
        }
    }

    private static func account(_ row: Row) throws -> Account {
        Account(id: try row.text(0), name: try row.text(1), isSuspended: try row.integerIfPresent(2) != nil)
    }

    /// The accounts whose names contain the text, in any case; all for the empty text.
    static func list(
        matching text: String,
        after: (Instant, String)?,
        limit: Int,
        in transaction: any Transaction
    ) throws -> [(account: Account, createdAt: Instant)] {
        var pattern = ""
        for character in text {
            if "!%_".contains(character) { pattern += "!" }
            pattern.append(character)
        }
        let values: [SQLValue] = [
            .integer(after?.0.milliseconds ?? Int64.min), .text(after?.1 ?? ""), .integer(Int64(limit)),
            .text(text.isEmpty ? "" : "%\(pattern)%"),
        ]
        return try transaction.rows(listAccounts, values).map { (try account($0), try $0.instant(3)) }
    }

    package static func signInRecord(named name: String, in transaction: any Transaction) throws -> SignInRecord? {
        try transaction.row(secretsByName, [.text(name)]).map {
            SignInRecord(
                account: try account($0),
                password: try $0.textIfPresent(3),
                deviceLimit: try $0.integerIfPresent(4).map(Int.init)
            )
        }
    }

    package static func setPassword(_ hash: String?, of account: String, in transaction: any Transaction) throws {
        _ = try transaction.run(updatePassword, [.text(account), SQLValue(hash)])
    }

    static func setSuspended(at instant: Instant?, _ account: String, in transaction: any Transaction) throws {
        _ = try transaction.run(updateSuspension, [.text(account), .instant(instant)])
    }

    /// The limit that staff set for an account; nil if its plans decide.
    package static func deviceLimit(of account: String, in transaction: any Transaction) throws -> Int? {
        try transaction.row(deviceLimit, [.text(account)])?.integerIfPresent(0).map { Int($0) }
    }

    static func setDeviceLimit(_ limit: Int?, of account: String, in transaction: any Transaction) throws {
        _ = try transaction.run(updateDeviceLimit, [.text(account), SQLValue(limit)])
    }

    static func insertLink(
        _ hash: [UInt8],
        account: String,
        purpose: String,
        created: Instant,
        expires: Instant,
        in transaction: any Transaction
    ) throws {
        let values: [SQLValue] = [
            .blob(hash), .text(account), .text(purpose), .instant(created), .instant(expires),
        ]
        _ = try transaction.run(insertLink, values)
    }

    static func account(
        ofLink hash: [UInt8],
        purpose: String,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> Account? {
        try transaction.row(accountOfLink, [.blob(hash), .text(purpose), .instant(now)]).map(account)
    }

    static func deleteSession(_ hash: [UInt8], in transaction: any Transaction) throws {
        _ = try transaction.run(deleteSession, [.blob(hash)])
    }

    static func insertServiceKey(_ key: ServiceKey, hash: [UInt8], in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .text(key.id), .text(key.name), .text(key.role.rawValue), .blob(hash), .integer(key.createdAt.milliseconds),
        ]
        _ = try transaction.run(insertServiceKey, values)
    }

    static func serviceKey(hash: [UInt8], in transaction: any Transaction) throws -> ServiceKey? {
        try transaction.row(serviceKeyByHash, [.blob(hash)]).map(serviceKey)
    }

    package static func serviceKeys(in transaction: any Transaction) throws -> [ServiceKey] {
        try transaction.rows(allServiceKeys, []).map(serviceKey)
    }

    /// Whether there is such a key.
    package static func revokeServiceKey(_ id: String, at now: Instant, in transaction: any Transaction) throws -> Bool {
        if try transaction.run(revokeServiceKey, [.text(id), .integer(now.milliseconds)]) > 0 { return true }
        return try transaction.row(serviceKeyByID, [.text(id)]) != nil
    }

    private static func serviceKey(_ row: Row) throws -> ServiceKey {
        guard let role = Role(rawValue: try row.text(2)) else {
            throw ServerError(.home, "a back-office key has a role that this version does not know")
        }
        return ServiceKey(
            id: try row.text(0),
            name: try row.text(1),
            role: role,
            createdAt: Instant(milliseconds: try row.integer(3)),
            revokedAt: try row.integerIfPresent(4).map { Instant(milliseconds: $0) }
        )
    }
}
