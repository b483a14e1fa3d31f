// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelKeyStore
import CarrelCrypto
import CarrelEME
import CarrelHTTP
import CarrelLicensing
import CarrelRights
import CarrelTokens
import CarrelWebAPI

/// The grant of a license message to a client that enforces nothing: the keys that it may have now.
struct ClearKeyGrant: Sendable {
    /// The keys without a usage policy, by id, each with the key that the message has for it; nil for a stored key.
    let keys: [KeyID: Secret?]
    /// The stored keys that the message may name.
    let reach: ContentKeyStore.Reach

    /// - Parameters:
    ///   - message: a verified message.
    ///   - signer: the system whose key signed it.
    ///   - session: the session that asks.
    ///   - address: the client's address; nil if unknown.
    ///   - now: the time.
    /// - Throws: ``RuleError`` `license.restricted` for a rule that a player would have to enforce, or that is unknown; `license.address`;
    ///   `license.ended`; `license.not-storable`; `license.key` for a message that lists no keys.
    init(
        _ message: LicenseMessage,
        signedBy signer: CommunicationKeys.Signer,
        for session: ClearKeyRequest.Session,
        from address: IPAddress?,
        at now: Instant
    ) throws(RuleError) {
        guard case .portal(let owner) = signer else {
            throw Self.restricted("ClearKey never serves the key of a title")
        }
        reach = owner.map { .portal($0) } ?? .unowned
        let entitlement = message.entitlement
        if let unknown = entitlement.access.unknown.first ?? entitlement.unknown.first {
            throw Self.restricted("this service cannot enforce the restriction \(unknown.prefix(64)) of the license message")
        }
        guard entitlement.access.addresses.isEmpty || address.map(entitlement.access.allows) == true else {
            throw RuleError(.forbidden, "license.address", "the license message is for clients at other addresses")
        }
        guard entitlement.startsAt.map({ $0 <= now }) ?? true, entitlement.expiresAt.map({ now < $0 }) ?? true else {
            throw RuleError(.forbidden, "license.ended", "the time of the license message has not begun, or is over")
        }
        if let rule = Self.ruleForPlayers(entitlement, session) {
            throw Self.restricted("\(rule) of the license message needs a player that enforces it, which ClearKey does not have")
        }
        guard session == .temporary || entitlement.isStorable else {
            throw RuleError(.forbidden, "license.not-storable", "the license message allows no stored license")
        }
        switch entitlement.keys {
        case .inline(let keys), .stored(let keys):
            self.keys = keys.reduce(into: [:]) { found, key in
                if key.policy == nil { found[key.id] = .some(key.key) }
            }
            guard !self.keys.isEmpty else {
                throw Self.restricted("the usage policies of the license message need a player that enforces them")
            }
        case .licenseRequest:
            throw RuleError(
                .forbidden,
                "license.key",
                "the license message lists no keys, and this service does not derive keys from seeds"
            )
        }
    }

    /// The first rule that only a player can enforce; nil if there is none.
    private static func ruleForPlayers(
        _ entitlement: LicenseMessage.Entitlement,
        _ session: ClearKeyRequest.Session
    ) -> String? {
        let access = entitlement.access
        if access.preventsReuse { return "prevent_drm_message_reuse" }
        if access.concurrencyLimit != nil, access.concurrencyMode != .none { return "concurrency_limit" }
        if !entitlement.allowsPlayback { return "allow_playback" }
        if entitlement.narrowestPlayDuration != nil { return "the term of play" }
        if entitlement.narrowestDuration != nil { return "the duration" }
        if entitlement.systems.values.contains(where: { $0.realTimeExpiration == true }) { return "real_time_expiration" }
        // a stored license of ClearKey has no end
        if session == .persistent, entitlement.expiresAt != nil { return "the end" }
        return nil
    }

    private static func restricted(_ detail: String) -> RuleError { RuleError(.forbidden, "license.restricted", detail) }
}
