// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaSource

/// The keys of a session: requests wait for a license as the proxy's options say.
final class SessionKeys: ContentKeySource {
    let keys: any ContentKeySource
    private let gate: LicenseGate
    private let wait: ProxyOptions.LicenseWait
    /// Whether a key may be used for a plain byte stream only if its source confirms that use.
    private let keepsOutputControls: Bool

    init(
        _ keys: some ContentKeySource,
        _ gate: LicenseGate,
        _ wait: ProxyOptions.LicenseWait,
        policy: ProxyOptions.Policy
    ) {
        self.keys = keys
        self.gate = gate
        self.wait = wait
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
            let seen = gate.openings
            let answer = await keys.key(name)
            switch answer {
            case .pending where .now < deadline && !Task.isCancelled:
                let time = wait == .implicitly ? .milliseconds(250) : ContinuousClock.now.duration(to: deadline)
                await gate.wait(for: name, after: seen, time)
            case .granted(var grant):
                if keepsOutputControls { grant.relaxesOutput = false }
                KeyUse.current?.note(answer)
                return .granted(grant)
            default:
                KeyUse.current?.note(answer)
                return answer
            }
        }
    }
}
