// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelSubscription
import CarrelThreads

/// The certificate that a relay's players need before they can ask for a license. Concurrent requests share one fetch.
///
/// It has a circuit breaker of its own, which one failure opens: anyone may ask for the certificate, and an address that fails must not
/// suspend licenses. While no new certificate can be fetched, the last one is served for up to a day.
final class RelayCertificate: Sendable {
    private let url: String
    private let settings: RelaySettings
    private let exchange: RelayExchange
    private let clock: any WallClock
    private let meter: RelayMeter
    private let state: Locked<State>

    /// A certificate that was fetched.
    struct Fetched: Sendable {
        let answer: RelayAnswer
        /// Until when it is fresh.
        let until: Instant
    }

    private struct State {
        var breaker: CircuitBreaker
        var fetched: Fetched?
        /// The last failure; nil after a success.
        var failure: RelayError?
        /// The request that other requests wait for.
        var fetch: Task<Result<Fetched, RelayError>, Never>?
    }

    private enum Step {
        case served(Fetched)
        case fetching(Task<Result<Fetched, RelayError>, Never>)
        case failed(RelayError)
    }

    /// The lifetime of a certificate whose server does not say it.
    private static let usualLife = Duration.seconds(300)
    /// The time for which a certificate is served after its lifetime, while fetches fail.
    private static let staleLife = Duration.seconds(86_400)

    init(_ url: String, _ settings: RelaySettings, _ exchange: RelayExchange, clock: any WallClock, meter: RelayMeter) {
        (self.url, self.settings, self.exchange, self.clock, self.meter) = (url, settings, exchange, clock, meter)
        var limits = settings.breaker
        limits.failures = 1
        state = Locked(State(breaker: CircuitBreaker(limits)))
    }

    /// The certificate, from the cache while its lifetime lasts.
    ///
    /// - Throws: ``RelayError`` if it cannot be fetched, and no earlier one may be served.
    func current() async throws(RelayError) -> Fetched {
        let now = clock.now
        let step = state.withLock { state -> Step in
            if let fetched = state.fetched, now < fetched.until { return .served(fetched) }
            if let fetch = state.fetch { return .fetching(fetch) }
            guard let admission = state.breaker.admit(at: now) else { return .failed(state.failure ?? Self.suspended) }
            let fetch = Task { await self.fetch(admission) }
            state.fetch = fetch
            return .fetching(fetch)
        }
        let failure: RelayError
        switch step {
        case .served(let fetched): return fetched
        case .failed(let error): failure = error
        case .fetching(let fetch):
            switch await fetch.value {
            case .success(let fetched): return fetched
            case .failure(let error): failure = error
            }
        }
        guard let last = state.withLock(\.fetched), clock.now < last.until + Self.staleLife else { throw failure }
        return last
    }

    /// Why the last fetch failed; nil if it succeeded.
    var failure: String? { state.withLock(\.failure)?.message }

    private static let suspended = RelayError(.unavailable, "requests for the certificate are suspended: try again")

    private func fetch(_ admission: CircuitBreaker.Admission) async -> Result<Fetched, RelayError> {
        let started = ContinuousClock.now
        let result = await exchange.send(ClientRequest(url))
        meter.observe(ContinuousClock.now - started)
        let now = clock.now
        let fetched = result.flatMap { answer -> Result<Fetched, RelayError> in
            guard answer.status == .ok else {
                let status = answer.status.rawValue
                return .failure(
                    RelayError(.answer, "the license server has no certificate at relay.certificate-url (status \(status))")
                )
            }
            let life = min(answer.lifetime ?? Self.usualLife, settings.certificateLife)
            return .success(Fetched(answer: answer, until: now + life))
        }
        switch fetched {
        case .success(let certificate):
            meter.count(.answered)
            state.withLock { state in
                state.breaker.end(admission, .answered, at: now)
                state.fetched = now < certificate.until ? certificate : nil
                (state.failure, state.fetch) = (nil, nil)
            }
        case .failure(let error):
            meter.count(.failed)
            state.withLock { state in
                state.breaker.end(admission, .failed, at: now)
                (state.failure, state.fetch) = (error, nil)
            }
        }
        return fetched
    }
}
