// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelMedia
import CarrelThreads

/// The terms of the keys that one response uses: when the first of them ends, and why one is missing.
///
/// Each response has its own, so that a key that has ended stops those that use it and no other.
package final class KeyUse: Sendable {
    private struct State {
        /// The ends of the keys and of the rights, each once: they move while the response is sent.
        var ends: [ObjectIdentifier: ContentKeyEnd] = [:]
        var isPending = false
        var refusal: ProxyError?
        /// Other key uses whose keys this response also uses.
        var joined: [KeyUse] = []
    }

    private let state = Locked(State())

    package init() {}

    /// Records a response of a key source.
    package func note(_ answer: ContentKeyAnswer) {
        state.withLock { state in
            switch answer {
            case .granted(let grant): state.ends[ObjectIdentifier(grant.end)] = grant.end
            case .pending: state.isPending = true
            case .refused, .unknown: break
            }
        }
    }

    /// Records the end of the rights under which the response is sent.
    package func limit(to end: ContentKeyEnd) { state.withLock { $0.ends[ObjectIdentifier(end)] = end } }

    /// Adds the keys that other tasks requested.
    package func join(_ uses: [KeyUse]) { state.withLock { $0.joined += uses.filter { $0 !== self } } }

    /// When the first key ends; nil when none does.
    package var end: Instant? { ends.compactMap(\.instant).min() }

    private var ends: [ContentKeyEnd] {
        let (ends, joined) = state.withLock { (Array($0.ends.values), $0.joined) }
        return ends + joined.flatMap(\.ends)
    }

    /// Notes why a key could not be requested.
    package func note(_ refusal: ProxyError) { state.withLock { $0.refusal = refusal } }

    /// Checks that no key of the response has ended.
    ///
    /// - Throws: `proxy.expired-key`; `proxy.refused-key` if its license was revoked or is denied.
    package func check(at now: Instant) throws(ProxyError) {
        let ends = ends
        if let refusal = ends.lazy.compactMap(\.refusal).first {
            throw ProxyError(.refusedKey, "the key may not be used any more: \(refusal)")
        }
        guard let end = ends.compactMap(\.instant).min(), end <= now else { return }
        throw ProxyError(.expiredKey, "the key could be used until \(end)")
    }

    /// An error with the reason that is known here.
    package func explained(_ error: ProxyError) -> ProxyError {
        let state = state.withLock { $0 }
        if error.code == .missingKey, state.isPending { return ProxyError(.pendingKey, error.message) }
        if error.code == .refusedKey, let refusal = state.refusal { return refusal }
        return state.joined.lazy.map { $0.explained(error) }.first { $0.code != error.code } ?? error
    }
}
