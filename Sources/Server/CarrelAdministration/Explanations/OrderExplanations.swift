// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelCatalog
import CarrelEntitlements
import CarrelOrders
import CarrelStore
import CarrelSubscription

/// Explanations of access to an audiobook: the findings of each order, and the current listeners.
struct OrderExplanations: Sendable {
    let database: any Database
    let clock: any WallClock
    let access: AccessMode
    let leases: Leases

    /// The name of the orders among the entitlement sources in an explanation.
    static let name = "orders"
    /// The maximum number of orders of one title that an explanation lists.
    static let limit = 100

    /// The audiobooks that an id or an ISBN names, the newest first, and the product of an id that is an edition's.
    func find(_ text: String) async throws -> (titles: [Title], product: String?) {
        try await database.read { transaction in
            if let title = try TitleStore.title(id: text, in: transaction) {
                let product = try EditionStore.edition(title: title.id, in: transaction)?.productID
                return (title.kind == .audiobook ? [title] : [], product)
            }
            return (try ISBN(text).map { try TitleStore.titles(isbn: $0, in: transaction) } ?? [], nil)
        }
    }

    /// The findings of an account's orders of some titles; nil without an account of that name.
    func explain(_ titles: [Title], to name: String) async throws -> SourceExplanation? {
        let now = clock.now
        let found = try await database.read { transaction -> (account: Account, orders: [Order], unnamed: Int)? in
            guard let account = try Accounts.find(named: name, in: transaction) else { return nil }
            var (orders, unnamed): ([Order], Int) = ([], 0)
            for title in titles {
                let (some, count) = try OrderStore.explaining(
                    title.id,
                    to: account.id,
                    at: now,
                    limit: Self.limit,
                    in: transaction
                )
                orders += some
                unnamed += count - some.count
            }
            return (account, orders, unnamed)
        }
        guard let (account, orders, unnamed) = found else { return nil }
        var explanation = SourceExplanation(verdict: .notEntitled, findings: orders.map { Self.finding(of: $0, at: now) })
        let live = orders.filter { $0.availability(at: now) == .live }
        if let first = live.first {
            explanation.verdict = account.isSuspended ? .suspended : .granted
            explanation.rule = account.isSuspended ? nil : Self.rule(of: first)
        } else if explanation.findings.contains(where: { $0.effect == .lapsed }) {
            explanation.verdict = .expired
        }
        if unnamed > 0 {
            let reason = "\(unnamed) more orders are omitted; they change nothing"
            explanation.findings.append(Entitlement.Finding(rule: "other orders", effect: .none, reason: reason))
        }
        if account.isSuspended {
            explanation.findings.append(Entitlement.Finding(rule: "account", effect: .none, reason: "the account is suspended"))
        }
        switch access {
        case .session where live.isEmpty: break
        case .session: explanation.findings.append(try await listeners("listeners", account.id, at: now))
        case .orderURL:
            for order in live {
                explanation.findings.append(try await listeners("listeners of \(Self.rule(of: order))", order.id, at: now))
            }
        }
        return explanation
    }

    /// An order's id opens it where orders are capabilities, so that it is called by the shop's number, or when it was placed.
    private static func rule(of order: Order) -> String {
        order.number.map { "\(order.kind.rawValue) \($0)" } ?? "\(order.kind.rawValue) placed at \(order.createdAt)"
    }

    private static func finding(of order: Order, at now: Instant) -> Entitlement.Finding {
        func says(_ effect: Entitlement.Finding.Effect, _ what: String, _ instant: Instant?) -> Entitlement.Finding {
            let reason = instant.map { "\(what) at \($0)" } ?? what
            return Entitlement.Finding(rule: rule(of: order), effect: effect, reason: reason, until: order.endsAt)
        }
        switch order.availability(at: now) {
        case .live:
            let key = order.activatedAt.map { "its key was first issued at \($0)" } ?? "its key has not been issued yet"
            return says(.grants, (order.endsAt.map { "it lasts until \($0)" } ?? "it has no end") + "; \(key)", nil)
        case .notStarted: return says(.notYet, "it starts", order.startsAt)
        case .expired: return says(.lapsed, "it ended", order.endsAt)
        case .returned: return says(.lapsed, "it was returned", order.endedAt)
        case .revoked: return says(.none, "it was revoked", order.endedAt)
        case .cancelled: return says(.none, "it was cancelled", order.endedAt)
        }
    }

    private func listeners(_ rule: String, _ subject: String, at now: Instant) async throws -> Entitlement.Finding {
        let (held, limit, wait) = try await leases.usage(of: subject, at: now)
        let (effect, reason): (Entitlement.Finding.Effect, String) =
            if let wait {
                (.none, "all \(limit) places are taken; if a listener stops now, its place is free in \(wait) seconds")
            } else if limit > 0 {
                (.grants, "\(held) of \(limit) places are taken")
            } else {
                (.grants, "\(held) listening now; no limit")
            }
        return Entitlement.Finding(rule: rule, effect: effect, reason: reason)
    }
}
