// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelAudit
import CarrelHTTP
import CarrelHTTPClient
import CarrelHome
import CarrelMetrics
import CarrelRights
import CarrelStore
import CarrelSubscription
import CarrelThreads
import CarrelThrottling
import CarrelTokens

/// A license server of another vendor: forwards the requests that a license message opens, byte for byte.
///
/// A circuit breaker suspends requests to a server that is down, and the number of concurrent requests is limited, for each network too.
final class Relay: Sendable {
    let settings: RelaySettings
    /// The certificate of its players; nil without ``RelaySettings/certificateURL``.
    let certificate: RelayCertificate?
    private let exchange: RelayExchange
    private let clock: any WallClock
    private let database: any Database
    private let meter: RelayMeter
    private let state: Locked<State>

    private struct State {
        var breaker: CircuitBreaker
        var slots: UpstreamSlots
        var answeredAt: Instant?
        var failed: (at: Instant, why: String)?
    }

    init(_ settings: RelaySettings, _ context: ServiceContext) {
        self.settings = settings
        let exchange = RelayExchange(settings)
        self.exchange = exchange
        clock = context.clock
        database = context.database
        // every request has a verified message, so that all of them share the slots; an eighth is for one network
        let slots = UpstreamSlots(settings.concurrency, unconfirmed: settings.concurrency)
        let state = Locked(State(breaker: CircuitBreaker(settings.breaker), slots: slots))
        self.state = state
        let meter = RelayMeter(context.metrics, relay: settings.name) { state.withLock { $0.breaker.state != .closed } }
        self.meter = meter
        certificate = settings.certificateURL.map { url in
            RelayCertificate(url, settings, exchange, clock: context.clock, meter: meter)
        }
    }

    // MARK: Messages

    /// Verifies the license message of a request.
    ///
    /// - Parameters:
    ///   - texts: the values of `X-AxDRM-Message`: one, so that the license server reads the message that was verified.
    ///   - address: the client's address; nil if unknown.
    ///   - now: the time.
    /// - Returns: the message, and its text. Its further rules are for the license server, which gets the text unchanged.
    /// - Throws: `relay.message`.
    func verify(
        _ texts: [String],
        from address: IPAddress?,
        at now: Instant
    ) throws(RelayError) -> (message: LicenseMessage, text: String) {
        do throws(RelayError) {
            guard let text = texts.first else {
                throw RelayError(.message, "the request has no license message in X-AxDRM-Message")
            }
            guard texts.count == 1 else {
                throw RelayError(.message, "the request has several fields X-AxDRM-Message: send one license message")
            }
            let message: LicenseMessage
            do throws(RightsError) {
                message = try LicenseMessage.read(text, keys: [settings.key], at: now)
            } catch {
                throw RelayError(.message, error.message)
            }
            let entitlement = message.entitlement
            guard entitlement.startsAt.map({ $0 <= now }) ?? true, entitlement.expiresAt.map({ now < $0 }) ?? true else {
                throw RelayError(.message, "the license of the message has not begun, or is over")
            }
            guard entitlement.access.addresses.isEmpty || address.map(entitlement.access.allows) == true else {
                throw RelayError(.message, "the license message is for clients at other addresses")
            }
            return (message, text)
        } catch {
            meter.count(.refused)
            throw error
        }
    }

    // MARK: Requests

    /// Forwards the request of a player.
    ///
    /// - Parameters:
    ///   - body: the body, sent unchanged.
    ///   - message: the verified license message.
    ///   - headers: the fields of the client's request; the other fields of Axinom's services, the body's type, and `relay.fields` are sent.
    /// - Returns: the response.
    /// - Throws: ``RelayError``.
    func forward(_ body: [UInt8], _ message: String, _ headers: HTTPFields) async throws(RelayError) -> RelayAnswer {
        let names = Set(settings.fields.map { $0.lowercased() }).union(["content-type", "content-encoding", "accept"])
        var passed: HTTPFields = ["X-AxDRM-Message": message]
        for field in headers {
            let name = field.name.lowercased()
            guard name != "x-axdrm-message" else { continue }
            if name.hasPrefix(RelayAnswer.prefix) || names.contains(name) { passed.append(field.name, field.value) }
        }
        return try await send(ClientRequest(.post, settings.url, headers: passed, body: .bytes(body)))
    }

    /// Sends a request, unless the breaker or the limit prevents it. It runs to its own time limit, even if its client has given up:
    /// clients with a shorter timeout would otherwise keep the breaker from noticing that the server is unreachable.
    private func send(_ request: ClientRequest) async throws(RelayError) -> RelayAnswer {
        let network = ClientNetwork.current
        let admission = state.withLock { state -> (CircuitBreaker.Admission, UpstreamSlots.Slot)? in
            guard let slot = state.slots.take(isConfirmed: false, from: network) else { return nil }
            guard let admission = state.breaker.admit(at: clock.now) else {
                state.slots.giveBack(slot)
                return nil
            }
            return (admission, slot)
        }
        guard let (admission, slot) = admission else {
            meter.count(.shed)
            throw RelayError(
                .unavailable,
                "requests to the license server are suspended for the moment: try again",
                retryAfter: 5
            )
        }
        let started = ContinuousClock.now
        let result = await Task { [exchange] in await exchange.send(request) }.value
        meter.observe(ContinuousClock.now - started)
        await end(admission, slot, result)
        return try result.get()
    }

    private func end(
        _ admission: CircuitBreaker.Admission,
        _ slot: UpstreamSlots.Slot,
        _ result: Result<RelayAnswer, RelayError>
    ) async {
        let outcome: CircuitBreaker.Outcome
        var why = ""
        switch result {
        // an error of the server still shows that it is reachable, unless it says that it cannot work
        case .success(let answer) where [502, 503, 504].contains(answer.status.rawValue):
            (outcome, why) = (.failed, "the license server responded with status \(answer.status.rawValue)")
        case .success: outcome = .answered
        case .failure(let error): (outcome, why) = (error.isOutage ? .failed : .inconclusive, error.message)
        }
        let now = clock.now
        let (before, after) = state.withLock { state in
            let before = state.breaker.state
            state.slots.giveBack(slot)
            state.breaker.end(admission, outcome, at: now)
            if outcome == .answered { state.answeredAt = now }
            if !why.isEmpty { state.failed = (now, why) }
            return (before, state.breaker.state)
        }
        if case .success = result { meter.count(.answered) } else { meter.count(.failed) }
        switch (before, after) {
        case (.closed, .open): await note("relay.unavailable", .failed)
        case (.probing, .closed): await note("relay.available", .allowed)
        default: break
        }
    }

    /// Records the state of the server in the audit log. A failure to record does not fail the request.
    private func note(_ action: String, _ outcome: AuditEntry.Outcome) async {
        let entry = AuditActor(AuditActor.server).entry(action, on: settings.name, at: clock.now, outcome: outcome)
        try? await database.write { try AuditStore.append(entry, in: $0) }
    }

    // MARK: State

    /// The state of the license server as this node sees it.
    struct Health: Sendable {
        let state: CircuitBreaker.State
        let inFlight: Int
        let answeredAt: Instant?
        let failedAt: Instant?
        let failure: String?
        /// Why the certificate could not be fetched the last time; nil if it could.
        let certificateFailure: String?
    }

    var health: Health {
        let certificateFailure = certificate?.failure
        return state.withLock { state in
            Health(
                state: state.breaker.state,
                inFlight: state.slots.inFlight,
                answeredAt: state.answeredAt,
                failedAt: state.failed?.at,
                failure: state.failed?.why,
                certificateFailure: certificateFailure
            )
        }
    }
}
