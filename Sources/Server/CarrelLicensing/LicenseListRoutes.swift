// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelOrders
import CarrelStore
import CarrelWebAPI

/// A reader's licenses; for staff an account's streams, a player's redemptions and its denials, and the reasons for a license's
/// state.
struct LicenseListRoutes: Sendable {
    let licenses: Licenses
    let database: any Database
    let audit: Audit
    let leases: Leases
    let orders: Orders
    let callers: RequestAuthenticator
    let clock: any WallClock

    private static let redemptionLimit = 100

    func add(to router: inout Router) {
        router.on(.get, "v1/licenses") { request, _ in
            let account = try await callers.owner(request).account.id
            let page = try ListPage(request.query)
            let found = try await database.read {
                try LicenseLists.licenses(ofSubject: account, after: page.after, limit: page.limit, in: $0)
            }
            return .json(.object(page.json("licenses", found, \.json) { ($0.issuedAt, $0.id) })).unstored
        }
        router.on(.delete, "v1/licenses/{license}") { request, parameters in
            let account = try await callers.owner(request).account.id
            let actor = AuditActor(account, requestID: request.id)
            _ = try await licenses.revoke(parameters["license"], of: account, by: actor)
            return .empty(.noContent)
        }
        router.on(.get, "admin/v1/players/{player}/redemptions") { request, parameters in
            try await callers.require(request, .manageLicenses)
            let player = parameters["player"]
            let found = try await database.read { transaction in
                let found = try LicenseLists.redemptions(of: player, limit: Self.redemptionLimit, in: transaction)
                if found.isEmpty { try Players.require(player, in: transaction) }
                return found
            }
            return .json(["redemptions": .array(found.map(\.json))]).unstored
        }
        router.on(.get, "admin/v1/players/{player}/denials") { request, parameters in
            try await callers.require(request, .manageLicenses)
            var filter = AuditFilter()
            let player = parameters["player"]
            (filter.about, filter.action, filter.limit) = (player, "license.deny", LicenseDenial.limit)
            let entries = try await audit.list(filter)
            if entries.isEmpty { _ = try await database.read { try Players.require(player, in: $0) } }
            return .json(["denials": .array(entries.map { LicenseDenial(entry: $0).json })]).unstored
        }
        router.on(.get, "admin/v1/licenses/{license}/explanation") { request, parameters in
            try await callers.require(request, .manageLicenses)
            let (id, now) = (parameters["license"], clock.now)
            var explanation = try await database.read { [orders] in try LicenseExplanation(id, orders, at: now, in: $0) }
            // entries of the license's player since it has the license
            var filter = AuditFilter()
            (filter.about, filter.action, filter.limit) = (explanation.license.player, "license.deny", 5)
            filter.since = explanation.license.issuedAt
            explanation.denials = try await audit.list(filter).map { LicenseDenial(entry: $0) }
            return .json(explanation.json).unstored
        }
        router.on(.get, "admin/v1/accounts/{account}/streams") { request, parameters in
            try await callers.require(request, .readAccounts)
            let (account, now) = (parameters["account"], clock.now)
            let (held, limit, wait) = try await leases.usage(of: account, at: now)
            // with order URLs, titles count towards the streams of their orders; they are still the account's streams
            let streams = try await database.read {
                try LicenseStore.streams(of: account, countsOrders: false, at: now, limit: 2000, in: $0).count
            }
            return .json([
                "held": .integer(max(held, streams)), "limit": .integer(limit), "retryAfter": wait.map { .integer($0) } ?? .null,
            ]).unstored
        }
    }
}
