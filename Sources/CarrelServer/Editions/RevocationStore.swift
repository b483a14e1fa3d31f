import CarrelBytes
package import CarrelStore

/// The SQL of revoked credentials.
package enum RevocationStore {
    static let revoke = SQL(
        """
        INSERT INTO credential_revocations (account_id, revoked_at) VALUES ($1, $2)
        ON CONFLICT (account_id) DO UPDATE SET revoked_at = excluded.revoked_at
        """
    )
    static let since = SQL("SELECT account_id, revoked_at FROM credential_revocations WHERE revoked_at >= $1")

    package static let statements = [revoke, since]

    /// Voids the editions' credentials that the account was given until now, in the transaction of what takes a right away. Its
    /// apps ask again, and get them for what it may still read.
    static func revoke(account: String, at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(revoke, [.text(account), .instant(now)])
    }

    static func revoked(since instant: Instant, in transaction: any Transaction) throws -> [(account: String, at: Instant)] {
        try transaction.rows(since, [.instant(instant)]).map { (try $0.text(0), try $0.instant(1)) }
    }
}
