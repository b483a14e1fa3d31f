import CarrelBytes
package import CarrelStore

/// The SQL of the codes that link players.
package enum LinkCodeStore {
    static let insert = SQL(
        """
        INSERT INTO link_codes (device_code, user_code, player_id, network, created_at, expires_at, state)
        VALUES ($1, $2, $3, $4, $5, $6, 'pending') ON CONFLICT (user_code) DO NOTHING
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
    static let count = SQL("SELECT COUNT(*) FROM link_codes WHERE expires_at > $1")
    static let countOfNetwork = SQL("SELECT COUNT(*) FROM link_codes WHERE network = $1 AND expires_at > $2")
    static let decide = SQL("UPDATE link_codes SET state = $2 WHERE device_code = $1 AND state = 'pending'")
    static let removeOfPlayer = SQL("DELETE FROM link_codes WHERE player_id = $1")
    static let expired = SQL("SELECT device_code FROM link_codes WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2")
    static let remove = SQL("DELETE FROM link_codes WHERE device_code = $1")

    package static let statements = [insert, byDevice, byUser, count, countOfNetwork, decide, removeOfPlayer, expired, remove]

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
        /// The network that the player asked from.
        let network: String
        let createdAt: Instant
        let expiresAt: Instant
        var state = State.pending
    }

    /// Inserts a code unless a reader's code of these letters exists. Whether it was inserted.
    static func insert(_ code: Code, in transaction: any Transaction) throws -> Bool {
        let values: [SQLValue] = [
            .blob(code.deviceCode), .text(code.userCode), .text(code.player), .text(code.network), .instant(code.createdAt),
            .instant(code.expiresAt),
        ]
        return try transaction.run(insert, values) > 0
    }

    static func code(device: [UInt8], in transaction: any Transaction) throws -> Code? {
        try transaction.row(byDevice, [.blob(device)]).map(code)
    }

    static func code(user: String, in transaction: any Transaction) throws -> Code? {
        try transaction.row(byUser, [.text(user)]).map(code)
    }

    /// The codes that have not ended.
    static func count(of network: String?, at now: Instant, in transaction: any Transaction) throws -> Int64 {
        guard let network else { return try transaction.row(count, [.instant(now)])?.integer(0) ?? 0 }
        return try transaction.row(countOfNetwork, [.text(network), .instant(now)])?.integer(0) ?? 0
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
