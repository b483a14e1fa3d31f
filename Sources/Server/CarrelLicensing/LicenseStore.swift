// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelHome
import CarrelJSON
import CarrelOrders
package import CarrelRights
package import CarrelStore

/// The SQL of licenses and redemptions.
package enum LicenseStore {
    static let insert = SQL(
        """
        INSERT INTO licenses (id, player_id, subject, content_id, session, sequence, terms, obligations, kids, issued_at, lease_until,
            plays, master_version, wrapped, until, token_id)
        VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $8, $9, $10, 0, $11, $12, $13, $14)
        """
    )
    static let byID = SQL(
        """
        SELECT id, player_id, subject, content_id, session, sequence, terms, obligations, kids, issued_at, lease_until, ended_at, ended_by,
            plays, master_version, wrapped FROM licenses WHERE id = $1
        """
    )
    static let byPlayer = SQL(
        """
        SELECT id, player_id, subject, content_id, session, sequence, terms, obligations, kids, issued_at, lease_until, ended_at, ended_by,
            plays, master_version, wrapped FROM licenses WHERE player_id = $1 AND (issued_at, id) > ($2, $3)
        ORDER BY issued_at, id LIMIT $4
        """
    )
    static let page = SQL(
        """
        SELECT id, player_id, subject, content_id, session, sequence, terms, obligations, kids, issued_at, lease_until, ended_at, ended_by,
            plays, master_version, wrapped FROM licenses WHERE (issued_at, id) > ($1, $2) ORDER BY issued_at, id LIMIT $3
        """
    )
    /// Plays are those that the player counts from the license's first issue, so a repeat adds none.
    static let renew = SQL(
        """
        UPDATE licenses SET sequence = sequence + 1, lease_until = $2, plays = CASE WHEN plays < $3 THEN $3 ELSE plays END
        WHERE id = $1 AND ended_at IS NULL
        """
    )
    static let end = SQL(
        """
        UPDATE licenses SET ended_at = $2, ended_by = $3, lease_until = NULL, plays = CASE WHEN plays < $4 THEN $4 ELSE plays END
        WHERE id = $1 AND ended_at IS NULL
        """
    )
    /// Staff's word stands, whatever ended the license before.
    static let revoke = SQL(
        "UPDATE licenses SET ended_at = COALESCE(ended_at, $2), ended_by = 'staff', lease_until = NULL WHERE id = $1"
    )
    static let leases = SQL(
        "SELECT id, issued_at, lease_until FROM licenses WHERE subject = $1 AND lease_until > $2 ORDER BY issued_at, id LIMIT $3"
    )
    /// The same if an order's streams are counted for the order, and all others for their subject.
    static let leasesOfOrder = SQL(
        """
        SELECT id, issued_at, lease_until FROM licenses
        WHERE (order_id = $1 OR (subject = $1 AND order_id IS NULL)) AND lease_until > $2 ORDER BY issued_at, id LIMIT $3
        """
    )
    static let redemption = SQL(
        """
        SELECT r.license_id, COALESCE(l.ended_by, r.ended_by) FROM redemptions r LEFT JOIN licenses l ON l.id = r.license_id
        WHERE r.token_id = $1 AND r.player_id = $2
        """
    )
    static let isRedeemed = SQL("SELECT 1 FROM redemptions WHERE token_id IN ($1, $2) LIMIT 1")
    /// Players, not redemptions: the forms of a grant count once.
    static let redemptionCount = SQL(
        """
        SELECT COUNT(*) FROM (
            SELECT DISTINCT player_id FROM redemptions WHERE token_id IN ($1, $2) AND player_id <> $3 LIMIT $4) AS counted
        """
    )
    static let contentOfLicense = SQL("SELECT content_id FROM redemptions WHERE license_id = $1 LIMIT 1")
    /// Keeps the cause of a license's end when the license is deleted.
    static let keepEnd = SQL(
        """
        UPDATE redemptions SET ended_by = (
            SELECT COALESCE(ended_by, CASE WHEN until IS NULL THEN NULL ELSE 'time' END) FROM licenses WHERE licenses.id = $1)
        WHERE license_id = $1
        """
    )
    static let redeem = SQL(
        """
        INSERT INTO redemptions (token_id, player_id, license_id, redeemed_at, content_id, cookie, expires_at, issuer)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (token_id, player_id) DO UPDATE SET license_id = $3, redeemed_at = $4, content_id = $5, cookie = $6,
            expires_at = $7, ended_by = NULL, issuer = $8
        """
    )
    static let records = SQL(
        """
        SELECT token_id, player_id, license_id, redeemed_at, content_id, cookie FROM redemptions
        ORDER BY redeemed_at DESC, token_id DESC LIMIT $1 OFFSET $2
        """
    )
    static let recordsOfCookie = SQL(
        """
        SELECT token_id, player_id, license_id, redeemed_at, content_id, cookie FROM redemptions WHERE cookie = $1
        ORDER BY redeemed_at DESC, token_id DESC LIMIT $2 OFFSET $3
        """
    )
    static let recordsOfIssuer = SQL(
        """
        SELECT token_id, player_id, license_id, redeemed_at, content_id, cookie FROM redemptions WHERE issuer = $1
        ORDER BY redeemed_at DESC, token_id DESC LIMIT $2 OFFSET $3
        """
    )
    static let recordsOfIssuerAndCookie = SQL(
        """
        SELECT token_id, player_id, license_id, redeemed_at, content_id, cookie FROM redemptions WHERE issuer = $1 AND cookie = $2
        ORDER BY redeemed_at DESC, token_id DESC LIMIT $3 OFFSET $4
        """
    )
    static let licensesNotUnder = SQL(
        "SELECT id, master_version, wrapped FROM licenses WHERE master_version <> $1 ORDER BY id LIMIT $2"
    )
    static let rewrapLicense = SQL("UPDATE licenses SET master_version = $2, wrapped = $3 WHERE id = $1")
    static let idsOfSubject = SQL("SELECT id FROM licenses WHERE subject = $1 ORDER BY id")
    static let bySubject = SQL(
        """
        SELECT id, player_id, subject, content_id, session, sequence, terms, obligations, kids, issued_at, lease_until, ended_at, ended_by,
            plays, master_version, wrapped FROM licenses WHERE subject = $1 ORDER BY issued_at, id
        """
    )
    /// A stream that has an end is kept until then, so that no later one of its token gets more time.
    static let over = SQL(
        """
        SELECT id FROM licenses WHERE ended_at <= $1 OR until <= $1 OR (lease_until <= $1 AND until IS NULL) ORDER BY id LIMIT $2
        """
    )
    static let remove = SQL("DELETE FROM licenses WHERE id = $1")
    static let expiredRedemptions = SQL(
        "SELECT token_id, player_id FROM redemptions WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2"
    )
    static let removeRedemption = SQL("DELETE FROM redemptions WHERE token_id = $1 AND player_id = $2")

    static let setOrder = SQL("UPDATE licenses SET order_id = $2 WHERE id = $1")
    static let orderOf = SQL("SELECT order_id FROM licenses WHERE id = $1")
    static let liveOfOrder = SQL("SELECT id FROM licenses WHERE order_id = $1 AND ended_at IS NULL ORDER BY id")
    static let liveOfPlayer = SQL(
        "SELECT id FROM licenses WHERE player_id = $1 AND subject = $2 AND ended_at IS NULL ORDER BY id"
    )
    static let leasesOfToken = SQL(
        """
        SELECT id FROM licenses WHERE token_id = $1 AND lease_until > $2 ORDER BY issued_at, id LIMIT $3
        """
    )
    static let communicationKey = SQL("SELECT master_version, wrapped, owner FROM communication_keys WHERE id = $1")
    static let communicationKeyCount = SQL("SELECT COUNT(*) FROM communication_keys")
    static let insertCommunicationKey = SQL(
        "INSERT INTO communication_keys (id, created_at, master_version, wrapped, owner) VALUES ($1, $2, $3, $4, $5)"
    )
    static let communicationKeys = SQL("SELECT id, created_at, owner FROM communication_keys ORDER BY created_at, id")
    static let removeCommunicationKey = SQL("DELETE FROM communication_keys WHERE id = $1")
    static let communicationKeysNotUnder = SQL(
        "SELECT id, master_version, wrapped FROM communication_keys WHERE master_version <> $1 ORDER BY id LIMIT $2"
    )
    static let rewrapCommunicationKey = SQL("UPDATE communication_keys SET master_version = $2, wrapped = $3 WHERE id = $1")

    package static let statements =
        [
            setOrder, orderOf, liveOfOrder, liveOfPlayer, leasesOfToken, communicationKey, communicationKeyCount,
            insertCommunicationKey, communicationKeysNotUnder, rewrapCommunicationKey,
            insert, byID, byPlayer, page, renew, end, leases, leasesOfOrder, redemption, isRedeemed, redemptionCount, redeem,
            records, recordsOfCookie, recordsOfIssuer, recordsOfIssuerAndCookie, licensesNotUnder, rewrapLicense, idsOfSubject,
            bySubject, over, remove, expiredRedemptions, removeRedemption, revoke, contentOfLicense, keepEnd, communicationKeys,
            removeCommunicationKey,
        ] + statementsOfEndings

    /// A license as the service keeps it.
    package struct Issued: Sendable {
        package let id: String
        package let player: String
        /// Whose slots its lease takes: an account, or the player itself.
        package let subject: String
        package let contentID: String
        package let session: KeyRequest.Session
        package let sequence: Int
        package let terms: LicenseTerms
        package let obligations: [Obligation]
        package let keyIDs: [KeyID]
        /// The names of the usage policies of keys.
        package var policies: [KeyID: String] = [:]
        package let issuedAt: Instant
        package let leaseUntil: Instant?
        package let endedAt: Instant?
        /// `release`, `evicted`, `staff`, `reader`, `order`, `player`, `deregistration`, or `erasure`.
        package let endedBy: String?
        package let plays: Int
        /// The content keys side by side, 16 bytes each, in the order of their ids.
        let wrapped: MasterKeyring.Wrapped
    }

    /// A redemption of a token.
    package struct Redemption: Sendable {
        package let token: String
        package let player: String
        package let license: String
        package let at: Instant
        package let contentID: String
        package let cookie: String?
        /// The back-office key that requested the token; nil for staff, and in lists.
        var issuer: String?
    }

    /// Inserts a license that was redeemed with a token.
    static func insert(_ license: Issued, redeemedWith token: String, in transaction: any Transaction) throws {
        let obligations = JSON.array(license.obligations.map(\.json))
        let values: [SQLValue] = [
            .text(license.id), .text(license.player), .text(license.subject), .text(license.contentID),
            .text(license.session.rawValue),
            .text(license.terms.json.description), .text(obligations.description),
            .text(license.keys), .instant(license.issuedAt), .instant(license.leaseUntil),
            .integer(license.wrapped.masterVersion), .blob(license.wrapped.bytes), .instant(license.terms.notAfter),
            license.leaseUntil == nil ? .null : .text(token),
        ]
        try transaction.run(insert, values)
    }

    package static func license(_ id: String, in transaction: any Transaction) throws -> Issued? {
        try transaction.row(byID, [.text(id)]).map(issued)
    }

    static func licenses(
        of player: String?,
        after: (Instant, String)?,
        limit: Int,
        in transaction: any Transaction
    ) throws -> [Issued] {
        let start: [SQLValue] = [
            .instant(after?.0 ?? Instant(milliseconds: .min / 2)), .text(after?.1 ?? ""), .integer(Int64(limit)),
        ]
        guard let player else { return try transaction.rows(page, start).map(issued) }
        return try transaction.rows(byPlayer, [.text(player)] + start).map(issued)
    }

    /// Renews a license that has not ended; returns whether it exists.
    static func renew(_ id: String, leaseUntil: Instant?, plays: Int, in transaction: any Transaction) throws -> Bool {
        try transaction.run(renew, [.text(id), .instant(leaseUntil), .integer(Int64(plays))]) > 0
    }

    /// Ends a license; whether it had not ended.
    static func end(_ id: String, by cause: String, plays: Int = 0, at now: Instant, in transaction: any Transaction) throws
        -> Bool
    {
        try transaction.run(end, [.text(id), .instant(now), .text(cause), .integer(Int64(plays))]) > 0
    }

    /// Reads the licenses of a subject that hold a slot, the oldest first.
    ///
    /// - Parameters:
    ///   - subject: an account, or a player; an order if `countsOrders`.
    ///   - countsOrders: whether the streams of an order are counted for the order, not for its account.
    ///   - now: the time.
    ///   - limit: the maximum number.
    ///   - transaction: the transaction.
    /// - Returns: the streams.
    /// - Throws: the database's error.
    static func streams(
        of subject: String,
        countsOrders: Bool,
        at now: Instant,
        limit: Int,
        in transaction: any Transaction
    ) throws -> [CountedStream] {
        let statement = countsOrders ? leasesOfOrder : leases
        return try transaction.rows(statement, [.text(subject), .instant(now), .integer(Int64(limit))]).map {
            CountedStream(id: try $0.text(0), since: try $0.instant(1), until: try $0.instant(2))
        }
    }

    /// The license of a redemption, which may be deleted, and the cause of its end.
    static func redemption(
        of token: String,
        by player: String,
        in transaction: any Transaction
    ) throws -> (license: String, endedBy: String?)? {
        try transaction.row(redemption, [.text(token), .text(player)]).map { (try $0.text(0), try $0.textIfPresent(1)) }
    }

    /// Whether any player redeemed a grant in one of its two forms.
    static func isRedeemed(_ forms: [String], in transaction: any Transaction) throws -> Bool {
        try transaction.row(isRedeemed, [.text(forms[0]), .text(forms[1])]) != nil
    }

    /// Whether other players redeemed a grant as often as it may be, in any of its forms.
    static func isUsedUp(
        _ token: String,
        or other: String? = nil,
        limit: Int,
        byOthersThan player: String,
        in transaction: any Transaction
    ) throws -> Bool {
        let values: [SQLValue] = [.text(token), .text(other ?? token), .text(player), .integer(Int64(limit))]
        return try transaction.row(redemptionCount, values).map { try $0.integer(0) >= limit } ?? false
    }

    /// Inserts a redemption. One of the same player, whose license was deleted, is replaced.
    static func insert(_ redemption: Redemption, until end: Instant, in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .text(redemption.token), .text(redemption.player), .text(redemption.license), .instant(redemption.at),
            .text(redemption.contentID), SQLValue(redemption.cookie), .instant(end), SQLValue(redemption.issuer),
        ]
        try transaction.run(redeem, values)
    }

    /// The redemptions of an issuer's tokens, or of all, the newest first.
    static func redemptions(
        issuer: String?,
        cookie: String?,
        start: Int,
        count: Int,
        in transaction: any Transaction
    ) throws -> [Redemption] {
        let bounds: [SQLValue] = [.integer(Int64(count)), .integer(Int64(start))]
        let rows =
            switch (issuer, cookie) {
            case (nil, nil): try transaction.rows(records, bounds)
            case (nil, let cookie?): try transaction.rows(recordsOfCookie, [.text(cookie)] + bounds)
            case (let issuer?, nil): try transaction.rows(recordsOfIssuer, [.text(issuer)] + bounds)
            case (let issuer?, let cookie?):
                try transaction.rows(recordsOfIssuerAndCookie, [.text(issuer), .text(cookie)] + bounds)
            }
        return try rows.map {
            Redemption(
                token: try $0.text(0),
                player: try $0.text(1),
                license: try $0.text(2),
                at: try $0.instant(3),
                contentID: try $0.text(4),
                cookie: try $0.textIfPresent(5)
            )
        }
    }

    /// Ends and deletes the licenses of a subject. Those that devices keep are revoked.
    static func removeAll(of subject: String, at now: Instant, in transaction: any Transaction) throws {
        let ids = try transaction.rows(idsOfSubject, [.text(subject)]).map { try $0.text(0) }
        try endAll(ids, by: "erasure", at: now, in: transaction)
        for id in ids {
            try transaction.run(clearRedemption, [.text(id)])
            try delete(id, in: transaction)
        }
    }

    /// Deletes a license. Its redemption keeps the cause of its end.
    static func delete(_ id: String, in transaction: any Transaction) throws {
        try transaction.run(keepEnd, [.text(id)])
        try transaction.run(remove, [.text(id)])
    }

    static func licenses(ofSubject subject: String, in transaction: any Transaction) throws -> [Issued] {
        try transaction.rows(bySubject, [.text(subject)]).map(issued)
    }

    /// Deletes licenses that ended before a time, or whose time did, and streams without an end whose lease did.
    static func removeOver(before instant: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        let ids = try transaction.rows(over, [.instant(instant), .integer(Int64(limit))]).map { try $0.text(0) }
        for id in ids { try delete(id, in: transaction) }
        return ids.count
    }

    /// Removes redemptions of tokens that ended before a time: such a token cannot be redeemed again.
    static func removeRedemptions(before instant: Instant, limit: Int, in transaction: any Transaction) throws -> Int {
        let found = try transaction.rows(expiredRedemptions, [.instant(instant), .integer(Int64(limit))])
        for row in found { try transaction.run(removeRedemption, [.text(try row.text(0)), .text(try row.text(1))]) }
        return found.count
    }

    static func issued(_ row: Row) throws -> Issued {
        func json(_ column: Int) throws -> JSON {
            let bytes = Array(try row.text(column).utf8)
            return try JSON.parse(bytes.rawSpan)
        }
        guard let session = KeyRequest.Session(rawValue: try row.text(4)) else {
            throw ServerError(.home, "the database contains an invalid license")
        }
        return Issued(
            id: try row.text(0),
            player: try row.text(1),
            subject: try row.text(2),
            contentID: try row.text(3),
            session: session,
            sequence: Int(try row.integer(5)),
            terms: try LicenseTerms(try json(6)),
            obligations: try (try json(7).array ?? []).map { try Obligation($0) },
            keyIDs: try row.text(8).split(separator: " ").compactMap { KeyID(hex: $0.prefix { $0 != ":" }) },
            policies: Issued.policies(try row.text(8)),
            issuedAt: try row.instant(9),
            leaseUntil: try row.instantIfPresent(10),
            endedAt: try row.instantIfPresent(11),
            endedBy: try row.textIfPresent(12),
            plays: Int(try row.integer(13)),
            wrapped: .init(masterVersion: try row.integer(14), bytes: try row.blob(15))
        )
    }
}

extension LicenseStore.Issued {
    /// The ids of the keys with their policies, as the database has them: separated by spaces, a policy in base 64 after a colon.
    fileprivate var keys: String {
        keyIDs.map { id in policies[id].map { "\(id.hex):\(Base64URL.encode(Array($0.utf8)))" } ?? id.hex }.joined(separator: " ")
    }

    fileprivate static func policies(_ keys: String) -> [KeyID: String] {
        keys.split(separator: " ").reduce(into: [:]) { found, word in
            guard let colon = word.firstIndex(of: ":"), let id = KeyID(hex: word[..<colon]),
                let name = Base64URL.decode(String(word[word.index(after: colon)...]))
            else { return }
            found[id] = String(decoding: name, as: UTF8.self)
        }
    }
}
