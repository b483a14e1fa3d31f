// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelRights
import CarrelStore
import CarrelTokens
import CarrelWebAPI

/// Tokens of registration and deregistration: a portal joins players to its users, and takes them away.
extension Licenses {
    /// The state of a player after a registration or a deregistration.
    struct Registration: Sendable {
        let player: Player
        /// The portal's user.
        let user: String
        /// The signed time with the nonce of the request.
        let time: String

        var json: JSON {
            [
                "player": .string(player.id), "user": .string(user), "account": player.account.map { .string($0) } ?? .null,
                "device": player.device.map { .string($0) } ?? .null,
                "linkExpiresAt": player.linkExpiresAt.map { .string($0.description) } ?? .null, "time": .string(time),
            ]
        }
    }

    /// Redeems a token of registration or deregistration.
    ///
    /// A portal's user is the account of that name, which is created if it does not exist, like for an order.
    ///
    /// - Parameters:
    ///   - text: the request as received: a ``KeyRequest`` for `register` or `deregister`.
    ///   - requestID: the request's id for the audit log.
    /// - Returns: the player's link.
    /// - Throws: ``RuleError`` with a code `license.…`, `registration.…` or `personalization.…`.
    func register(_ text: String, requestID: String) async throws -> Registration {
        let (asked, keys) = try await verified(text)
        let (request, now) = (asked.request, asked.now)
        let actor = AuditActor(asked.player.account ?? asked.player.id, requestID: requestID)
        return try await recordingDenial("license.deny", of: asked.player.id, by: actor, at: now) {
            let kind: BusinessRules.Kind
            switch request.session {
            case .register: kind = .registration
            case .deregister: kind = .deregistration
            default: throw RuleError(.invalid, "license.request", "licenses are asked for at /v1/license")
            }
            let nonce = try admitted(request).nonce
            guard let token = request.token else {
                throw RuleError(.forbidden, "license.token", "a registration needs a token")
            }
            let rules = try await Self.refusing { try await tokens.registration(of: token, as: kind, at: now) }
            guard let user = rules.user?.id else { throw RuleError(.forbidden, "license.token", "the token names no user") }
            let fresh = Account(id: Random.uuid(), name: try Account.checkedName(user))
            let player = try await database.write { transaction in
                let player = try active(asked.player.id, using: nonce, in: transaction)
                return kind == .registration
                    ? try registered(player, rules, fresh, by: actor, at: now, in: transaction)
                    : try deregistered(player, rules, user, by: actor, at: now, in: transaction)
            }
            return Registration(
                player: player,
                user: user,
                time: TrustedTime(instant: now, nonce: request.nonce).signed(by: keys.time)
            )
        }
    }

    private func registered(
        _ player: Player,
        _ rules: BusinessRules,
        _ user: Account,
        by actor: AuditActor,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> Player {
        let account = try Accounts.findOrCreate(user, at: now, in: transaction)
        if try LicenseStore.redemption(of: rules.idText, by: player.id, in: transaction) != nil {
            // a repeat finds its link; one that was removed since then needs another token
            guard player.account == account.id else { throw RuleError.licenseTokenUsed }
            return player
        }
        try redeem(rules, by: player, at: now, in: transaction)
        let linked = try means.personalizations.link(player, to: account.id, at: now, in: transaction)
        try AuditStore.append(actor.entry("player.register", on: player.id, at: now, reason: account.id), in: transaction)
        return linked
    }

    private func deregistered(
        _ player: Player,
        _ rules: BusinessRules,
        _ user: String,
        by actor: AuditActor,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> Player {
        if try LicenseStore.redemption(of: rules.idText, by: player.id, in: transaction) != nil {
            guard player.account == nil else { throw RuleError.licenseTokenUsed }
            return player
        }
        guard let linked = player.account else { return player }
        guard try Accounts.find(named: user, in: transaction)?.id == linked else {
            throw RuleError(.conflict, "registration.user", "the player belongs to another user")
        }
        try redeem(rules, by: player, at: now, in: transaction)
        try LicenseStore.endAll(of: player.id, for: linked, at: now, in: transaction)
        let free = try means.personalizations.unlink(player, at: now, in: transaction)
        try AuditStore.append(actor.entry("player.deregister", on: player.id, at: now, reason: linked), in: transaction)
        return free
    }

    /// Counts the redemption of a token that no license comes of.
    private func redeem(_ rules: BusinessRules, by player: Player, at now: Instant, in transaction: any Transaction) throws {
        let (token, limit) = (rules.idText, rules.redemptions)
        guard try !LicenseStore.isUsedUp(token, limit: limit, byOthersThan: player.id, in: transaction) else {
            throw RuleError.licenseTokenUsed
        }
        try LicenseStore.insert(
            LicenseStore.Redemption(
                token: rules.idText,
                player: player.id,
                license: "",
                at: now,
                contentID: "",
                cookie: rules.cookie,
                issuer: rules.issuer
            ),
            until: rules.expiresAt,
            in: transaction
        )
    }
}
