// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelJSON
package import CarrelStore
import CarrelWebAPI

/// Personal data of accounts and sessions: their export and their end.
extension AccountStore {
    static let exported = SQL(
        """
        SELECT id, name, created_at, suspended_at, device_limit, role, password IS NOT NULL FROM accounts
        WHERE id = $1 AND erased_at IS NULL
        """
    )
    static let exportedSessions = SQL(
        """
        SELECT purpose, family, device_id, created_at, expires_at, seen_at, renewed_at FROM sessions WHERE account_id = $1
        ORDER BY created_at, family
        """
    )
    static let forget = SQL(
        """
        UPDATE accounts SET name = $2, password = NULL, device_limit = NULL, role = NULL,
            suspended_at = COALESCE(suspended_at, $3), erased_at = $3
        WHERE id = $1
        """
    )
    static let deleteDevices = SQL("DELETE FROM devices WHERE account_id = $1")

    static let statementsOfPersonalData = [exported, exportedSessions, forget, deleteDevices]

    package static func exported(_ id: String, in transaction: any Transaction) throws -> JSON? {
        try transaction.row(exported, [.text(id)]).map {
            [
                "id": .string(try $0.text(0)), "name": .string(try $0.text(1)), "createdAt": .init(try $0.instant(2)),
                "suspendedAt": .init(try $0.instantIfPresent(3)),
                "deviceLimit": try $0.integerIfPresent(4).map { .integer($0) } ?? .null,
                "role": .init(try $0.textIfPresent(5)), "hasPassword": .bool(try $0.integer(6) != 0),
            ]
        }
    }

    static func exportedSessions(of account: String, in transaction: any Transaction) throws -> [JSON] {
        try transaction.rows(exportedSessions, [.text(account)]).map {
            [
                "purpose": .string(try $0.text(0)), "id": .string(try $0.text(1)), "device": .init(try $0.textIfPresent(2)),
                "createdAt": .init(try $0.instant(3)), "expiresAt": .init(try $0.instant(4)), "seenAt": .init(try $0.instant(5)),
                "renewedAt": .init(try $0.instantIfPresent(6)),
            ]
        }
    }

    /// Deletes an account's name, password and other means of signing in.
    ///
    /// - Parameters:
    ///   - account: the account's id.
    ///   - pseudonym: its new name.
    ///   - now: the time.
    ///   - transaction: the transaction of the erasure.
    /// - Throws: the database's error.
    package static func erase(_ account: String, pseudonym: String, at now: Instant, in transaction: any Transaction) throws {
        _ = try transaction.run(deleteDevices, [.text(account)])
        try SessionStore.deleteAll(ofAccount: account, in: transaction)
        try AppPasswordStore.deleteAll(ofAccount: account, in: transaction)
        _ = try transaction.run(forget, [.text(account), .text(pseudonym), .instant(now)])
    }
}
