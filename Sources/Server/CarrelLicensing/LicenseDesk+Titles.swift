// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCatalog
import CarrelKeyStore
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelOrders
import CarrelRights
import CarrelTokens
import CarrelWebAPI

/// The content of a license: listed in the token, or a title of the catalog.
extension LicenseDesk {
    /// The content that a token is redeemed for.
    struct Content {
        let id: String
        /// The id of the granted content, for records and the audit log.
        let ownID: String
        let keys: [(id: KeyID, key: Secret)]
        /// The names of the keys' usage policies.
        var policies: [KeyID: String] = [:]
        var obligations: [Obligation] = []
        /// Whose slots its streams take.
        let subject: String
        /// The order of a title, and its end.
        var order: String?
        var end: Instant?
    }

    /// The content of a token with its keys. A title's order is placed.
    func content(of grant: Grant) throws -> Content {
        if let title = grant.rules.title, grant.rules.contents.isEmpty { return try content(ofTitle: title, grant) }
        let (contents, obligations) = try grant.contents(for: request.capabilities)
        return Content(
            id: request.contentID.isEmpty ? contents[0].contentID : request.contentID,
            ownID: contents.contains { $0.contentID == request.contentID } ? request.contentID : contents[0].contentID,
            keys: try contents.map { ($0.keyID, try key(of: $0, in: grant.reach)) },
            policies: grant.policies,
            obligations: obligations,
            subject: player.account ?? "player:\(player.id)"
        )
    }

    private func content(ofTitle title: String, _ grant: Grant) throws -> Content {
        let id = TitleContent.id(ofTitle: title)
        guard try TitleContent.kind(of: title, in: transaction) == .audiobook else {
            // an edition has no order: the keys of all its contents are in the key store
            let edition = try means.editions.requireKey(ofTitle: title, by: actor, at: now, in: transaction)
            let keys = try means.keys.titleKeys(title, upTo: edition?.protection.keyNumber ?? 0, in: transaction)
            guard !keys.isEmpty else {
                // the error says which key is missing, and why
                let content = BusinessRules.Content(contentID: id, keyID: TitleContent.keyID(ofTitle: title))
                throw try missingKey(content)
            }
            return Content(
                id: id,
                ownID: id,
                keys: try keys.map { ($0.id, try means.master.unwrap($0.key)) },
                subject: player.account ?? "player:\(player.id)"
            )
        }
        let account = try account()
        let placed = try order(ofTitle: title, for: account, grant)
        try Self.require(placed, at: now)
        return Content(
            id: id,
            ownID: id,
            keys: [(TitleContent.keyID(ofOrder: placed.order.id), placed.key)],
            subject: placed.order.accountID,
            order: placed.order.id,
            end: placed.order.endsAt
        )
    }

    /// The order of a grant: the player's existing order from another form of the grant, or a new order.
    private func order(ofTitle title: String, for account: Account, _ grant: Grant) throws -> Orders.Grant {
        for form in grant.forms {
            guard let known = try LicenseStore.redemption(of: form, by: player.id, in: transaction),
                let id = try LicenseStore.order(of: known.license, in: transaction),
                let order = try means.orders.grant(id, in: transaction)
            else { continue }
            if request.session == .stream { try means.orders.activate(id, at: now, in: transaction) }
            return request.session == .stream ? try means.orders.grant(id, in: transaction) ?? order : order
        }
        var (end, playSeconds): (Instant?, Int?) = (nil, nil)
        if case .rental(let periodEnd, let duration)? = grant.rules.rights { (end, playSeconds) = (periodEnd, duration) }
        // A token for several players may be redeemed by several accounts: the first has the order of its id.
        var numbers = [grant.rules.idText]
        if grant.rules.redemptions > 1 { numbers.append("\(grant.rules.idText):\(account.id)") }
        for number in numbers {
            let placed = try means.orders.placed(
                title: title,
                for: account,
                number: number,
                until: end,
                playSeconds: playSeconds,
                // the time of play of a license in a store runs from its first play, of which the server hears later
                isUsed: playSeconds == nil || request.session == .stream,
                by: actor,
                at: now,
                in: transaction
            )
            if let placed { return placed }
        }
        if grant.rules.redemptions == 1 { throw RuleError.licenseTokenUsed }
        throw RuleError(.conflict, "license.title", "the order of this token is for another title")
    }

    /// The account that gets a title: the player's linked account, or the player's own account without a password.
    private func account() throws -> Account {
        guard let id = player.account else {
            let own = Account(id: Random.uuid(), name: Self.ownAccount(of: player.id))
            return try Accounts.findOrCreate(own, at: now, in: transaction)
        }
        guard let account = try Accounts.find(id: id, in: transaction) else { throw RuleError.licenseAccount }
        return account
    }

    // MARK: Accounts

    /// The name of a player's own account before it is linked.
    static func ownAccount(of player: String) -> String { "player-\(player)" }

    /// The player as the owner of a grant has it: linked to the account that the token is for. A token for no account changes nothing.
    ///
    /// - Throws: `license.account`, `license.suspended`; `personalization.linked` for a player of another account,
    ///   `personalization.device-limit` without a free slot.
    func owned(_ grant: Grant) throws -> Player {
        guard let owner = try owner(of: grant) else { return player }
        guard !owner.isSuspended else { throw RuleError.licenseSuspended }
        let isLinked = player.account == owner.id && player.linkExpiresAt.map { now < $0 } ?? false
        guard !isLinked else { return player }
        let linked = try means.personalizations.link(player, to: owner.id, at: now, in: transaction)
        try AuditStore.append(actor.entry("player.link", on: player.id, at: now, reason: owner.id), in: transaction)
        return linked
    }

    /// The account of a token, or of the portal's user whose name it has.
    private func owner(of grant: Grant) throws -> Account? {
        if let id = grant.rules.account {
            guard let account = try Accounts.find(id: id, in: transaction) else { throw RuleError.licenseAccount }
            return account
        }
        guard let user = grant.rules.user?.id else { return nil }
        let account = Account(id: Random.uuid(), name: try Account.checkedName(user))
        return try Accounts.findOrCreate(account, at: now, in: transaction)
    }

    /// Refuses a license of a suspended account. A player that is linked to the account is suspended itself.
    func requireAccount(of license: LicenseStore.Issued) throws {
        guard license.subject != player.account, !license.subject.hasPrefix("player:") else { return }
        if try Accounts.find(id: license.subject, in: transaction)?.isSuspended == true { throw RuleError.licenseSuspended }
    }

    /// Refuses a license whose order is not live.
    func requireOrder(of license: LicenseStore.Issued) throws {
        guard let order = try LicenseStore.order(of: license.id, in: transaction) else { return }
        guard let grant = try means.orders.grant(order, in: transaction) else { throw RuleError.licenseEnded }
        try Self.require(grant, at: now)
    }

    private static func require(_ grant: Orders.Grant, at now: Instant) throws {
        guard grant.order.availability(at: now) == .live else { throw RuleError.licenseEnded }
        guard !grant.isSuspended else { throw RuleError.licenseSuspended }
    }
}
