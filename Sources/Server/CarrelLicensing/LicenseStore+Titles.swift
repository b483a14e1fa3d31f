// SPDX-License-Identifier: Apache-2.0

import CarrelAuthority
import CarrelBytes
import CarrelHome
import CarrelRights
import CarrelStore

/// Licenses of orders, and communication keys.
extension LicenseStore {
    static func set(order: String, of license: String, in transaction: any Transaction) throws {
        try transaction.run(setOrder, [.text(license), .text(order)])
    }

    /// The order of a license; nil for one of other content.
    static func order(of license: String, in transaction: any Transaction) throws -> String? {
        try transaction.row(orderOf, [.text(license)])?.textIfPresent(0)
    }

    /// Ends the licenses of an order, and revokes licenses that devices store.
    static func endAll(ofOrder order: String, byStaff: Bool, at now: Instant, in transaction: any Transaction) throws {
        let ids = try transaction.rows(liveOfOrder, [.text(order)]).map { try $0.text(0) }
        try endAll(ids, by: "order", byStaff: byStaff, at: now, in: transaction)
    }

    /// Ends a player's licenses as a device of an account, and revokes its stored licenses.
    static func endAll(of player: String, for account: String, at now: Instant, in transaction: any Transaction) throws {
        let ids = try transaction.rows(liveOfPlayer, [.text(player), .text(account)]).map { try $0.text(0) }
        try endAll(ids, by: "deregistration", at: now, in: transaction)
    }

    static func endAll(
        _ ids: [String],
        by cause: String,
        byStaff: Bool = false,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        for id in ids {
            guard let license = try license(id, in: transaction), try end(id, by: cause, at: now, in: transaction) else {
                continue
            }
            // a stream's lease, or the license's own end, is near enough or past: only what a device keeps is listed
            if license.isKept(at: now) { try revoke(license, byStaff: byStaff, at: now, in: transaction) }
        }
    }

    /// Revokes a license until its end.
    static func revoke(
        _ license: Issued,
        byStaff: Bool = false,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        try RevokedRight.license.revoke(
            license.id,
            until: license.terms.notAfter,
            byStaff: byStaff,
            at: now,
            in: transaction
        )
    }

    /// Ends a license for staff, even if it had ended: its token can no longer be redeemed.
    static func endForStaff(_ license: Issued, at now: Instant, in transaction: any Transaction) throws {
        try transaction.run(revoke, [.text(license.id), .instant(now)])
        try revoke(license, byStaff: true, at: now, in: transaction)
    }

    /// The content that a token was for; of a license message, it is not the player's word.
    static func content(of license: Issued, in transaction: any Transaction) throws -> String {
        try transaction.row(contentOfLicense, [.text(license.id)]).map { try $0.text(0) } ?? license.contentID
    }

    /// The licenses of a token that hold a slot, the oldest first.
    static func leases(redeemedWith token: String, at now: Instant, limit: Int, in transaction: any Transaction) throws
        -> [String]
    {
        try transaction.rows(leasesOfToken, [.text(token), .instant(now), .integer(Int64(limit))]).map { try $0.text(0) }
    }

    /// Removes a license that is over, with the redemption that it is of.
    static func remove(_ license: Issued, redeemedWith token: String, in transaction: any Transaction) throws {
        try transaction.run(remove, [.text(license.id)])
        try transaction.run(removeRedemption, [.text(token), .text(license.player)])
    }

    /// An operator's key, and the back-office key that its messages count as.
    static func communicationKey(
        _ id: KeyID,
        in transaction: any Transaction
    ) throws -> (key: MasterKeyring.Wrapped, owner: String?)? {
        try transaction.row(communicationKey, [.text(id.hex)]).map {
            (.init(masterVersion: try $0.integer(0), bytes: try $0.blob(1)), try $0.textIfPresent(2))
        }
    }

    static func communicationKeyCount(in transaction: any Transaction) throws -> Int {
        Int(try transaction.row(communicationKeyCount)?.integer(0) ?? 0)
    }

    /// The ids of operators' keys with the times at which they were added and their owners, the oldest first.
    static func communicationKeys(in transaction: any Transaction) throws -> [(id: KeyID, createdAt: Instant, owner: String?)] {
        try transaction.rows(communicationKeys).compactMap { row in
            let (createdAt, owner) = (try row.instant(1), try row.textIfPresent(2))
            return KeyID(hex: try row.text(0)).map { ($0, createdAt, owner) }
        }
    }

    /// Removes an operator's key; returns whether it existed.
    static func removeCommunicationKey(_ id: KeyID, in transaction: any Transaction) throws -> Bool {
        try transaction.run(removeCommunicationKey, [.text(id.hex)]) > 0
    }

    static func insertCommunicationKey(
        _ id: KeyID,
        _ key: MasterKeyring.Wrapped,
        owner: String?,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        try transaction.run(
            insertCommunicationKey,
            [.text(id.hex), .instant(now), .integer(key.masterVersion), .blob(key.bytes), SQLValue(owner)]
        )
    }
}
