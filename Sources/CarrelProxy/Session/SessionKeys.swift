import CarrelBytes
import CarrelMedia
import CarrelThreads

/// The keys of a session: they wait for a license as the proxy's options say, and know when the first of them ends.
final class SessionKeys: ContentKeySource {
    private let keys: any ContentKeySource
    private let gate: LicenseGate
    private let wait: PlaylistProxy.LicenseWait
    private let clock: any WallClock
    /// Whether a key may be used for a plain stream of bytes only where its source says more than that it has it.
    private let keepsOutputControls: Bool
    private let end = Locked<Instant?>(nil)

    init(
        _ keys: some ContentKeySource,
        _ gate: LicenseGate,
        _ wait: PlaylistProxy.LicenseWait,
        clock: any WallClock,
        policy: PlaylistProxy.Policy
    ) {
        self.keys = keys
        self.gate = gate
        self.wait = wait
        self.clock = clock
        // keys that a caller passes in have no terms
        keepsOutputControls = policy == .seed && keys is GivenKeys
    }

    func key(_ name: ContentKeyName) async -> ContentKeyAnswer {
        let limit: Duration =
            switch wait {
            case .never: .zero
            case .implicitly: .seconds(60)
            case .untilUnblocked: .seconds(600)
            }
        let deadline = ContinuousClock.now + limit
        while true {
            switch await keys.key(name) {
            case .pending where .now < deadline && !Task.isCancelled:
                await gate.wait(for: name, wait == .implicitly ? .milliseconds(250) : ContinuousClock.now.duration(to: deadline))
            case .granted(var grant):
                if keepsOutputControls { grant.relaxesOutput = false }
                if let end = grant.end { self.end.withLock { $0 = min($0 ?? end, end) } }
                return .granted(grant)
            case let answer: return answer
            }
        }
    }

    /// Checks that no key in use has ended.
    ///
    /// - Throws: `proxy.expired-key`.
    func check() throws(ProxyError) {
        guard let end = end.withLock({ $0 }), end <= clock.now else { return }
        throw ProxyError(.expiredKey, "the key could be used until \(end)")
    }

    /// Forgets the ends of keys, so that renewed ones count.
    func renew() { end.withLock { $0 = nil } }
}
