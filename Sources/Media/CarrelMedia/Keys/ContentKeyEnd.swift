// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelThreads

/// The end of content keys while they are in use: a renewal moves it, and a revocation ends the keys immediately.
///
/// All grants of one license share it. Code that holds clear bytes asks ``check(at:)`` before it hands them out, or waits for
/// ``ended(by:)`` to take them back.
public final class ContentKeyEnd: Sendable {
    private struct State {
        var instant: Instant?
        /// Why the keys may not be used now, whatever the time.
        var refusal: String?
    }

    private let state: Locked<State>
    /// Further ends: the keys end with the first of all.
    private let others: [ContentKeyEnd]

    /// Creates an end.
    ///
    /// - Parameter instant: when the keys end; nil if they do not.
    public init(_ instant: Instant? = nil) {
        state = Locked(State(instant: instant))
        others = []
    }

    /// Creates the end of keys that several terms limit.
    ///
    /// - Parameter others: their ends, which may still move.
    package init(firstOf others: [ContentKeyEnd]) {
        state = Locked(State())
        self.others = others
    }

    /// When the keys end, by the newest terms; nil if they do not.
    public var instant: Instant? {
        ([state.withLock { $0.instant }] + others.map(\.instant)).compactMap { $0 }.min()
    }

    /// Why the keys may not be used now, whatever the time: a lower-case sentence without a period; nil if they may.
    public var refusal: String? { state.withLock { $0.refusal } ?? others.lazy.compactMap(\.refusal).first }

    /// Moves the end. Keys that were refused may be used again.
    ///
    /// - Parameter instant: when the keys end now; nil if they do not.
    public func move(to instant: Instant?) { state.withLock { $0 = State(instant: instant) } }

    /// Ends the keys now, whatever the time.
    ///
    /// - Parameter reason: a lower-case sentence without a period.
    public func end(_ reason: String) { state.withLock { $0.refusal = reason } }

    /// Checks that the keys may be used.
    ///
    /// - Parameter now: the time.
    /// - Throws: `media.expired-key` after the end, `media.refused-key` with the reason of ``end(_:)``.
    public func check(at now: Instant) throws(MediaError) { try check(at: now, "key") }

    /// Checks that the keys may be used.
    ///
    /// - Parameters:
    ///   - now: the time.
    ///   - words: the key in the error, such as `key for track 1`.
    /// - Throws: `media.expired-key`, `media.refused-key`.
    package func check(at now: Instant, _ words: @autoclosure () -> String) throws(MediaError) {
        if let refusal { throw MediaError(.refusedKey, "the \(words()) may not be used any more: \(refusal)") }
        if let instant, instant <= now { throw MediaError(.expiredKey, "the \(words()) could be used until \(instant)") }
    }

    /// Returns when the keys may not be used any more, a quarter of a second later at most: clocks may jump, so that they are read
    /// that often.
    ///
    /// - Parameter clock: the clock by which the keys end.
    /// - Returns: the error that ``check(at:)`` throws; nil if the task was cancelled.
    public func ended(by clock: any WallClock = SystemClock()) async -> MediaError? {
        while !Task.isCancelled {
            do throws(MediaError) { try check(at: clock.now) } catch { return error }
            do { try await Task.sleep(for: Self.interval) } catch { return nil }
        }
        return nil
    }

    private static let interval = Duration.milliseconds(250)
}
