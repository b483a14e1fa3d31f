// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelHome
package import CarrelStore

/// The SQL of revoked credentials.
package enum RevocationStore {
    static let serial = SQL("SELECT serial FROM credential_serial")
    static let advance = SQL("UPDATE credential_serial SET serial = serial + 1")
    static let upsert = SQL(
        """
        INSERT INTO revocations (kind, subject, serial, revoked_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (kind, subject) DO UPDATE SET serial = excluded.serial, revoked_at = excluded.revoked_at
        """
    )
    static let since = SQL("SELECT kind, subject, serial FROM revocations WHERE serial > $1 ORDER BY serial")
    static let ofAccount = SQL("SELECT serial FROM revocations WHERE kind = 'account' AND subject = $1")
    static let forgetAccounts = SQL("DELETE FROM revocations WHERE kind = 'account' AND revoked_at < $1")

    package static let statements = [serial, advance, upsert, since, ofAccount, forgetAccounts]

    package static func serial(in transaction: any Transaction) throws -> UInt32 {
        guard let row = try transaction.row(serial), let number = UInt32(exactly: try row.integer(0)) else {
            throw ServerError(.home, "the number of revocations is missing from the database")
        }
        return number
    }

    /// Counts a revocation or a change of the secrets.
    package static func advance(in transaction: any Transaction) throws -> UInt32 {
        _ = try transaction.run(advance)
        return try serial(in: transaction)
    }

    /// Revokes credentials for every process that reads the serial afterwards. Runs in the transaction of the change that caused it.
    package static func revoke(_ revocation: Revocation, at now: Instant, in transaction: any Transaction) throws {
        let number = try advance(in: transaction)
        let values: [SQLValue] = [
            .text(revocation.kind), .text(revocation.subject), .integer(Int64(number)), .instant(now),
        ]
        _ = try transaction.run(upsert, values)
        // Credentials revoked that long ago have expired.
        _ = try transaction.run(forgetAccounts, [.instant(now - Revocation.longestLife - .seconds(24 * 3600))])
    }

    /// The number of an account's last revocation: a different number means that its password was replaced, that it was suspended
    /// or promoted.
    static func serial(ofAccount id: String, in transaction: any Transaction) throws -> Int64? {
        try transaction.row(ofAccount, [.text(id)])?.integer(0)
    }

    package static func since(_ serial: UInt32, in transaction: any Transaction) throws -> [Revocation.Numbered] {
        try transaction.rows(since, [.integer(Int64(serial))]).map {
            guard let revocation = Revocation(kind: try $0.text(0), subject: try $0.text(1)),
                let number = UInt32(exactly: try $0.integer(2))
            else { throw ServerError(.home, "a revocation is of a kind that this version does not know") }
            return (revocation, number)
        }
    }
}
