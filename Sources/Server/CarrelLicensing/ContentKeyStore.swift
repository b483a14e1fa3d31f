// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHome
import CarrelRights
import CarrelStore

/// The SQL of content keys that do not belong to orders.
enum ContentKeyStore {
    static let key = SQL("SELECT master_version, wrapped, owner FROM content_keys WHERE kid = $1")
    static let insert = SQL(
        """
        INSERT INTO content_keys (kid, created_at, master_version, wrapped, owner) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (kid) DO NOTHING
        """
    )
    static let page = SQL("SELECT kid, created_at, owner FROM content_keys WHERE kid > $1 ORDER BY kid LIMIT $2")
    static let remove = SQL("DELETE FROM content_keys WHERE kid = $1")
    /// Reads all licenses: for a rare action of staff, outside a write transaction.
    static let liveLicenses = SQL(
        """
        SELECT COUNT(*) FROM (
            SELECT 1 FROM licenses WHERE ended_at IS NULL AND (until IS NULL OR until > $1) AND (lease_until IS NULL OR lease_until > $1)
                AND kids LIKE $2 LIMIT $3) AS counted
        """
    )
    static let notUnder = SQL(
        "SELECT kid, master_version, wrapped FROM content_keys WHERE master_version <> $1 ORDER BY kid LIMIT $2"
    )
    static let rewrap = SQL("UPDATE content_keys SET master_version = $2, wrapped = $3 WHERE kid = $1")

    static let statements = [key, insert, page, remove, liveLicenses, notUnder, rewrap]

    /// The keys of the store that a grant may name.
    enum Reach: Sendable {
        /// Keys without an owner.
        case unowned
        /// The keys of one portal, and keys without an owner.
        case portal(String)
        /// All keys, for grants of the operator.
        case all

        /// The keys that a token of an issuer may name.
        static func issuer(_ issuer: String?) -> Reach { issuer.map { .portal($0) } ?? .all }

        fileprivate func includes(_ owner: String?) -> Bool {
            switch self {
            case .unowned: owner == nil
            case .portal(let id): owner == nil || owner == id
            case .all: true
            }
        }
    }

    /// A key as lists have it.
    struct Listed: Sendable {
        let id: KeyID
        let addedAt: Instant
        /// The id of the back-office key that may name it; nil for every portal.
        let owner: String?
    }

    /// A key; nil without one within the reach.
    static func key(_ id: KeyID, of reach: Reach, in transaction: any Transaction) throws -> MasterKeyring.Wrapped? {
        guard let row = try transaction.row(key, [.text(id.hex)]), reach.includes(try row.textIfPresent(2)) else { return nil }
        return .init(masterVersion: try row.integer(0), bytes: try row.blob(1))
    }

    /// Adds a key unless its id exists. Whether it was added.
    static func insert(
        _ id: KeyID,
        _ key: MasterKeyring.Wrapped,
        owner: String?,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> Bool {
        let values: [SQLValue] = [
            .text(id.hex), .instant(now), .integer(key.masterVersion), .blob(key.bytes), SQLValue(owner),
        ]
        return try transaction.run(insert, values) > 0
    }

    /// The ids of keys with the times at which they were added, in the order of the ids.
    static func list(after id: KeyID?, limit: Int, in transaction: any Transaction) throws -> [Listed] {
        try transaction.rows(page, [.text(id?.hex ?? ""), .integer(Int64(limit))]).compactMap { row in
            let (addedAt, owner) = (try row.instant(1), try row.textIfPresent(2))
            return KeyID(hex: try row.text(0)).map { Listed(id: $0, addedAt: addedAt, owner: owner) }
        }
    }

    /// The number of licenses that have a key and can be used, `limit` at most.
    static func liveLicenses(of id: KeyID, at now: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        let values: [SQLValue] = [.instant(now), .text("%\(id.hex)%"), .integer(Int64(limit))]
        return Int(try transaction.row(liveLicenses, values)?.integer(0) ?? 0)
    }

    /// Removes a key; returns whether it existed.
    static func remove(_ id: KeyID, in transaction: any Transaction) throws -> Bool {
        try transaction.run(remove, [.text(id.hex)]) > 0
    }
}
