// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCatalog
import CarrelKeyStore
import CarrelCrypto
import CarrelHome
import CarrelJSON
import CarrelRights
import CarrelStore
import CarrelTokens
import CarrelWebAPI

/// Makes tokens for titles of the catalog, each in all forms.
struct TitleTokens: Sendable {
    let database: any Database
    let clock: any WallClock
    let tokens: Tokens
    let editions: Editions
    let keys: ContentKeys

    /// The grant that staff ask for.
    struct Request: Sendable {
        let title: String
        /// The name of the account that receives the title; nil for the player's.
        let account: String?
        /// To own, or a rental.
        let rights: BusinessRules.Rights
        let redemptions: Int
        /// The one player that may redeem it; nil for any.
        let device: Device?
        let conditions: LicenseConditions
        let expiresAt: Instant

        /// A player, by its id here or by its key.
        enum Device: Sendable {
            case player(String)
            /// The thumbprint of its signing key (RFC 7638 with SHA-256, base 64 for URLs).
            case thumbprint(String)
        }
    }

    /// One grant in three forms with one id and one order.
    struct Made: Sendable {
        /// 32 hexadecimal digits.
        let id: String
        /// For a stream; nil if the license has conditions for which a device must store it.
        let stream: SealedToken?
        /// For a license in the store of a device.
        let license: SealedToken
        /// The grant as a license message under the service's own communication key.
        let message: String
        /// The path of the title's protected file; nil if it has none.
        let file: String?
    }

    /// Creates a token. A missing account is created.
    ///
    /// - Parameters:
    ///   - request: the grant.
    ///   - actor: the actor for the audit log.
    ///   - issuer: the requesting back-office key; nil for staff.
    /// - Returns: the three forms.
    /// - Throws: ``RuleError`` `license.title` for a title that is not there or has no key, `license.condition` for an audiobook's condition
    ///   that its order does not have; ``ServerError`` `request.invalid`.
    func make(_ request: Request, by actor: AuditActor, issuer: String?) async throws -> Made {
        let now = clock.now
        let fresh = try request.account.map { Account(id: Random.uuid(), name: try Account.checkedName($0)) }
        var rules = BusinessRules(kind: .license, expiresAt: request.expiresAt)
        (rules.title, rules.redemptions) = (request.title, request.redemptions)
        (rules.rights, rules.isStorable) = (request.rights, true)
        (rules.issuer, rules.conditions) = (issuer, request.conditions)
        let entry = actor.entry("token.issue", on: rules.idText, at: now, reason: request.title)
        let file: String?
        (rules.account, rules.deviceThumbprint, file) = try await database.write { transaction -> (String?, String?, String?) in
            let device = try thumbprint(of: request.device, in: transaction)
            try Self.requireConditions(request, in: transaction)
            let file = try requireKey(request.title, by: actor, at: now, in: transaction)
            let account = try fresh.map { try Accounts.findOrCreate($0, at: now, in: transaction) }
            guard account?.isSuspended != true else { throw RuleError.licenseSuspended }
            try AuditStore.append(entry, in: transaction)
            return (account?.id, device, file)
        }
        var stream = BusinessRules(kind: .ms3, id: rules.id, expiresAt: request.expiresAt)
        (stream.title, stream.account, stream.redemptions) = (rules.title, rules.account, rules.redemptions)
        (stream.rights, stream.issuer, stream.deviceThumbprint) = (.session, issuer, rules.deviceThumbprint)
        if case .rental = request.rights { stream.rights = request.rights }
        stream.conditions = request.conditions
        return Made(
            id: rules.idText,
            stream: request.conditions.needsStore ? nil : try await tokens.seal(stream, at: now),
            license: try await tokens.seal(rules, at: now),
            message: try await message(rules, request, at: now),
            file: file
        )
    }

    private func thumbprint(of device: Request.Device?, in transaction: any Transaction) throws -> String? {
        switch device {
        case nil: nil
        case .player(let id): try Players.require(id, in: transaction).signingKey
        case .thumbprint(let text): text
        }
    }

    /// Refuses the conditions of an audiobook that hold in a license alone. Its order is also on the shelf and streams from there, without
    /// them.
    ///
    /// - Throws: ``RuleError`` `license.condition`, `license.title`.
    private static func requireConditions(_ request: Request, in transaction: any Transaction) throws {
        guard let condition = request.conditions.namesBeyondOrders.first,
            try TitleContent.kind(of: request.title, in: transaction) == .audiobook
        else { return }
        throw RuleError(
            .invalid,
            "license.condition",
            "the condition \(condition) is not for an audiobook, which also plays on the shelf, without it: "
                + "a rental has an end and a time of play, and metering reports plays"
        )
    }

    /// Makes sure that a title can be licensed. The key of an edition with a protected file is made if it is missing.
    ///
    /// - Returns: the path of the protected file; nil if the title has none.
    /// - Throws: ``RuleError`` `license.title`.
    private func requireKey(_ title: String, by actor: AuditActor, at now: Instant, in transaction: any Transaction) throws
        -> String?
    {
        guard try TitleContent.kind(of: title, in: transaction) != .audiobook else { return nil }
        let edition = try editions.requireKey(ofTitle: title, by: actor, at: now, in: transaction)
        guard try !keys.titleKeys(title, upTo: edition?.protection.keyNumber ?? 0, in: transaction).isEmpty else {
            throw RuleError(
                .notFound,
                "license.title",
                "the title is not an audiobook, and the key store has no key for it: publish its protected file with "
                    + "'carrel edition set --licensed also', or add a key as \(TitleContent.keyID(ofTitle: title).hex)"
            )
        }
        return edition.flatMap { edition in edition.licensedFile.map { edition.path + $0.address } }
    }

    /// The grant as a license message.
    private func message(_ rules: BusinessRules, _ request: Request, at now: Instant) async throws -> String {
        let key = try await tokens.communicationKeys.signing(at: now)
        var entitlement = LicenseMessage.Entitlement(keys: .licenseRequest(seedID: nil, policy: nil))
        entitlement.allowsPersistence = true
        if case .rental(let end, let duration) = request.rights {
            entitlement.expiresAt = end
            var system = LicenseMessage.SystemLicense()
            system.playbackDuration = duration
            entitlement.systems = [.fairplay: system, .widevine: system]
        }
        entitlement.access.preventsReuse = request.redemptions == 1
        let title = Grant.Title(
            id: request.title,
            account: rules.account,
            redemptions: request.redemptions,
            issuer: rules.issuer,
            device: rules.deviceThumbprint,
            conditions: rules.conditions
        )
        entitlement.session = title.session
        return try LicenseMessage(
            communicationKeyID: key.id,
            id: rules.idText,
            expiresAt: rules.expiresAt,
            entitlement: entitlement
        ).write(under: key)
    }
}

extension LicenseConditions {
    /// The names of the conditions that hold in a license, and that no order has: all but the report of plays.
    fileprivate var namesBeyondOrders: [String] {
        let conditions = [
            ("notBefore", startsAt != nil), ("storage", storageSeconds != nil), ("plays", playCount != nil),
            ("maxPixels", maxPixels != nil), ("attended", attendedSeconds != nil), ("copy", copyCharacters != nil),
            ("print", printPages != nil), ("noExport", forbidsExport), ("watermark", watermark != nil),
        ]
        return conditions.filter(\.1).map(\.0)
    }
}
