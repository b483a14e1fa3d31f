// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelKeyStore
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelRights
package import CarrelTokens
import CarrelWebAPI

/// The grant of a token in any of its forms: a sealed token, or a license message.
package struct Grant: Sendable {
    package var rules: BusinessRules
    /// The id that its redemptions are counted by.
    package let redemption: String
    /// The message that it comes from; nil for a sealed token.
    let message: LicenseMessage.Entitlement?
    /// Whether a player may redeem it again when its license is over.
    let isReusable: Bool
    /// The stored keys that it may name.
    let reach: ContentKeyStore.Reach

    /// The grant of a sealed token.
    ///
    /// A title's stream token has the id of its license token: both belong to one grant, whose players are counted together.
    init(_ rules: BusinessRules) {
        self.rules = rules
        redemption = rules.title != nil && rules.kind == .ms3 ? rules.idText + Self.streamSuffix : rules.idText
        message = nil
        isReusable = false
        reach = .issuer(rules.issuer)
    }

    /// The suffix of the name of a grant's stream if the grant also has a persistent license.
    static let streamSuffix = "/stream"

    /// The names of its redemptions for the store and for now.
    var forms: [String] {
        let store = redemption.hasSuffix(Self.streamSuffix) ? String(redemption.dropLast(Self.streamSuffix.count)) : redemption
        return [store, store + Self.streamSuffix]
    }

    /// The time at which messages end that do not say so.
    private static let never = Instant(milliseconds: 253_402_300_799_000)

    /// The grant of a license message.
    ///
    /// - Parameters:
    ///   - message: the verified message.
    ///   - text: the message as received.
    ///   - signer: the system whose key signed it: only a message of this service may name a title and an account.
    ///   - address: the client's address; nil if unknown.
    ///   - now: the time.
    /// - Throws: ``RuleError`` for restrictions that are not met or cannot be enforced.
    init(_ message: LicenseMessage, text: String, signer: CommunicationKeys.Signer, from address: IPAddress?, at now: Instant)
        throws(RuleError)
    {
        let entitlement = message.entitlement
        if let unknown = entitlement.access.unknown.first ?? entitlement.unknown.first {
            throw Self.restricted("this service cannot enforce the restriction \(unknown.prefix(64)) of the license message")
        }
        guard entitlement.allowsPlayback else { throw Self.restricted("the license message forbids to play") }
        if !entitlement.access.addresses.isEmpty {
            guard let address, entitlement.access.allows(address) else {
                throw RuleError(.forbidden, "license.address", "the license message is for clients at other addresses")
            }
        }
        let title = signer == .service ? try Self.title(entitlement.session) : nil
        var rules = BusinessRules(kind: .license, expiresAt: message.expiresAt ?? Self.never)
        if let title, let id = message.id.flatMap({ Hex.decode($0) }), id.count == BusinessRules.idByteCount {
            (rules.id, redemption) = (id, Hex.encode(id))
            (rules.title, rules.account, rules.redemptions) = (title.id, title.account, title.redemptions)
            rules.issuer = title.issuer
            rules.deviceThumbprint = title.device
            rules.conditions = title.conditions
            isReusable = false
        } else {
            guard title == nil else { throw Self.restricted("the license message of a title has no id of a token") }
            isReusable = !entitlement.access.preventsReuse
            // a portal may sign several grants under one id: the id only identifies a message for a single license
            let bytes = Array(((isReusable ? nil : message.id) ?? text).utf8)
            redemption = message.communicationKeyID.hex + ":" + Hex.encode(SHA256.hash(bytes.rawSpan))
            rules.contents = try Self.contents(entitlement)
            rules.redemptions = isReusable ? 1_000_000 : 1
        }
        rules.isStorable = entitlement.isStorable
        if let end = entitlement.expiresAt, let duration = entitlement.narrowestPlayDuration {
            rules.rights = .rental(periodEnd: end, playDuration: duration)
        } else {
            rules.rights = .buyToOwn
        }
        switch signer {
        case .service: reach = .issuer(rules.issuer)
        case .portal(let owner):
            rules.issuer = owner
            reach = owner.map { .portal($0) } ?? .unowned
        }
        self.rules = rules
        self.message = entitlement
    }

    private static func restricted(_ detail: String) -> RuleError { RuleError(.forbidden, "license.restricted", detail) }

    /// The keys that a message lists.
    private static func contents(_ entitlement: LicenseMessage.Entitlement) throws(RuleError) -> [BusinessRules.Content] {
        switch entitlement.keys {
        case .inline(let keys), .stored(let keys):
            return keys.map { BusinessRules.Content(contentID: $0.id.contentID, keyID: $0.id, key: $0.key) }
        case .licenseRequest:
            throw RuleError(
                .forbidden,
                "license.key",
                "the license message lists no keys, and this service does not derive keys from seeds",
                facts: [("number", .number(-4019))]
            )
        }
    }

    // MARK: The title of a message of our own

    /// The title that a message of this service names in its session.
    struct Title: Equatable {
        let id: String
        /// The account's id; nil for the player's.
        let account: String?
        let redemptions: Int
        /// The back-office key that requested it.
        let issuer: String?
        /// The thumbprint of the one device key that may redeem it; nil for any.
        let device: String?
        let conditions: LicenseConditions

        /// The session that names it.
        var session: JSON {
            var object: JSONObject = ["title": .string(id), "redemptions": .integer(redemptions)]
            object["account"] = account.map { .string($0) }
            object["issuer"] = issuer.map { .string($0) }
            object["cnf"] = device.map { .string($0) }
            if !conditions.isEmpty { object["terms"] = .object(conditions.json) }
            return ["carrel": .object(object)]
        }
    }

    private static func title(_ session: JSON?) throws(RuleError) -> Title? {
        guard let carrel = session?["carrel"] else { return nil }
        guard let id = carrel["title"]?.string, let redemptions = carrel["redemptions"]?.int, 1...1_000_000 ~= redemptions else {
            throw restricted("the license message names no title")
        }
        let conditions: LicenseConditions
        do throws(RightsError) {
            conditions =
                try carrel["terms"].map { (json) throws(RightsError) in try LicenseConditions(json) } ?? LicenseConditions()
        } catch {
            throw restricted(error.message)
        }
        return Title(
            id: id,
            account: carrel["account"]?.string,
            redemptions: redemptions,
            issuer: carrel["issuer"]?.string,
            device: carrel["cnf"]?.string,
            conditions: conditions
        )
    }
}

