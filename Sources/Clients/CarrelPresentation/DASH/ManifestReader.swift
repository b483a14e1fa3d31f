// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelDASH
import CarrelHTTP
package import CarrelMediaSource
import CarrelThreads

/// Loads an MPD, and reloads a dynamic one for a requested playlist if an update is due. Concurrent calls share a request.
package actor ManifestReader {
    private let origin: MediaOrigin
    private let threads: SessionThreads
    /// Finds when the tracks that are played should have a segment that a manifest does not have.
    private let spentTime: @Sendable (Manifest) async -> Instant?
    private var held: Manifest?
    private var running: Task<Manifest, any Error>?
    /// Time and outcome of the last request for the MPD.
    private var asked: ContinuousClock.Instant?
    private var failure: (any Error)?
    private var clock = ManifestClock()
    /// Since when every loaded MPD was published before the current one.
    private var olderSince: ContinuousClock.Instant?
    private let longestReturn: Duration
    private var isEnded = false
    /// When the clock is read next.
    private var clockDue: ContinuousClock.Instant

    /// Interval between readings of a clock, because clocks drift and jump.
    private static let clockPeriod = Duration.seconds(300)
    /// Bytes of an MPD, at most.
    private static let limit = 16 << 20
    /// Shortest interval between reloads of an MPD, even if it declares less or the origin fails.
    private static let leastPeriod = Duration.seconds(1)
    /// The part of its update period after which an MPD without further segments is reloaded, because it may have been stale.
    private static let earlyDivisor = 4
    /// Time limit for a reload if the previous MPD can be used: the new one may arrive later.
    private static let patience = Duration.seconds(2)
    private static let clockPatience = Duration.seconds(3)
    /// Limits for time servers: number of requests, and total time. The playlist waits for them.
    private static let clockLimit = 4
    private static let clocksPatience = Duration.seconds(6)

    /// - Parameters:
    ///   - origin: the origin of the MPD.
    ///   - threads: parse it.
    ///   - longestReturn: after this time, an older MPD is accepted: the encoder has set its clock back.
    ///   - spentTime: returns the time at which the played tracks need a segment that a manifest lacks.
    package init(
        _ origin: MediaOrigin,
        _ threads: SessionThreads,
        longestReturn: Duration = .seconds(30),
        spentTime: @escaping @Sendable (Manifest) async -> Instant? = { _ in nil }
    ) {
        self.origin = origin
        clockDue = origin.clock.now
        self.threads = threads
        self.longestReturn = longestReturn
        self.spentTime = spentTime
    }

    /// Cancels pending requests, and reads no more.
    package func end() {
        isEnded = true
        running?.cancel()
    }

    /// The time by the MPD's clock.
    var now: Instant { clock.now(at: origin.clock.now) }

    /// Returns the current MPD, or one read less than its update period ago.
    ///
    /// The last MPD is used while the origin is unavailable.
    /// - Parameter isList: whether a list of segments is requested: an MPD without further segments is then reloaded early.
    /// - Returns: the MPD with its address.
    /// - Throws: ``ProxyError``.
    package func current(isList: Bool = false) async throws -> Manifest {
        if let held, !(await isDue(held, isList: isList)) { return self.held ?? held }
        if held == nil, running == nil, let failure, let asked, asked + Self.leastPeriod > origin.clock.now { throw failure }
        let task = try running ?? start()
        guard let held else { return try await task.value }
        return ((try? await within(Self.patience, sleep: origin.clock.sleep) { try await task.value }) ?? nil) ?? self.held
            ?? held
    }

    /// The MPD that was read last; the first one is read.
    ///
    /// - Throws: ``ProxyError``.
    func known() async throws -> Manifest {
        if let held { return held }
        return try await current()
    }

    /// Whether the MPD is due for a reload (ISO/IEC 23009-1 §5.3.1.2); never without an update period.
    private func isDue(_ manifest: Manifest, isList: Bool) async -> Bool {
        guard let asked else { return true }
        let age = asked.duration(to: origin.clock.now)
        guard age >= Self.leastPeriod else { return false }
        switch manifest.mpd.reload {
        case .never: return false
        case .whenNeeded: return isList
        case .after(let period):
            if age >= period { return true }
            guard isList, age >= period / Self.earlyDivisor, let time = await spentTime(manifest), time <= now else {
                return false
            }
            // another call may have started the request
            return running != nil || self.asked == asked
        }
    }

    private func start() throws(ProxyError) -> Task<Manifest, any Error> {
        guard !isEnded else { throw ProxyError(.ended, "the session has ended") }
        asked = origin.clock.now
        let task = Task { try await self.reload() }
        running = task
        return task
    }

    private func reload() async throws -> Manifest {
        defer { running = nil }
        do {
            let new = try await read(held.map { $0.mpd.location(url: $0.url) } ?? origin.address)
            if new.mpd.kind == .dynamic { await readClock(new) }
            failure = nil
            // an MPD with an earlier publish time is not newer, unless no other MPD arrives any more
            if let held, let old = held.mpd.publishTime, let time = new.mpd.publishTime, time < old {
                let since = olderSince ?? origin.clock.now
                olderSince = since
                if since + longestReturn > origin.clock.now { return held }
            }
            olderSince = nil
            held = new
            return new
        } catch {
            failure = error
            throw error
        }
    }

    private func read(_ url: String) async throws -> Manifest {
        let requested = origin.clock.now
        let (bytes, address) = try await origin.load(url, limit: Self.limit)
        // two manifests at a time, and the derived data of one
        held?.evict()
        return try await threads.compute { [origin] in
            let (whole, refused) = try await RemoteElements.inserted(into: bytes, of: address, origin)
            do throws(Malformed) {
                var manifest = Manifest(try MPD.parse(whole.rawSpan, limit: Self.limit), url: address, requested: requested)
                manifest.refusedElements = refused
                return manifest
            } catch {
                throw ProxyError(.manifest, "\(MediaOrigin.shown(url)): \(error.description)")
            }
        }
    }

    /// Reads the first available clock (ISO/IEC 23009-1 §5.8.5.7). Until then, this machine's time is used.
    ///
    /// The time in the MPD itself needs no request.
    private func readClock(_ manifest: Manifest) async {
        let isDue = clockDue <= origin.clock.now
        var room = Self.clockLimit
        let deadline = origin.clock.now + Self.clocksPatience
        for clock in manifest.mpd.clocks {
            if let time = clock.time { return self.clock.take(time, at: manifest.requested) }
            guard isDue else { continue }
            for server in clock.servers where [.httpDate, .httpISO, .httpNTP, .httpHead].contains(clock.method) {
                guard room > 0, deadline > origin.clock.now else { break }
                room -= 1
                let address = origin.resolve(server, against: manifest.url)
                let origin = origin
                let asked = origin.clock.now
                let answer = try? await cancelling(after: Self.clockPatience, on: origin.clock) {
                    try await Self.time(of: clock, at: address, origin)
                }
                guard let time = answer ?? nil else { continue }
                // the server looked at its clock in the middle of the exchange
                self.clock.set(time, at: asked + asked.duration(to: origin.clock.now) / 2)
                clockDue = origin.clock.now + Self.clockPeriod
                return
            }
            clockDue = origin.clock.now + .seconds(30)
        }
    }

    /// Requests the time from a server.
    private static func time(of clock: MPDClock, at address: String, _ origin: MediaOrigin) async throws -> Instant? {
        guard clock.method == .httpHead else {
            return clock.time(inBody: try await origin.load(address, limit: 1024).bytes)
        }
        let stream = try await origin.open(address)
        defer { stream.cancel() }
        // the field has whole seconds: in the middle the time is wrong by half of one at most
        return stream.date.map { $0 + .milliseconds(500) }
    }
}
