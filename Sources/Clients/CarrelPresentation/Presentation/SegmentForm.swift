// SPDX-License-Identifier: Apache-2.0

package import CarrelMediaSource
import CarrelThreads

/// The form of a session's segments: the one that the caller wants, until the plan of tracks needs another.
package final class SegmentForm: Sendable {
    /// The form that the caller wants.
    package let wanted: ProxyOptions.Output
    private let state: Locked<ProxyOptions.Output>

    package init(_ wanted: ProxyOptions.Output) {
        self.wanted = wanted
        state = Locked(wanted)
    }

    package var output: ProxyOptions.Output { state.withLock { $0 } }

    /// Takes the form of a plan.
    package func use(_ output: ProxyOptions.Output) { state.withLock { $0 = output } }
}
