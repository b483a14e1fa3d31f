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
            throw ServerError(.notFound, "there is no such relay: its file is relay/NAME.conf in the home")
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
        let text = headers["X-AxDRM-Message"]
        let message: LicenseMessage
        do {
            message = try relay.verify(text, from: address, at: now)
        } catch {
            try await audit.fold.recordRefused("relay.deny", of: name, by: actor, at: now, reason: error.code.identifier)
            throw error
        }
        // a log that cannot be written forwards nothing
        let id = message.id ?? Hex.encode(SHA256.hash(Array((text ?? "").utf8).rawSpan).prefix(16))
        try await audit.group.record("relay.request", on: name, by: actor, at: now, reason: "\(id.prefix(128)) \(body.count) B")
        do {
            let answer = try await relay.forward(body, headers)
            let reason = "\(id.prefix(128)) status \(answer.status.rawValue) \(body.count) B \(answer.body.count) B"
            try await audit.group.record("relay.answer", on: name, by: actor, at: clock.now, reason: reason)
            return answer
        } catch let error as RelayError {
            let reason = "\(id.prefix(128)) \(error.code.identifier) \(body.count) B"
            try await audit.group.record("relay.answer", on: name, by: actor, at: clock.now, outcome: .failed, reason: reason)
            throw error
        }
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
