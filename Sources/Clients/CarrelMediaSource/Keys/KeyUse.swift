// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelMedia
import CarrelThreads

/// The terms of the keys that one response uses: when the first of them ends, and why one is missing.
///
/// Each response has its own, so that a key that has ended stops those that use it and no other.
package final class KeyUse: Sendable {
    private struct State {
        var end: Instant?
        /// The end of the rights, which may be renewed during the response.
        var renewedEnd: (@Sendable () -> Instant?)?
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
            case .granted(let grant): if let end = grant.end { state.end = min(state.end ?? end, end) }
            case .pending: state.isPending = true
            case .refused, .unknown: break
            }
        }
    }

    /// Records the expiry of the rights under which the response is sent.
    ///
    /// - Parameters:
    ///   - end: of the rights; nil if they do not end.
    ///   - renewedEnd: returns the end after renewals; must not wait.
    package func limit(to end: Instant?, renewedEnd: (@Sendable () -> Instant?)?) {
        state.withLock { state in
            if let end { state.end = min(state.end ?? end, end) }
            state.renewedEnd = renewedEnd
        }
    }

    /// Adds the keys that other tasks requested.
    package func join(_ uses: [KeyUse]) { state.withLock { $0.joined += uses.filter { $0 !== self } } }

    /// When the first key ends; nil when none does.
    package var end: Instant? {
        let (end, renewed, joined) = state.withLock { ($0.end, $0.renewedEnd, $0.joined) }
        let ends = [end, renewed?()] + joined.map(\.end)
        return ends.compactMap { $0 }.min()
    }

    /// Notes why a key could not be requested.
    package func note(_ refusal: ProxyError) { state.withLock { $0.refusal = refusal } }

    /// Checks that no key of the response has ended.
    ///
    /// - Throws: `proxy.expired-key`.
    package func check(at now: Instant) throws(ProxyError) {
        guard let end, end <= now else { return }
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
