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
import CarrelTokens

/// A license server of another vendor: forwards the requests that a license message opens, byte for byte.
///
/// A circuit breaker suspends requests to a server that is down, and the number of concurrent requests is limited.
final class Relay: Sendable {
    let settings: RelaySettings
    private let exchange: RelayExchange
    private let clock: any WallClock
    private let database: any Database
    private let meter: RelayMeter
    private let state: Locked<State>

    private struct State {
        var breaker: CircuitBreaker
        var inFlight = 0
        var answeredAt: Instant?
        var failed: (at: Instant, why: String)?
        var certificate: Certificate?
        /// The request for a certificate that other requests wait for.
        var fetch: Task<Certificate, any Error>?
    }

    /// The certificate that players need before they can ask for a license.
    struct Certificate: Sendable {
        let answer: RelayAnswer
        let until: Instant
    }

    /// The lifetime of a certificate whose server does not say it.
    private static let usualLife = Duration.seconds(300)

    init(_ settings: RelaySettings, _ context: ServiceContext) {
        self.settings = settings
        exchange = RelayExchange(settings)
        clock = context.clock
        database = context.database
        let state = Locked(State(breaker: CircuitBreaker(settings.breaker)))
        self.state = state
        meter = RelayMeter(context.metrics, relay: settings.name) { state.withLock { $0.breaker.state != .closed } }
    }

    // MARK: Messages

    /// Verifies the license message of a request.
    ///
    /// - Parameters:
    ///   - text: the value of `X-AxDRM-Message`; nil without one.
    ///   - address: the client's address; nil if unknown.
    ///   - now: the time.
    /// - Returns: the message. Its further rules are for the license server, which gets it unchanged.
    /// - Throws: `relay.message`.
    func verify(_ text: String?, from address: IPAddress?, at now: Instant) throws(RelayError) -> LicenseMessage {
        do throws(RelayError) {
            guard let text else { throw RelayError(.message, "the request has no license message in X-AxDRM-Message") }
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
            return message
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
    ///   - headers: the fields of the client's request; the fields of Axinom's services, the body's type, and `relay.fields` are sent.
    /// - Returns: the response.
    /// - Throws: ``RelayError``.
    func forward(_ body: [UInt8], _ headers: HTTPFields) async throws(RelayError) -> RelayAnswer {
        let names = Set(settings.fields.map { $0.lowercased() }).union(["content-type", "content-encoding", "accept"])
        var passed: HTTPFields = [:]
        for field in headers {
            let name = field.name.lowercased()
            if name.hasPrefix(RelayAnswer.prefix) || names.contains(name) { passed.append(field.name, field.value) }
        }
        return try await send(ClientRequest(.post, settings.url, headers: passed, body: .bytes(body)))
    }

    /// The certificate of the license server, from the cache while its lifetime lasts. Concurrent requests share one fetch.
    ///
    /// - Parameter url: the address of the certificate.
    /// - Returns: the certificate, and until when it is fresh.
    /// - Throws: ``RelayError``.
    func certificate(_ url: String) async throws -> Certificate {
        let now = clock.now
        let fetch = state.withLock { state -> Task<Certificate, any Error>? in
            if let certificate = state.certificate, now < certificate.until { return nil }
            if let fetch = state.fetch { return fetch }
            let fetch = Task { [self] in
                defer { self.state.withLock { $0.fetch = nil } }
                return try await fetchCertificate(url)
            }
            state.fetch = fetch
            return fetch
        }
        if let fetch { return try await fetch.value }
        guard let certificate = state.withLock(\.certificate) else { return try await fetchCertificate(url) }
        return certificate
    }

    private func fetchCertificate(_ url: String) async throws -> Certificate {
        let answer = try await send(ClientRequest(url))
        guard answer.status == .ok else {
            throw RelayError(
                .answer,
                "the license server has no certificate at relay.certificate-url (status \(answer.status.rawValue))"
            )
        }
        let now = clock.now
        let life = min(answer.lifetime ?? Self.usualLife, settings.certificateLife)
        let certificate = Certificate(answer: answer, until: now + life)
        state.withLock { $0.certificate = life > .zero ? certificate : nil }
        return certificate
    }

    /// Sends a request, unless the breaker or the limit prevents it. It runs to its own time limit, even if its client has given up:
    /// clients with a shorter timeout would otherwise keep the breaker from noticing that the server is unreachable.
    private func send(_ request: ClientRequest) async throws(RelayError) -> RelayAnswer {
        let admission = state.withLock { state -> CircuitBreaker.Admission? in
            guard state.inFlight < settings.concurrency, let admission = state.breaker.admit(at: clock.now) else { return nil }
            state.inFlight += 1
            return admission
        }
        guard let admission else {
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
        await end(admission, result)
        return try result.get()
    }

    private func end(_ admission: CircuitBreaker.Admission, _ result: Result<RelayAnswer, RelayError>) async {
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
            state.inFlight -= 1
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
    }

    var health: Health {
        state.withLock { state in
            Health(
                state: state.breaker.state,
                inFlight: state.inFlight,
                answeredAt: state.answeredAt,
                failedAt: state.failed?.at,
                failure: state.failed?.why
            )
        }
    }
}
