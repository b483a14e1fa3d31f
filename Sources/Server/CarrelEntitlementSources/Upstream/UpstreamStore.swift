// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHome
import CarrelJSON
package import CarrelStore
import CarrelSubscription
import CarrelWebAPI

/// SQL of the cached responses of upstream systems, for use while they are unreachable. Tokens are stored only as keyed hashes.
package enum UpstreamStore {
    static let token = SQL("SELECT subject, state, confirmed_at FROM upstream_tokens WHERE token_hash = $1")
    static let newestToken = SQL(
        "SELECT state, confirmed_at FROM upstream_tokens WHERE subject = $1 ORDER BY confirmed_at DESC LIMIT 1"
    )
    static let setToken = SQL(
        """
        INSERT INTO upstream_tokens (token_hash, source, subject, state, confirmed_at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (token_hash) DO UPDATE SET state = excluded.state, confirmed_at = excluded.confirmed_at
        """
    )
    static let setTokenState = SQL("UPDATE upstream_tokens SET state = $2 WHERE token_hash = $1")
    static let account = SQL("SELECT is_suspended, answer, answered_at FROM upstream_accounts WHERE subject = $1")
    static let setAccount = SQL(
        """
        INSERT INTO upstream_accounts (subject, is_suspended, answer, answered_at, updated_at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (subject) DO UPDATE SET is_suspended = excluded.is_suspended, answer = excluded.answer,
            answered_at = excluded.answered_at, updated_at = excluded.updated_at
        """
    )
    static let grant = SQL("SELECT granted_at FROM upstream_grants WHERE subject = $1 AND product_id = $2")
    static let grants = SQL("SELECT product_id FROM upstream_grants WHERE subject = $1")
    static let setGrant = SQL(
        """
        INSERT INTO upstream_grants (subject, product_id, granted_at) VALUES ($1, $2, $3)
        ON CONFLICT (subject, product_id) DO UPDATE SET granted_at = excluded.granted_at
        """
    )
    static let deleteGrant = SQL("DELETE FROM upstream_grants WHERE subject = $1 AND product_id = $2")
    static let removeOldTokens = SQL(
        """
        DELETE FROM upstream_tokens
        WHERE token_hash IN (SELECT token_hash FROM upstream_tokens WHERE confirmed_at < $1 ORDER BY confirmed_at LIMIT $2)
        """
    )
    static let removeOldAccounts = SQL(
        """
        DELETE FROM upstream_accounts
        WHERE subject IN (SELECT subject FROM upstream_accounts WHERE updated_at < $1 ORDER BY updated_at LIMIT $2)
        """
    )
    static let removeOldGrants = SQL(
        """
        DELETE FROM upstream_grants
        WHERE (subject, product_id) IN
            (SELECT subject, product_id FROM upstream_grants WHERE granted_at < $1 ORDER BY granted_at LIMIT $2)
        """
    )

    static let sources = SQL("SELECT DISTINCT source FROM upstream_tokens ORDER BY source")
    static let tokensOfSubject = SQL(
        "SELECT source, state, confirmed_at FROM upstream_tokens WHERE subject = $1 ORDER BY confirmed_at, token_hash"
    )
    static let grantsOfSubject = SQL(
        "SELECT product_id, granted_at FROM upstream_grants WHERE subject = $1 ORDER BY granted_at, product_id"
    )
    static let deleteTokensOfSubject = SQL("DELETE FROM upstream_tokens WHERE subject = $1")
    static let deleteAccountOfSubject = SQL("DELETE FROM upstream_accounts WHERE subject = $1")
    static let deleteGrantsOfSubject = SQL("DELETE FROM upstream_grants WHERE subject = $1")

    package static let statements = [
        token, newestToken, setToken, setTokenState, account, setAccount, grant, grants, setGrant, deleteGrant, removeOldTokens,
        removeOldAccounts, removeOldGrants, sources, tokensOfSubject, grantsOfSubject, deleteTokensOfSubject,
        deleteAccountOfSubject, deleteGrantsOfSubject,
    ]

    /// The record of a token and its account.
    struct Record: Sendable {
        /// Names the account without saying whose it is.
        let subject: String
        /// The stored statement; without a grant, unless a product was named.
        var memory: FailPolicy.Memory
        /// The last answer about the subscription, if it was good, and when it came.
        var answer: (bytes: [UInt8], at: Instant)?
    }

    /// The record of a token, with the grant of a product if named; nil for an unknown token.
    static func record(_ hash: [UInt8], product: String? = nil, in transaction: any Transaction) throws -> Record? {
        guard let row = try transaction.row(token, [.blob(hash)]) else { return nil }
        let memory = try memory(of: try row.text(1), confirmedAt: try row.instant(2))
        return try record(of: try row.text(0), memory, product, in: transaction)
    }

    /// The record of an account by its newest token; nil for an account without a token.
    static func record(ofAccount subject: String, product: String?, in transaction: any Transaction) throws -> Record? {
        guard let row = try transaction.row(newestToken, [.text(subject)]) else { return nil }
        return try record(of: subject, try memory(of: try row.text(0), confirmedAt: try row.instant(1)), product, in: transaction)
    }

    private static func memory(of state: String, confirmedAt: Instant) throws -> FailPolicy.Memory {
        guard let state = FailPolicy.Memory.Token(rawValue: state) else {
            throw ServerError(.home, "a token of an upstream system has a state that this version does not know")
        }
        return FailPolicy.Memory(state, confirmedAt: confirmedAt)
    }

    private static func record(
        of subject: String,
        _ memory: FailPolicy.Memory,
        _ product: String?,
        in transaction: any Transaction
    ) throws -> Record {
        var record = Record(subject: subject, memory: memory)
        if let account = try transaction.row(account, [.text(subject)]) {
            record.memory.isSuspended = try account.integer(0) != 0
            if let at = try account.instantIfPresent(2) { record.answer = (try account.blob(1), at) }
        }
        if let product {
            record.memory.grantedAt = try transaction.row(grant, [.text(subject), .text(product)]).map { try $0.instant(0) }
        }
        return record
    }

    static func setToken(
        _ hash: [UInt8],
        source: String,
        subject: String,
        _ state: FailPolicy.Memory.Token,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        let values: [SQLValue] = [.blob(hash), .text(source), .text(subject), .text(state.rawValue), .instant(now)]
        _ = try transaction.run(setToken, values)
    }

    static func setState(_ state: FailPolicy.Memory.Token, of hash: [UInt8], in transaction: any Transaction) throws {
        _ = try transaction.run(setTokenState, [.blob(hash), .text(state.rawValue)])
    }

    static func setAccount(
        _ subject: String,
        isSuspended: Bool,
        answer: [UInt8]?,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        let values: [SQLValue] = [
            .text(subject), SQLValue(isSuspended), SQLValue(answer), .instant(answer.map { _ in now }), .instant(now),
        ]
        _ = try transaction.run(setAccount, values)
    }

    static func setGrant(of product: String, to subject: String, at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(setGrant, [.text(subject), .text(product), .instant(now)])
    }

    static func deleteGrant(of product: String, to subject: String, in transaction: any Transaction) throws {
        _ = try transaction.run(deleteGrant, [.text(subject), .text(product)])
    }

    /// Deletes an account's grants that are no longer allowed.
    static func deleteGrants(
        to subject: String,
        unless isAllowed: (String) -> Bool,
        in transaction: any Transaction
    ) throws {
        for row in try transaction.rows(grants, [.text(subject)]) {
            let product = try row.text(0)
            if !isAllowed(product) { try deleteGrant(of: product, to: subject, in: transaction) }
        }
    }

    /// Lifetime of an unused token's record, and of a suspension.
    private static let memory = Duration.seconds(60 * 86_400)

    /// Deletes some of the tokens unused for two months; returns how many.
    static func removeOldTokens(at now: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        try transaction.run(removeOldTokens, [.instant(now - memory), .integer(Int64(limit))])
    }

    /// Removes some of the accounts of which a system has not spoken for two months; returns how many.
    static func removeOldAccounts(at now: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        try transaction.run(removeOldAccounts, [.instant(now - memory), .integer(Int64(limit))])
    }

    /// Deletes some of the grants that no policy may use any longer; returns how many.
    static func removeOldGrants(at now: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        try transaction.run(removeOldGrants, [.instant(now - FailPolicy.longestMemory), .integer(Int64(limit))])
    }

    // MARK: Personal data

    /// The systems with a record of a token; each other row belongs to a token.
    static func sources(in transaction: any Transaction) throws -> [String] {
        try transaction.rows(sources, []).map { try $0.text(0) }
    }

    /// The exported data about a reader; nil if nothing is stored.
    static func export(of subject: String, in transaction: any Transaction) throws -> JSON? {
        let tokens = try transaction.rows(tokensOfSubject, [.text(subject)])
        let known = try transaction.row(account, [.text(subject)])
        let grants = try transaction.rows(grantsOfSubject, [.text(subject)])
        guard !tokens.isEmpty || known != nil || !grants.isEmpty else { return nil }
        let answer = try known.flatMap { row in try row.instantIfPresent(2).map { (try row.blob(1), $0) } }
        return [
            "id": .string(subject), "system": .string(String(subject.prefix { $0 != "/" })),
            "suspended": try known.map { .bool(try $0.integer(0) != 0) } ?? .null,
            "answer": answer.map { .string(String(decoding: $0.0, as: UTF8.self)) } ?? .null,
            "answeredAt": .init(answer?.1),
            "tokens": .array(
                try tokens.map { ["state": .string(try $0.text(1)), "confirmedAt": .init(try $0.instant(2))] }
            ),
            "products": .array(
                try grants.map { ["product": .string(try $0.text(0)), "grantedAt": .init(try $0.instant(1))] }
            ),
        ]
    }

    /// Deletes the data about a reader.
    static func delete(_ subject: String, in transaction: any Transaction) throws {
        for statement in [deleteTokensOfSubject, deleteAccountOfSubject, deleteGrantsOfSubject] {
            _ = try transaction.run(statement, [.text(subject)])
        }
    }
}
