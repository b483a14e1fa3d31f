// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A source of the current time, injected into code that decides by it.
public protocol WallClock: Sendable {
    /// The time it is.
    var now: Instant { get }
}

/// The system's clock.
public struct SystemClock: WallClock {
    /// The clock of the machine.
    public init() {}

    public var now: Instant { .now() }
}

/// A clock that only advances when set, for tests.
public final class ManualClock: WallClock {
    private let milliseconds: Atomic<Int64>

    /// A clock that shows `start`.
    ///
    /// - Parameter start: the first time that it shows.
    public init(_ start: Instant) {
        milliseconds = Atomic(start.milliseconds)
    }

    public var now: Instant { Instant(milliseconds: milliseconds.load(ordering: .sequentiallyConsistent)) }

    /// Moves to `instant`, forward or back.
    public func set(_ instant: Instant) {
        milliseconds.store(instant.milliseconds, ordering: .sequentiallyConsistent)
    }

    /// Moves by `duration`.
    public func advance(by duration: Duration) {
        let step = (Instant(milliseconds: 0) + duration).milliseconds
        milliseconds.add(step, ordering: .sequentiallyConsistent)
    }
}