// MARK: - Policies

extension Grant {
    /// The keys that a player may have, and its obligations.
    ///
    /// Keys whose policies the player cannot meet are omitted. Policies are written for other systems; a player meets the rules
    /// of all of them.
    ///
    /// - Parameter capabilities: the capabilities of the player's outputs, by name.
    /// - Returns: the keys, and obligations.
    /// - Throws: `license.restricted` where no key is left.
    func contents(for capabilities: [String]) throws(RuleError) -> (contents: [BusinessRules.Content], obligations: [Obligation])
    {
        guard let message else { return (rules.contents, []) }
        let needed = message.obligations(for: capabilities)
        let kept = rules.contents.filter { needed[$0.keyID] != nil }
        guard !kept.isEmpty else {
            throw Self.restricted("the player meets no usage policy of the license message: it has no key for it")
        }
        let kinds = kept.reduce(into: Set<Obligation.Kind>()) { $0.formUnion(needed[$1.keyID] ?? []) }
        let obligations = Obligation.Kind.allCases.filter(kinds.contains).map { Obligation($0, isCritical: true) }
        return (kept, obligations)
    }

    /// The names of the usage policies that keys of a message have.
    var policies: [KeyID: String] {
        switch message?.keys {
        case .inline(let keys), .stored(let keys):
            keys.reduce(into: [:]) { policies, key in policies[key.id] = key.policy }
        case .licenseRequest, nil: [:]
        }
    }
}
