// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
package import CarrelAudit
package import CarrelBytes
package import CarrelCatalog
package import CarrelCrypto
import CarrelEntitlements
import CarrelHTTP
package import CarrelMetrics
package import CarrelStore
import CarrelSubscription
import CarrelThreads
package import CarrelThrottling
package import CarrelUpstream
import CarrelWebAPI

/// An upstream system as a source: it decides every request, and its tokens are passed to apps unchanged.
///
/// While it is unreachable, its ``FailPolicy`` decides; the default grants nothing. A circuit breaker suspends calls to
/// a system that is down, and the number of concurrent calls is limited, so that no other source has to wait for it.
package final class UpstreamSource: EntitlementSource {
    let name: String
    let countsAttempts = true
    private let system: any UpstreamSystem
    private let policy: FailPolicy
    private let memory: LastKnownGoodStore
    private let database: any Database
    private let clock: any WallClock
    private let products: ProductCatalogCache
    private let throttle: SignInThrottle
    private let audit: AuditFold
    private let meter: UpstreamMeter
    private let state: Locked<State>

    private struct State {
        var breaker: CircuitBreaker
        var cap: PerMinuteLimiter
        var slots: UpstreamSlots
        var answeredAt: Instant?
        var failed: (at: Instant, why: String)?
    }

    /// Maximum length of a token, in bytes.
    private static let maxTokenBytes = 16_384

    /// - Throws: `upstream.address` for an address that cannot be used.
    package init(
        _ settings: UpstreamSettings,
        database: any Database,
        clock: any WallClock,
        products: ProductCatalogCache,
        throttle: SignInThrottle,
        audit: AuditFold,
        secret: Secret,
        metrics: MetricsRegistry
    ) throws(UpstreamError) {
        name = settings.name
        system = try settings.system()
        policy = settings.policy
        memory = LastKnownGoodStore(source: name, policy: policy, database: database, clock: clock, secret: secret)
        self.database = database
        self.clock = clock
        self.products = products
        self.throttle = throttle
        self.audit = audit
        let cap = if case .open(_, let perMinute) = policy { perMinute } else { 0 }
        let state = Locked(
            State(
                breaker: CircuitBreaker(settings.breaker),
                cap: PerMinuteLimiter(cap),
                slots: UpstreamSlots(settings.concurrency)
            )
        )
        self.state = state
        meter = UpstreamMeter(metrics, source: name) { state.withLock { $0.breaker.state != .closed } }
    }

    // MARK: Asking

    /// Calls the system, unless the breaker or the limit prevents it. The caller decides what follows without a response.
    ///
    /// A call runs to its own time limit, even if its client has given up: apps with a shorter timeout would otherwise
    /// keep the breaker from noticing that the system is unreachable.
    ///
    /// - Parameters:
    ///   - call: the call.
    ///   - isConfirmed: whether it uses a token that the system has confirmed, or is a sign-in attempt, which is counted.
    ///   - body: sends the call.
    /// - Returns: the response.
    private func ask<Answer: Sendable>(
        _ call: UpstreamMeter.Call,
        isConfirmed: Bool,
        _ body: @escaping @Sendable (any UpstreamSystem) async throws(UpstreamError) -> Answer
    ) async -> Result<Answer, UpstreamError> {
        let network = ClientNetwork.current
        let admission = state.withLock { state -> (CircuitBreaker.Admission, UpstreamSlots.Slot)? in
            guard let slot = state.slots.take(isConfirmed: isConfirmed, from: network) else { return nil }
            guard let admission = state.breaker.admit(at: clock.now) else {
                state.slots.giveBack(slot)
                return nil
            }
            return (admission, slot)
        }
        guard let (admission, slot) = admission else {
            meter.count(call, .shed)
            return .failure(.shed)
        }
        let started = ContinuousClock.now
        let result = await Task { [system] () async -> Result<Answer, UpstreamError> in
            do throws(UpstreamError) {
                return .success(try await body(system))
            } catch {
                return .failure(error)
            }
        }.value
        meter.observe(ContinuousClock.now - started)
        await end(admission, slot, result.map { _ in }, call)
        return result
    }

    private func end(
        _ admission: CircuitBreaker.Admission,
        _ slot: UpstreamSlots.Slot,
        _ result: Result<Void, UpstreamError>,
        _ call: UpstreamMeter.Call
    ) async {
        let outcome: CircuitBreaker.Outcome
        switch result {
        case .success: outcome = .answered
        case .failure(let error) where error.isOutage: outcome = .failed
        // A client error (4xx) still shows that the system is reachable.
        case .failure(let error) where error.code == .status || error.code == .unsupported: outcome = .answered
        case .failure: outcome = .inconclusive
        }
        let now = clock.now
        let (before, after) = state.withLock { state in
            let before = state.breaker.state
            state.slots.giveBack(slot)
            state.breaker.end(admission, outcome, at: now)
            switch (outcome, result) {
            case (.answered, _): state.answeredAt = now
            case (.failed, .failure(let error)): state.failed = (now, error.message)
            default: break
            }
            return (before, state.breaker.state)
        }
        if case .failure = result { meter.count(call, .failed) } else { meter.count(call, .answered) }
        switch (before, after) {
        case (.closed, .open): await note("upstream.unavailable", .failed)
        case (.probing, .closed): await note("upstream.available", .allowed)
        default: break
        }
    }

    var health: UpstreamHealth? {
        state.withLock { state in
            let asked: UpstreamHealth.State =
                switch state.breaker.state {
                case .closed: .available
                case .open(let until): .unavailable(until: until)
                case .probing: .probing
                }
            return UpstreamHealth(
                state: asked,
                policy: policy,
                inFlight: state.slots.inFlight,
                answeredAt: state.answeredAt,
                failedAt: state.failed?.at,
                failure: state.failed?.why
            )
        }
    }

    /// Records the state of the system in the audit log. A failure to record does not fail the request.
    private func note(_ action: String, _ outcome: AuditEntry.Outcome) async {
        let entry = AuditActor(AuditActor.server).entry(action, on: name, at: clock.now, outcome: outcome)
        try? await database.write { try AuditStore.append(entry, in: $0) }
    }

    private func failure(_ error: UpstreamError) -> SourceFailure { SourceFailure(source: name, detail: error.message) }

    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= maxTokenBytes
    }

    // MARK: Signing in and out

    func owns(_ token: String) async throws -> Bool {
        guard Self.isToken(token) else { return false }
        return try await memory.record(of: token) != nil
    }

    func signIn(_ request: SignInRequest) async throws -> SignInOutcome {
        if request.isThrottled { return .notRecognised }
        let device = request.deviceKey.map { Devices.Claim(key: $0, name: request.deviceName).keyHash }
        let attempt = SignInThrottle.Attempt(
            accountName: request.name,
            address: request.address,
            password: request.password,
            knownDevice: try await knownDevice(device, of: request.name),
            requestID: request.requestID
        )
        if !request.isCounted, let wait = try await throttle.begin(attempt) { return .throttled(wait) }
        let result = await ask(.signIn, isConfirmed: true) { system throws(UpstreamError) in
            try await system.signIn(name: request.name, password: request.password, device: request.deviceKey)
        }
        switch result {
        case .failure(let error): throw failure(error)
        case .success(.refused(let status, let message)):
            let actor = AuditActor.unauthenticated(request.requestID)
            try await audit.recordRefused("session.start", of: "", by: actor, at: clock.now, reason: "upstream \(name)")
            return .refused(status: status ?? "notrecognised", message: message)
        case .success(.token(let token, let password)):
            guard Self.isToken(token) else {
                throw SourceFailure(source: name, detail: "the token is too long")
            }
            try await throttle.succeeded(attempt, on: device)
            try await memory.signedIn(request.name, token: token) { subject in
                let actor = AuditActor(subject, requestID: request.requestID)
                return actor.entry("session.start", on: subject, at: clock.now, reason: "upstream \(name)")
            }
            return .token(token, globalAuthPassword: password)
        }
    }

    /// The device, if this user has signed in on it before: at an upstream system, or to a local account.
    private func knownDevice(_ device: [UInt8]?, of name: String) async throws -> [UInt8]? {
        guard let device else { return nil }
        return try await database.readBriefly { [throttle] transaction in
            let account = try (try? Account.checkedName(name)).flatMap {
                try Accounts.find(named: $0, in: transaction)?.id
            }
            return try throttle.knownDevice(device, of: name, account: account, in: transaction)
        }
    }

    func renew(_ token: String, for caller: AuditActor) async throws -> SignInOutcome? {
        guard Self.isToken(token) else { return nil }
        let known = try await memory.record(of: token)
        if known?.memory.token == .ended { return .notRecognised }
        let isConfirmed = known?.memory.token == .live
        switch await ask(.renew, isConfirmed: isConfirmed, { system throws(UpstreamError) in try await system.renew(token) }) {
        case .failure(let error) where error.code == .unsupported: return .notRecognised
        case .failure(let error): throw failure(error)
        case .success(.refused(let status, let message)):
            guard let known else { return nil }
            try await memory.ended(token, .refused, known)
            return .refused(status: status ?? "notrecognised", message: message)
        case .success(.token(let fresh, let password)):
            guard Self.isToken(fresh) else {
                throw SourceFailure(source: name, detail: "the token is too long")
            }
            try await memory.renewed(token, to: fresh, known) { subject in
                let actor = AuditActor(subject, requestID: caller.requestID)
                return actor.entry("session.renew", on: subject, at: clock.now, reason: "upstream \(name)")
            }
            return .token(fresh, globalAuthPassword: password)
        }
    }

    func signOut(_ token: String, for caller: AuditActor) async throws -> Bool {
        guard Self.isToken(token) else { return false }
        let known = try await memory.record(of: token)
        // Ended here first, so that it opens nothing more whether the system hears of it or not.
        if let known, known.memory.token != .ended {
            try await memory.ended(token, .ended, known)
            let entry = AuditActor(known.subject, requestID: caller.requestID).entry(
                "session.end",
                on: known.subject,
                at: clock.now
            )
            try await database.write { try AuditStore.append(entry, in: $0) }
        }
        let isConfirmed = known?.memory.token == .live
        _ = await ask(.signOut, isConfirmed: isConfirmed) { system throws(UpstreamError) in try await system.signOut(token) }
        return known != nil
    }

    // MARK: Entitlement

    func status(of token: String) async throws -> SubscriptionStatus? {
        guard Self.isToken(token) else { return nil }
        let known = try await memory.record(of: token)
        if known?.memory.token == .ended { return SubscriptionStatus(.stale, message: "Please sign in again") }
        let isConfirmed = known?.memory.token == .live
        switch await ask(.verify, isConfirmed: isConfirmed, { system throws(UpstreamError) in try await system.verify(token) }) {
        case .success(let answer):
            try await memory.told(answer, of: token, known)
            return SubscriptionStatus(answer)
        case .failure(let error):
            guard let known, let answer = known.answer, policy.mayRepeat(answer.at, of: known.memory, at: clock.now) else {
                throw failure(error)
            }
            meter.countStandIn("last_known_good", .verify)
            return SubscriptionStatus(try SubscriptionAnswer.parse(answer.bytes))
        }
    }

    func decision(on productID: String, token: String) async throws -> SourceDecision? {
        guard Self.isToken(token) else { return nil }
        let known = try await memory.record(of: token, product: productID)
        if known?.memory.token == .ended { return .notRecognised }
        let result = await ask(.credentials, isConfirmed: known?.memory.token == .live) { system throws(UpstreamError) in
            try await system.permission(for: productID, token: token)
        }
        let subject = memory.subject(of: token, known)
        switch result {
        case .success(.granted):
            try await memory.ruled(true, on: productID, token: token, known)
            return try await granted("upstream \(name)", productID, subject)
        case .success(.refused("notrecognised", let message)):
            guard let known else { return nil }
            try await memory.ended(token, .refused, known)
            return .refused(status: "notrecognised", message: message, tag: subject)
        case .success(.refused(let status, let message)):
            try await memory.ruled(false, on: productID, token: token, known)
            if status == "suspended" { try await memory.told(SubscriptionAnswer(.suspended), of: token, known) }
            return .refused(status: status, message: message, tag: subject)
        case .failure(let error):
            switch policy.ruling(on: known?.memory, at: clock.now) {
            // A token that was never seen here may belong to another source.
            case .notRecognised where known == nil: throw failure(error)
            case .notRecognised: return .notRecognised
            case .unavailable: throw failure(error)
            case .remembered(let life):
                meter.countStandIn("last_known_good", .credentials)
                return try await granted("upstream \(name), last known good", productID, subject, life)
            case .opened(let life):
                guard state.withLock({ $0.cap.take(at: clock.now) }) else { throw failure(error) }
                meter.countStandIn("open", .credentials)
                return try await granted("upstream \(name), open", productID, subject, life)
            }
        }
    }

    func explain(_ productID: String, to name: String) async throws -> SourceExplanation? {
        guard let known = try await memory.record(named: name, product: productID) else { return nil }
        let grant = try await database.read { try AuditStore.lastGrant(of: productID, to: known.subject, created: nil, in: $0) }
        let isAvailable = state.withLock { $0.breaker.state == .closed }
        let now = clock.now
        var found = try policy.explanation(of: productID, known, isAvailable: isAvailable, lastGrant: grant, at: now)
        if let product = try await products.current()[productID], product.state != .published {
            (found.verdict, found.rule) = (.notEntitled, nil)
        }
        return found
    }

    /// A grant, unless the product is not published.
    private func granted(
        _ rule: String,
        _ productID: String,
        _ subject: String,
        _ life: Duration? = nil
    ) async throws -> SourceDecision {
        if let product = try await products.current()[productID], product.state != .published { return .notEntitled(to: subject) }
        return .granted(rule: rule, tag: subject, life: life)
    }
}

extension SubscriptionStatus {
    /// The status from an upstream system's response.
    fileprivate init(_ answer: SubscriptionAnswer) {
        self.init(
            State(rawValue: answer.state.rawValue) ?? .unknown,
            message: answer.message,
            categories: answer.categories.map { ($0.scheme, $0.term) },
            issues: answer.issues
        )
    }
}

extension UpstreamError {
    /// A request that was not sent.
    fileprivate static let shed = UpstreamError(.unreachable, "calls to the upstream system are suspended for the moment")
}
