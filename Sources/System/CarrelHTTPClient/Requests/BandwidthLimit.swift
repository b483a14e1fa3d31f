// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// A limit on the bytes that a group of requests receives per second (``ClientRequest/bandwidthLimits``).
///
/// Requests of any client may share the object. The rate applies to their bodies after decompression, and can change while they run.
public final class BandwidthLimit: Sendable {
    /// A rate is kept over this time: after a pause the requests catch up on no more.
    private static let window = Duration.milliseconds(100)
    /// A change of the rate takes effect within this time.
    private static let longestPause = Duration.milliseconds(100)

    private struct State: Sendable {
        var bytesPerSecond: Int?
        /// Bytes that may be received; negative after a part that was larger.
        var credit = 0.0
        var time = ContinuousClock.now

        /// Adds the credit of the time since the last call.
        mutating func advance() {
            let now = ContinuousClock.now
            defer { time = now }
            guard let bytesPerSecond else {
                credit = 0
                return
            }
            let rate = Double(bytesPerSecond)
            credit = min(credit + rate * (time.duration(to: now) / .seconds(1)), rate * (BandwidthLimit.window / .seconds(1)))
        }
    }

    private let state: Locked<State>

    /// Creates a limit.
    ///
    /// - Parameter bytesPerSecond: more than 0; nil for no limit.
    public init(bytesPerSecond: Int? = nil) {
        state = Locked(State(bytesPerSecond: bytesPerSecond.map { max(1, $0) }))
    }

    /// The rate of all requests together; nil for no limit. A value below 1 counts as 1.
    public var bytesPerSecond: Int? {
        get { state.withLock { $0.bytesPerSecond } }
        set {
            state.withLock { state in
                state.advance()
                state.bytesPerSecond = newValue.map { max(1, $0) }
            }
        }
    }

    /// The time to wait before the next part; nil if it may be received now.
    func pause() -> Duration? {
        state.withLock { state in
            guard let rate = state.bytesPerSecond else { return nil }
            state.advance()
            guard state.credit < 0 else { return nil }
            return min(Self.longestPause, .seconds(-state.credit / Double(rate)) + .milliseconds(1))
        }
    }

    /// Counts received bytes.
    func take(_ count: Int) {
        state.withLock { state in
            if state.bytesPerSecond != nil { state.credit -= Double(count) }
        }
    }
}
