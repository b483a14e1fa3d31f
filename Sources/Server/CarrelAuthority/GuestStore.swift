// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelStore

/// The SQL of guests: players that are linked to no account and never got a license. They give way when there are too many.
package enum GuestStore {
    static let insert = SQL("INSERT INTO guests (player_id, site, created_at, expires_at) VALUES ($1, $2, $3, $4)")
    static let extend = SQL("UPDATE guests SET expires_at = $2 WHERE player_id = $1")
    static let remove = SQL("DELETE FROM guests WHERE player_id = $1")
    static let count = SQL("SELECT COUNT(*) FROM guests WHERE expires_at > $1")
    static let sites = SQL(
        """
        SELECT site, COUNT(*) FROM guests WHERE expires_at > $1 GROUP BY site ORDER BY COUNT(*) DESC, site LIMIT $2
        """
    )
    static let oldest = SQL(
        "SELECT player_id FROM guests WHERE site = $1 AND expires_at > $2 ORDER BY created_at, player_id LIMIT 1"
    )

    package static let statements = [insert, extend, remove, count, sites, oldest]

    static func insert(_ player: Player, from site: String, in transaction: any Transaction) throws {
        try transaction.run(
            insert,
            [.text(player.id), .text(site), .instant(player.createdAt), .instant(player.expiresAt)]
        )
    }

    /// Moves the end of a guest's certificate; nothing for other players.
    static func extend(_ player: String, until end: Instant, in transaction: any Transaction) throws {
        try transaction.run(extend, [.text(player), .instant(end)])
    }

    /// Makes a player a guest no longer; nothing for other players.
    static func remove(_ player: String, in transaction: any Transaction) throws {
        try transaction.run(remove, [.text(player)])
    }

    /// The number of guests whose certificate has not ended.
    package static func count(at now: Instant, in transaction: any Transaction) throws -> Int {
        Int(try transaction.row(count, [.instant(now)])?.integer(0) ?? 0)
    }

    /// The larger networks with the most guests.
    static func sites(limit: Int, at now: Instant, in transaction: any Transaction) throws -> [(site: String, count: Int)] {
        try transaction.rows(sites, [.instant(now), .integer(Int64(limit))]).map { (try $0.text(0), Int(try $0.integer(1))) }
    }

    /// The oldest guest of a larger network; nil without one.
    static func oldest(of site: String, at now: Instant, in transaction: any Transaction) throws -> String? {
        try transaction.row(oldest, [.text(site), .instant(now)])?.text(0)
    }
}
