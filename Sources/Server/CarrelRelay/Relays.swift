// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelRights
import CarrelStore
import CarrelTokens
import CarrelWebAPI

/// The relays of a home, and the messages that open them.
struct Relays: Sendable {
    let inOrder: [Relay]
    let clock: any WallClock
    let database: any Database
    let audit: Audit

    /// - Throws: ``ServerError`` `request.not-found` without such a relay.
    func named(_ name: String) throws(ServerError) -> Relay {
        guard let relay = inOrder.first(where: { $0.settings.name == name }) else {
            let place = "its file is relay/NAME.conf in the home, which a server reads at its start"
            throw ServerError(.notFound, "there is no such relay: \(place)")
        }
        return relay
    }

    /// Forwards a request if its message is valid, and records it.
    ///
    /// - Parameters:
    ///   - body: the body of the request.
    ///   - headers: the fields of the request.
    ///   - relay: the license server.
    ///   - address: the client's address; nil if unknown.
    ///   - requestID: the request's id for the audit log.
    /// - Returns: the response of the license server.
    /// - Throws: ``RelayError``; the database's error when the log cannot be written.
    func forward(
        _ body: [UInt8],
        _ headers: HTTPFields,
        to relay: Relay,
        from address: IPAddress?,
        requestID: String
    ) async throws -> RelayAnswer {
        let (now, name) = (clock.now, relay.settings.name)
        let actor = AuditActor.unauthenticated(requestID)
        let verified: (message: LicenseMessage, text: String)
        do {
            verified = try relay.verify(headers.values("X-AxDRM-Message"), from: address, at: now)
        } catch {
            try await audit.fold.recordRefused("relay.deny", of: name, by: actor, at: now, reason: error.code.identifier)
            throw error
        }
        // a log that cannot be written forwards nothing
        let bytes = Array(verified.text.utf8)
        let id = String((verified.message.id ?? Hex.encode(SHA256.hash(bytes.rawSpan).prefix(16))).prefix(128))
        // repeats fold by message: no other message's entries are combined with them
        let account = "relay \(name) \(id)"
        try await audit.fold.record("relay.request", of: account, on: name, by: actor, at: now, reason: "\(id) \(body.count) B")
        let result: Result<RelayAnswer, RelayError>
        do throws(RelayError) {
            result = .success(try await relay.forward(body, verified.text, headers))
        } catch {
            result = .failure(error)
        }
        let outcome: AuditEntry.Outcome
        let reason: String
        switch result {
        case .success(let answer):
            outcome = .allowed
            reason = "\(id) status \(answer.status.rawValue) \(body.count) B \(answer.body.count) B"
        case .failure(let error):
            outcome = .failed
            reason = "\(id) \(error.code.identifier) \(body.count) B"
        }
        let end = clock.now
        try await audit.fold.record("relay.answer", of: account, on: name, by: actor, at: end, outcome: outcome, reason: reason)
        return try result.get()
    }

    /// A message that was made.
    struct Made: Sendable {
        let text: String
        let id: String
        let expiresAt: Instant
    }

    /// Makes a message under a relay's key.
    ///
    /// - Parameters:
    ///   - entitlement: the entitlement message, as its license server specifies it.
    ///   - id: the message's id; nil for a random one.
    ///   - start: the start of validity; nil for immediately.
    ///   - end: the end of validity.
    ///   - relay: the relay.
    ///   - actor: the actor for the audit log.
    /// - Returns: the value of `X-AxDRM-Message`.
    /// - Throws: ``ServerError`` `request.invalid` for an entitlement that no relay accepts.
    func make(
        _ entitlement: JSONObject,
        id: String?,
        from start: Instant?,
        until end: Instant,
        for relay: Relay,
        by actor: AuditActor
    ) async throws -> Made {
        let (now, key) = (clock.now, relay.settings.key)
        let id = id ?? Random.uuid(at: now)
        let text: String
        do throws(RightsError) {
            text = try LicenseMessage.sign(entitlement, id: id, from: start, until: end, under: key)
            // whatever is wrong with it is found now, and not by players
            _ = try LicenseMessage.read(text, keys: [key], at: max(now, start ?? now))
        } catch {
            throw ServerError(.invalid, error.message)
        }
        let entry = actor.entry("relay.message", on: relay.settings.name, at: now, reason: id)
        try await database.write { try AuditStore.append(entry, in: $0) }
        return Made(text: text, id: id, expiresAt: end)
    }
}
