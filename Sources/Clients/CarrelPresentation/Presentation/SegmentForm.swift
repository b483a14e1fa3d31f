// SPDX-License-Identifier: Apache-2.0

package import CarrelMediaSource
import CarrelThreads

/// The format of a session's segments: the requested one, unless the track plan needs another.
package final class SegmentForm: Sendable {
    /// The requested format.
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
