// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaSource

/// The keys of a session: requests wait for a license as the proxy's options say.
final class SessionKeys: SessionKeySource {
    private let source: any SessionKeySource
    /// The app's source, if it accepts tokens of licenses.
    let tokenReceiver: (any LicenseTokenReceiver)?
    /// The use of this session, which ends with it.
    private let use: (any CountedKeySource)?
    private let gate: LicenseGate
    private let wait: ProxyOptions.LicenseWait
    /// Whether a key that a caller passed in may not be used for a plain byte stream: no license confirms that use.
    private let keepsOutputControls: Bool

    init(
        _ keys: some ContentKeySource,
        _ gate: LicenseGate,
        _ wait: ProxyOptions.LicenseWait,
        policy: ProxyOptions.Policy
    ) {
        use = (keys as? any CountedKeySource)?.newUse()
        let own: any ContentKeySource = use ?? keys
        source = AppKeys(keys: own)
        tokenReceiver = own as? any LicenseTokenReceiver
        self.gate = gate
        self.wait = wait
        keepsOutputControls = policy == .compatible
    }

    /// Creates the keys of redeemed rights.
    init(_ rights: some SessionKeySource, _ gate: LicenseGate, _ wait: ProxyOptions.LicenseWait) {
        source = rights
        tokenReceiver = nil
        use = nil
        self.gate = gate
        self.wait = wait
        keepsOutputControls = false
    }

    /// Whether the source counts uses, as licenses are counted.
    var isCounted: Bool { use != nil }

    /// Ends the use of the keys.
    func end() async { await use?.end() }

    func probe(anyOf names: [ContentKeyName]) async -> ContentKeyAnswer { await source.probe(anyOf: names) }

    func key(_ name: ContentKeyName, for use: KeyUse) async -> ContentKeyAnswer { await key(anyOf: [name], for: use).answer }

    func key(anyOf names: [ContentKeyName], for use: KeyUse) async -> (answer: ContentKeyAnswer, name: ContentKeyName?) {
        let limit: Duration =
            switch wait {
            case .never: .zero
            case .implicitly: .seconds(60)
            case .untilUnblocked: .seconds(600)
            }
        let deadline = gate.clock.now + limit
        while true {
            let seen = gate.openings
            let (answer, name) = await source.key(anyOf: names, for: use)
            switch answer {
            case .pending where gate.clock.now < deadline && !Task.isCancelled:
                let time = wait == .implicitly ? .milliseconds(250) : gate.clock.now.duration(to: deadline)
                guard let name else { return (answer, nil) }
                await gate.wait(for: name, after: seen, time)
            case .granted(var grant):
                if keepsOutputControls, grant.isGiven { grant.relaxesOutput = false }
                use.note(answer)
                return (.granted(grant), name)
            default:
                use.note(answer)
                return (answer, name)
            }
        }
    }
}

/// The key source of an app, which records nothing itself.
private struct AppKeys: SessionKeySource {
    let keys: any ContentKeySource

    func key(_ name: ContentKeyName, for use: KeyUse) async -> ContentKeyAnswer { await keys.key(name) }

    func key(anyOf names: [ContentKeyName], for use: KeyUse) async -> (answer: ContentKeyAnswer, name: ContentKeyName?) {
        await keys.key(anyOf: names)
    }
}
