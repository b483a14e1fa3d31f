// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelStore

/// The SQL of the codes that link players.
package enum LinkCodeStore {
    static let insert = SQL(
        """
        INSERT INTO link_codes (device_code, user_code, player_id, network, created_at, expires_at, state, site)
        VALUES ($1, $2, $3, $4, $5, $6, 'pending', $7) ON CONFLICT (user_code) DO NOTHING
        """
    )
    static let byDevice = SQL(
        """
        SELECT device_code, user_code, player_id, network, created_at, expires_at, state FROM link_codes WHERE device_code = $1
        """
    )
    static let byUser = SQL(
        """
        SELECT device_code, user_code, player_id, network, created_at, expires_at, state FROM link_codes WHERE user_code = $1
        """
    )
    static let count = SQL("SELECT COUNT(*) FROM link_codes WHERE expires_at > $1 AND state = 'pending'")
    static let countOfNetwork = SQL(
        "SELECT COUNT(*) FROM link_codes WHERE network = $1 AND expires_at > $2 AND state = 'pending'"
    )
    static let countOfSite = SQL("SELECT COUNT(*) FROM link_codes WHERE site = $1 AND expires_at > $2 AND state = 'pending'")
    static let oldestOfLargestSite = SQL(
        """
        SELECT device_code FROM link_codes WHERE expires_at > $1 AND state = 'pending' AND site = (
            SELECT site FROM link_codes WHERE expires_at > $1 AND state = 'pending' GROUP BY site
            ORDER BY COUNT(*) DESC, site LIMIT 1)
        ORDER BY created_at, device_code LIMIT 1
        """
    )
    static let decide = SQL("UPDATE link_codes SET state = $2 WHERE device_code = $1 AND state = 'pending'")
    static let removeOfPlayer = SQL("DELETE FROM link_codes WHERE player_id = $1")
    static let expired = SQL("SELECT device_code FROM link_codes WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2")
    static let remove = SQL("DELETE FROM link_codes WHERE device_code = $1")

    package static let statements = [
        insert, byDevice, byUser, count, countOfNetwork, countOfSite, oldestOfLargestSite, decide, removeOfPlayer, expired,
        remove,
    ]

    /// A code as the service keeps it.
    struct Code: Sendable {
        enum State: String {
            case pending
            case approved
            case denied
        }

        /// SHA-256 of the text that the player has.
        let deviceCode: [UInt8]
        /// The letters that the reader types.
        let userCode: String
        let player: String
        /// The network of the player's request.
        let network: String
        /// The larger network around it.
        var site: String { LinkCodeStore.site(ofNetwork: network) }
        let createdAt: Instant
        let expiresAt: Instant
        var state = State.pending
    }

    /// Inserts a code unless a reader's code of these letters exists. Whether it was inserted.
    static func insert(_ code: Code, in transaction: any Transaction) throws -> Bool {
        let values: [SQLValue] = [
            .blob(code.deviceCode), .text(code.userCode), .text(code.player), .text(code.network), .instant(code.createdAt),
            .instant(code.expiresAt), .text(code.site),
        ]
        return try transaction.run(insert, values) > 0
    }

    static func code(device: [UInt8], in transaction: any Transaction) throws -> Code? {
        try transaction.row(byDevice, [.blob(device)]).map(code)
    }

    static func code(user: String, in transaction: any Transaction) throws -> Code? {
        try transaction.row(byUser, [.text(user)]).map(code)
    }

    /// The /48 of an IPv6 network, and the /24 of an IPv4 address.
    package static func site(ofNetwork network: String) -> String {
        if let dot = network.lastIndex(of: ".") { return String(network[..<dot]) }
        return network.split(separator: ":", omittingEmptySubsequences: false).prefix(3).joined(separator: ":")
    }

    /// The codes of a network that wait.
    static func count(ofNetwork network: String, at now: Instant, in transaction: any Transaction) throws -> Int64 {
        try transaction.row(countOfNetwork, [.text(network), .instant(now)])?.integer(0) ?? 0
    }

    /// The codes of a larger network that wait.
    static func count(ofSite site: String, at now: Instant, in transaction: any Transaction) throws -> Int64 {
        try transaction.row(countOfSite, [.text(site), .instant(now)])?.integer(0) ?? 0
    }

    /// Removes the oldest code of the larger network with the most codes, where as many wait as may.
    static func makeRoom(for limit: Int64, at now: Instant, in transaction: any Transaction) throws {
        guard let count = try transaction.row(count, [.instant(now)])?.integer(0), count >= limit,
            let oldest = try transaction.row(oldestOfLargestSite, [.instant(now)])
        else { return }
        try transaction.run(remove, [.blob(try oldest.blob(0))])
    }

    /// Decides on a code, once.
    static func decide(_ code: Code, _ state: Code.State, in transaction: any Transaction) throws -> Bool {
        try transaction.run(decide, [.blob(code.deviceCode), .text(state.rawValue)]) > 0
    }

    static func removeAll(of player: String, in transaction: any Transaction) throws {
        try transaction.run(removeOfPlayer, [.text(player)])
    }

    static func removeExpired(at now: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        let codes = try transaction.rows(expired, [.instant(now), .integer(Int64(limit))]).map { try $0.blob(0) }
        for code in codes { try transaction.run(remove, [.blob(code)]) }
        return codes.count
    }

    private static func code(_ row: Row) throws -> Code {
        Code(
            deviceCode: try row.blob(0),
            userCode: try row.text(1),
            player: try row.text(2),
            network: try row.text(3),
            createdAt: try row.instant(4),
            expiresAt: try row.instant(5),
            state: Code.State(rawValue: try row.text(6)) ?? .denied
        )
    }
}
