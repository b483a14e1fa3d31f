import CarrelBytes
import CarrelDASH
import CarrelHTTP

/// Reads an MPD, and a dynamic one again when that is due and a player wants its playlist. Concurrent calls share one request.
actor ManifestReader {
    private let origin: MediaOrigin
    private var url: String
    private var held: Manifest?
    private var running: Task<Manifest, any Error>?
    /// The time that is added to this machine's time to get that of the MPD's clock.
    private var clockOffset: Duration = .zero
    private var isClockRead = false
    /// When the last request failed: a failing origin is not asked more often than once a second.
    private var failed: (at: ContinuousClock.Instant, error: any Error)?

    /// Bytes of an MPD, at most.
    private static let limit = 16 << 20
    /// An MPD without a period of its own for reloads is read again after this, at the earliest.
    private static let leastPeriod = Duration.seconds(1)

    init(_ origin: MediaOrigin) {
        self.origin = origin
        url = origin.source
    }

    /// The time by the MPD's clock.
    var now: Instant { Instant.now() + clockOffset }

    /// The MPD as it is now, or as it was less than its update period ago.
    ///
    /// - Parameter isNeeded: whether segments behind those that it has are needed.
    /// - Returns: the MPD, and where it was found.
    /// - Throws: ``ProxyError``.
    func current(isNeeded: Bool = false) async throws -> Manifest {
        if let held, !isDue(held, isNeeded: isNeeded) { return held }
        if let running { return try await running.value }
        if let failed, failed.at + .seconds(1) > .now {
            if let held { return held }
            throw failed.error
        }
        let url = held.map { $0.mpd.location(url: $0.url) } ?? url
        let task = Task { try await Self.read(url, origin) }
        running = task
        defer { running = nil }
        do {
            var manifest = try await task.value
            if !isClockRead, manifest.mpd.kind == .dynamic {
                isClockRead = true
                await readClock(manifest)
            }
            // what was published before is not newer
            if let held, let old = held.mpd.publishTime, let new = manifest.mpd.publishTime, new < old { manifest = held }
            held = manifest
            failed = nil
            return manifest
        } catch {
            failed = (.now, error)
            // the last MPD goes on to be played while the origin is away
            if let held { return held }
            throw error
        }
    }

    private func isDue(_ manifest: Manifest, isNeeded: Bool) -> Bool {
        let age = Instant.now() - manifest.requested
        switch manifest.mpd.reload {
        case .never: return false
        case .whenNeeded: return isNeeded && age >= Self.leastPeriod
        case .after(let period): return age >= max(period, Self.leastPeriod) || isNeeded && age >= Self.leastPeriod
        }
    }

    private static func read(_ url: String, _ origin: MediaOrigin) async throws -> Manifest {
        let requested = Instant.now()
        let (bytes, address) = try await origin.load(url, limit: limit)
        do throws(Malformed) {
            return Manifest(try MPD.parse(bytes.rawSpan, limit: limit), url: address, requested: requested)
        } catch {
            throw ProxyError(.manifest, "\(MediaOrigin.shown(url)): \(error.description)")
        }
    }

    /// Asks the first clock that answers (ISO/IEC 23009-1 §5.8.5.7). Without one, this machine's time counts.
    private func readClock(_ manifest: Manifest) async {
        for clock in manifest.mpd.clocks {
            if let time = clock.time {
                clockOffset = time - manifest.requested
                return
            }
            for server in clock.servers where [.httpDate, .httpISO, .httpNTP].contains(clock.method) {
                let address = origin.resolve(server, against: manifest.url)
                let asked = Instant.now()
                guard let body = try? await origin.load(address, limit: 1024).bytes, let time = clock.time(inBody: body) else {
                    continue
                }
                clockOffset = time - asked
                return
            }
        }
    }
}
