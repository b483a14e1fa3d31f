// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelPlayer
import CarrelRights

/// The contact with the service that a license in use needs: its list of revocations, and renewals.
///
/// A missing network ends nothing, unless the license must be attended.
actor ServiceContact {
    /// Why the license may not be used until the service is reached; nil if it may.
    private(set) var refusal: String?

    private nonisolated let engine: PlayerEngine
    private nonisolated let license: String
    private nonisolated let isStored: Bool
    /// Whether the list of revocations is requested.
    private nonisolated let followsRevocations: Bool
    /// Follows the list of revocations.
    private var listing: Task<Void, Never>?
    /// Follows the terms of the license.
    private var stepping: Task<Void, Never>?
    /// Whether the license is renewed when its terms ask for that.
    private var renews = false
    private var isStopped = false
    /// The last contact.
    private var last: ContinuousClock.Instant?
    private var attending: Task<Void, any Error>?
    /// The number of the license that the service has ended; nil unless that is the reason of `refusal`.
    private var endedSequence: Int?

    /// How long an answer of the service is awaited, until a license that must be attended is refused.
    private static let patience = Duration.seconds(10)
    /// The pause after a failed renewal.
    private static let retryPause = Duration.seconds(30)
    /// The pause after a failed contact of a license that is refused until then.
    private static let attendedPause = Duration.seconds(5)
    /// How often the terms are read while there is nothing to do: another program may renew the license.
    private static let readPause = Duration.seconds(5)

    init(_ engine: PlayerEngine, _ session: LicenseSession, followsRevocations: Bool) {
        self.followsRevocations = followsRevocations
        self.engine = engine
        license = session.license
        isStored = session.isStored
    }

    deinit {
        listing?.cancel()
        stepping?.cancel()
    }

    /// Contacts the service, if the license demands contact and there was none in time.
    ///
    /// - Throws: `player.denied` if the service did not answer within ten seconds.
    func attend() async throws(PlayerError) {
        guard let seconds = try await engine.contactTerms(of: license)?.attendedSeconds else { return }
        if let last, ContinuousClock.now - last < .seconds(seconds) { return }
        let failure: PlayerError?
        switch await Self.outcome(of: contact(), within: Self.patience) {
        case .success?: return
        case .failure(let error)?: failure = error as? PlayerError
        case nil: failure = PlayerError(.network, "it has not answered for \(Self.patience.components.seconds) s")
        }
        let reason = "the license is used with contact to its service alone: \(failure?.message ?? "there is none")"
        // a late answer of the service may have come meanwhile
        if last.map({ ContinuousClock.now - $0 < .seconds(seconds) }) ?? false { return }
        if !Task.isCancelled { refusal = reason }
        throw PlayerError(.denied, reason, serverCode: failure?.serverCode, reason: .unsupportedObligation)
    }

    /// The contact on its way, one at a time. It lasts as long as the service takes, and its success lifts a refusal.
    private func contact() -> Task<Void, any Error> {
        if let attending { return attending }
        let (engine, license) = (engine, license)
        let task = Task { [weak self] in
            do {
                try await engine.contactService(of: license)
                await self?.end(isReached: true)
            } catch {
                await self?.end(isReached: false)
                throw error
            }
        }
        attending = task
        return task
    }

    private func end(isReached: Bool) {
        attending = nil
        guard isReached else { return }
        last = .now
        refusal = nil
    }

    /// The outcome of a task that comes within a limit; nil after it, or if the caller was cancelled. The task is not cancelled.
    private static func outcome(
        of task: Task<Void, any Error>,
        within limit: Duration
    ) async -> Result<Void, any Error>? {
        let (outcomes, sender) = AsyncStream<Result<Void, any Error>>.makeStream()
        let waiting = Task {
            sender.yield(await task.result)
            sender.finish()
        }
        let timer = Task {
            try await Task.sleep(for: limit)
            sender.finish()
        }
        defer {
            waiting.cancel()
            timer.cancel()
        }
        for await outcome in outcomes { return outcome }
        return nil
    }

    /// Keeps the contact while the license is open.
    ///
    /// - Parameter renews: whether the license is renewed, too: after the use was counted, so that the renewal reports it.
    func start(renews: Bool) {
        guard !isStopped else { return }
        let engine = engine
        if isStored, followsRevocations, listing == nil {
            listing = Task {
                while !Task.isCancelled {
                    let pause = await engine.followRevocations()
                    try? await Task.sleep(for: max(.seconds(1), pause))
                }
            }
        }
        guard stepping == nil || renews && !self.renews else { return }
        self.renews = renews
        stepping?.cancel()
        stepping = Task { [weak self] in
            while !Task.isCancelled {
                guard let pause = await self?.step() else { return }
                do { try await Task.sleep(for: pause) } catch { return }
            }
        }
    }

    func stop() {
        isStopped = true
        listing?.cancel()
        stepping?.cancel()
    }

    /// Does what is due.
    ///
    /// - Returns: the pause before the next step.
    private func step() async -> Duration {
        guard let terms = try? await engine.contactTerms(of: license) else { return Self.readPause }
        if let endedSequence, terms.sequence > endedSequence {
            // another process has renewed it
            self.endedSequence = nil
            refusal = nil
        }
        if let seconds = terms.attendedSeconds {
            // the first contact is made for the first key
            let due = (last ?? .now) + .seconds(seconds)
            if .now < due, refusal == nil { return min(Self.readPause, due - .now) }
            do throws(PlayerError) { try await attend() } catch { return min(Self.attendedPause, .seconds(seconds)) }
            return .seconds(seconds)
        }
        // a stream is renewed by its own heartbeat
        guard isStored, renews, let renewAt = terms.renewAt else { return Self.readPause }
        guard renewAt <= terms.now else { return min(Self.readPause, renewAt - terms.now) }
        do throws(PlayerError) {
            try await engine.contactService(of: license)
        } catch {
            // the service says that it has ended: the list of revocations need not have it
            if error.code == .ended || error.code == .revoked {
                refusal = error.message
                endedSequence = terms.sequence
            }
        }
        return Self.retryPause
    }
}
