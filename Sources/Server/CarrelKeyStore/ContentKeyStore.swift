// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelHome
package import CarrelRights
package import CarrelStore

/// The SQL of content keys that do not belong to orders.
package enum ContentKeyStore {
    static let key = SQL("SELECT master_version, wrapped, owner, content FROM content_keys WHERE kid = $1")
    static let insert = SQL(
        """
        INSERT INTO content_keys (kid, created_at, master_version, wrapped, owner, content) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (kid) DO NOTHING
        """
    )
    static let page = SQL(
        "SELECT kid, created_at, owner, content, clear_key FROM content_keys WHERE kid > $1 ORDER BY kid LIMIT $2"
    )
    static let remove = SQL("DELETE FROM content_keys WHERE kid = $1")
    static let notUnder = SQL(
        "SELECT kid, master_version, wrapped FROM content_keys WHERE master_version <> $1 ORDER BY kid LIMIT $2"
    )
    static let rewrap = SQL("UPDATE content_keys SET master_version = $2, wrapped = $3 WHERE kid = $1")

    static let servedByClearKey = SQL(
        "SELECT master_version, wrapped, owner, content FROM content_keys WHERE kid = $1 AND clear_key <> 0"
    )
    static let contentOf = SQL("SELECT content FROM content_keys WHERE kid = $1")
    static let setClearKey = SQL("UPDATE content_keys SET clear_key = $2 WHERE kid = $1 AND clear_key <> $2")

    static let statements = [key, insert, page, remove, notUnder, rewrap, servedByClearKey, contentOf, setClearKey]

    /// The keys of the store that a grant may name.
    package enum Reach: Sendable {
        /// Keys without an owner.
        case unowned
        /// Keys without an owner that staff added by their id, or that were created for a title: a packager would know any other key.
        case title
        /// The keys of one portal, and keys without an owner.
        case portal(String)
        /// All keys, for grants of the operator.
        case all

        /// The keys that a token of an issuer may name.
        package static func issuer(_ issuer: String?) -> Reach { issuer.map { .portal($0) } ?? .all }

        fileprivate func includes(_ owner: String?, _ content: String?) -> Bool {
            switch self {
            case .unowned: owner == nil
            case .title: owner == nil && (content.map(TitleContent.isID) ?? true)
            case .portal(let id): owner == nil || owner == id
            case .all: true
            }
        }
    }

    /// A key as lists have it.
    package struct Listed: Sendable {
        package let id: KeyID
        package let addedAt: Instant
        /// The id of the back-office key that may name it; nil for every portal.
        package let owner: String?
        /// The content id that the key was created or imported for, of a title too; nil for a key that was added by its id.
        package let content: String?
        /// Whether ClearKey may serve it.
        package let allowsClearKey: Bool
    }

    /// A key; nil without one within the reach.
    package static func key(_ id: KeyID, of reach: Reach, in transaction: any Transaction) throws -> MasterKeyring.Wrapped? {
        guard let found = try keyAndContent(id, in: transaction), reach.includes(found.owner, found.content) else { return nil }
        return found.key
    }

    /// A key with the content id that it was created or imported for; nil without one.
    static func keyAndContent(
        _ id: KeyID,
        in transaction: any Transaction
    ) throws -> (key: MasterKeyring.Wrapped, owner: String?, content: String?)? {
        guard let row = try transaction.row(key, [.text(id.hex)]) else { return nil }
        let wrapped = MasterKeyring.Wrapped(masterVersion: try row.integer(0), bytes: try row.blob(1))
        return (wrapped, try row.textIfPresent(2), try row.textIfPresent(3))
    }

    /// Adds a key unless its id exists. Whether it was added.
    static func insert(
        _ id: KeyID,
        _ key: MasterKeyring.Wrapped,
        owner: String?,
        content: String?,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> Bool {
        let values: [SQLValue] = [
            .text(id.hex), .instant(now), .integer(key.masterVersion), .blob(key.bytes), SQLValue(owner),
            SQLValue(content),
        ]
        return try transaction.run(insert, values) > 0
    }

    /// Keys without their bytes, in the order of the ids.
    static func list(after id: KeyID?, limit: Int, in transaction: any Transaction) throws -> [Listed] {
        try transaction.rows(page, [.text(id?.hex ?? ""), .integer(Int64(limit))]).compactMap { row in
            guard let id = KeyID(hex: try row.text(0)) else { return nil }
            return Listed(
                id: id,
                addedAt: try row.instant(1),
                owner: try row.textIfPresent(2),
                content: try row.textIfPresent(3),
                allowsClearKey: try row.integer(4) != 0
            )
        }
    }

    /// A key that ClearKey may serve; nil without one within the reach, and for the key of a title.
    static func keyForClearKey(_ id: KeyID, of reach: Reach, in transaction: any Transaction) throws -> MasterKeyring.Wrapped? {
        guard let row = try transaction.row(servedByClearKey, [.text(id.hex)]) else { return nil }
        let (owner, content) = (try row.textIfPresent(2), try row.textIfPresent(3))
        guard reach.includes(owner, content), !(content.map(TitleContent.isID) ?? false) else { return nil }
        return .init(masterVersion: try row.integer(0), bytes: try row.blob(1))
    }

    /// Sets whether ClearKey may serve a key; returns whether that is a change.
    static func setClearKey(_ isAllowed: Bool, for id: KeyID, in transaction: any Transaction) throws -> Bool {
        try transaction.run(setClearKey, [.text(id.hex), .integer(isAllowed ? 1 : 0)]) > 0
    }

    /// The content id that a key was created or imported for; nil without one, and without the key.
    static func content(of id: KeyID, in transaction: any Transaction) throws -> String? {
        try transaction.row(contentOf, [.text(id.hex)])?.textIfPresent(0)
    }

    /// Removes a key; returns whether it existed.
    static func remove(_ id: KeyID, in transaction: any Transaction) throws -> Bool {
        try transaction.run(remove, [.text(id.hex)]) > 0
    }
}
