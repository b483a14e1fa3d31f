import CarrelBytes
import CarrelHome
import CarrelRights
import CarrelStore

/// The SQL of content keys that are not those of orders.
enum ContentKeyStore {
    static let key = SQL("SELECT master_version, wrapped FROM content_keys WHERE kid = $1")
    static let insert = SQL(
        "INSERT INTO content_keys (kid, created_at, master_version, wrapped) VALUES ($1, $2, $3, $4) ON CONFLICT (kid) DO NOTHING"
    )
    static let page = SQL("SELECT kid, created_at FROM content_keys WHERE kid > $1 ORDER BY kid LIMIT $2")
    static let remove = SQL("DELETE FROM content_keys WHERE kid = $1")
    /// Reads all licenses: for a rare act of staff, outside a transaction that writes.
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

    static func key(_ id: KeyID, in transaction: any Transaction) throws -> MasterKeyring.Wrapped? {
        try transaction.row(key, [.text(id.hex)]).map { .init(masterVersion: try $0.integer(0), bytes: try $0.blob(1)) }
    }

    /// Adds a key unless its id exists. Whether it was added.
    static func insert(_ id: KeyID, _ key: MasterKeyring.Wrapped, at now: Instant, in transaction: any Transaction) throws
        -> Bool
    {
        try transaction.run(insert, [.text(id.hex), .instant(now), .integer(key.masterVersion), .blob(key.bytes)]) > 0
    }

    /// The ids of keys with the times at which they were added, in the order of the ids.
    static func list(after id: KeyID?, limit: Int, in transaction: any Transaction) throws -> [ContentKeys.Listed] {
        try transaction.rows(page, [.text(id?.hex ?? ""), .integer(Int64(limit))]).compactMap { row in
            let addedAt = try row.instant(1)
            return KeyID(hex: try row.text(0)).map { ContentKeys.Listed(id: $0, addedAt: addedAt) }
        }
    }

    /// The number of licenses that have a key and can be used, `limit` at most.
    static func liveLicenses(of id: KeyID, at now: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        let values: [SQLValue] = [.instant(now), .text("%\(id.hex)%"), .integer(Int64(limit))]
        return Int(try transaction.row(liveLicenses, values)?.integer(0) ?? 0)
    }

    /// Removes a key; whether there was one.
    static func remove(_ id: KeyID, in transaction: any Transaction) throws -> Bool {
        try transaction.run(remove, [.text(id.hex)]) > 0
    }
}
