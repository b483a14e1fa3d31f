// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelHome
import CarrelJSON
import CarrelOrders
import CarrelRights
import CarrelStore

/// The reasons why a license is live, ended, or denied, for staff.
struct LicenseExplanation: Sendable {
    /// The outcome for the license's player at this moment.
    enum Verdict: String, Sendable {
        /// The player may use and renew it.
        case live
        /// It is over for good.
        case ended
        /// It has not begun yet.
        case notYet = "not-yet"
        /// It is not over, but the player or the account gets nothing now.
        case denied
    }

    /// The verdict of one part of the license.
    struct Finding: Sendable {
        let rule: String
        /// `live` if the part allows the use.
        let effect: Verdict
        let reason: String
    }

    let license: LicenseStore.Issued
    private(set) var findings: [Finding] = []
    var denials: [LicenseDenial] = []

    /// Ended for good weighs more than denied for now.
    var verdict: Verdict {
        let effects = findings.map(\.effect)
        return [.ended, .denied, .notYet].first { effects.contains($0) } ?? .live
    }

    /// Reads all parts of a license.
    ///
    /// - Parameters:
    ///   - id: the license's id.
    ///   - orders: the orders of titles.
    ///   - now: the time.
    ///   - transaction: the transaction.
    /// - Throws: ``ServerError`` `request.not-found`.
    init(_ id: String, _ orders: Orders, at now: Instant, in transaction: any Transaction) throws {
        guard let license = try LicenseStore.license(id, in: transaction) else {
            throw ServerError(.notFound, "there is no such license")
        }
        self.license = license
        addTerms(at: now)
        try addPlayer(at: now, in: transaction)
        let redemption = try LicenseLists.redemption(of: license, in: transaction)
        let token = redemption.map { "token \($0.token), redeemed at \($0.at)" }
        add("redemption", .live, token ?? "the record of its token was deleted, 90 days after the token's end")
        if let order = try LicenseStore.order(of: id, in: transaction) { try add(order, orders, at: now, in: transaction) }
        if try Accounts.find(id: license.subject, in: transaction)?.isSuspended == true {
            add("account", .denied, "suspended: the license works again when the account resumes")
        }
        if license.endedAt == nil, let lease = license.leaseUntil {
            let isOver = lease <= now
            add(
                "lease",
                isOver ? .ended : .live,
                isOver ? "not renewed before \(lease)" : "holds a place until \(lease) unless renewed"
            )
        }
        if try RevokedRight.license.isRevoked(id, in: transaction) {
            add("revocation", .ended, "in the list of revocations: devices stop using it when they read the list")
        }
    }

    private mutating func add(_ rule: String, _ effect: Verdict, _ reason: String) {
        findings.append(Finding(rule: rule, effect: effect, reason: reason))
    }

    private static let endings = [
        "release": "the player gave it back", "evicted": "a newer stream took its place", "staff": "staff revoked it",
        "order": "its order ended", "deregistration": "the player was taken from the account",
        "reader": "its reader ended it", "player": "its player was revoked",
    ]

    private mutating func addTerms(at now: Instant) {
        if let endedAt = license.endedAt {
            let cause = license.endedBy ?? ""
            return add("license", .ended, "\(Self.endings[cause] ?? cause) at \(endedAt)")
        }
        if let end = license.terms.notAfter, end <= now { return add("license", .ended, "its time was over at \(end)") }
        if let start = license.terms.notBefore, now < start { return add("license", .notYet, "it begins at \(start)") }
        let end = license.terms.notAfter.map { "until \($0)" } ?? "without an end"
        let play = license.terms.playbackSeconds.map { ", and \($0) seconds from the first play" } ?? ""
        add(
            "license",
            .live,
            "issued at \(license.issuedAt), \(end)\(play); number \(license.sequence), \(license.plays) plays reported"
        )
    }

    private mutating func addPlayer(at now: Instant, in transaction: any Transaction) throws {
        guard let player = try Players.find(license.player, in: transaction) else {
            return add("player", .ended, "\(license.player) was deleted after its certificate ended")
        }
        if let revokedAt = player.revokedAt {
            add("player", .ended, "revoked at \(revokedAt)")
        } else if let suspendedAt = player.suspendedAt {
            add("player", .denied, "suspended at \(suspendedAt) by \(player.suspendedBy == .account ? "its account" : "staff")")
        } else {
            add("player", .live, "active, last seen at \(player.seenAt)")
        }
        let isOver = player.expiresAt <= now
        add(
            "certificate",
            isOver ? .denied : .live,
            isOver ? "ended at \(player.expiresAt): the app has to be personalised again" : "until \(player.expiresAt)"
        )
    }

    private mutating func add(_ order: String, _ orders: Orders, at now: Instant, in transaction: any Transaction) throws {
        guard let grant = try orders.grant(order, in: transaction) else {
            return add("order", .ended, "\(order) was deleted")
        }
        switch grant.order.availability(at: now) {
        case .live where grant.isSuspended: add("order", .denied, "\(order): its account is suspended")
        case .live: add("order", .live, grant.order.endsAt.map { "\(order), until \($0)" } ?? "\(order), without an end")
        case .notStarted: add("order", .notYet, "\(order) begins at \(grant.order.startsAt?.description ?? "")")
        case .expired: add("order", .ended, "\(order) ended at \(grant.order.endsAt?.description ?? "")")
        case .returned, .revoked, .cancelled:
            add(
                "order",
                .ended,
                "\(order) was \(grant.order.availability(at: now).rawValue) at \(grant.order.endedAt?.description ?? "")"
            )
        }
    }

    var json: JSON {
        [
            "verdict": .string(verdict.rawValue), "license": license.json, "account": .string(license.subject),
            "plays": .integer(license.plays),
            "findings": .array(
                findings.map {
                    ["rule": .string($0.rule), "effect": .string($0.effect.rawValue), "reason": .string($0.reason)]
                }
            ),
            "denials": .array(denials.map(\.json)),
        ]
    }
}
