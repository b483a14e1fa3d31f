// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelPresentation
package import CarrelReader

/// The events of a playback, derived from a session's progress: what a player's console shows.
///
/// A proxy sees requests only. A buffer is what was sent and cannot have been played yet; a stall is a buffer that is empty before the
/// end of the media.
package struct PlaybackWatch: Sendable {
    private enum Buffer: Sendable { case unknown, empty, partial, full }

    private let began: ContinuousClock.Instant
    private var buffer = Buffer.unknown
    private var isLikelyToKeepUp = false
    private var bitrate: Int?
    private var startup: Duration?
    private var stallBegan: ContinuousClock.Instant?
    private(set) var stalls = 0
    private var last = SessionProgress()

    /// A buffer of this length lets a player start without a stall.
    private static let enough = Duration.seconds(10)
    /// A buffer that players do not extend.
    private static let full = Duration.seconds(60)

    /// - Parameter now: when the playback was initiated.
    package init(_ now: ContinuousClock.Instant = .now) { began = now }

    /// The event at the beginning.
    ///
    /// - Parameter isOffline: whether the source is saved.
    /// - Returns: the event.
    package func initiated(isOffline: Bool) -> Trace {
        isOffline
            ? Trace(.playback, .now(), "initiating offline playback")
            : Trace(.playback, .now(), "initiating playback")
    }

    /// The events since the last call.
    ///
    /// - Parameters:
    ///   - progress: the session's progress.
    ///   - now: the time.
    /// - Returns: the events, in order.
    package mutating func events(_ progress: SessionProgress, at now: ContinuousClock.Instant = .now) -> [Trace] {
        defer { last = progress }
        guard progress.segments > 0 else { return [] }
        var traces: [Trace] = []
        func add(_ message: StaticString, _ fields: [Trace.Field] = []) {
            traces.append(Trace(.playback, .now(), message, fields))
        }
        if startup == nil {
            startup = began.duration(to: now)
            add("player item ready", [.init("startup", .duration(began.duration(to: now)))])
        }
        let buffered = progress.buffered(at: now)
        // the last segment was sent: nothing more comes into the buffer
        let isWhole = progress.duration.map { progress.media + .seconds(1) >= $0 } ?? false
        let next: Buffer = buffered == .zero ? .empty : buffered >= Self.full || isWhole ? .full : .partial
        if next != buffer {
            switch next {
            case .empty where isWhole: break
            case .empty:
                add("buffer empty")
                stalls += 1
                stallBegan = now
                add("stall occurred", [.init("stalls", .number(stalls))])
            case .partial where buffer == .full: break
            case .partial: add("buffer not empty", [.init("buffered", .duration(buffered))])
            case .full: add("buffer full", [.init("buffered", .duration(buffered))])
            case .unknown: break
            }
            if next != .empty, let start = stallBegan {
                add("stall ended", [.init("took", .duration(start.duration(to: now)))])
                stallBegan = nil
            }
            buffer = next
        }
        let keepsUp = isWhole || buffered >= Self.enough
        if keepsUp != isLikelyToKeepUp {
            isLikelyToKeepUp = keepsUp
            if keepsUp { add("likely to keep up") } else { add("not likely to keep up") }
        }
        if let rate = progress.bitrate {
            // segments of one variant differ; a change of a half is another variant
            if let bitrate, abs(rate - bitrate) * 2 > bitrate {
                add("bit rate changed", [.init("from", .number(bitrate)), .init("to", .number(rate))])
                self.bitrate = rate
            }
            bitrate = bitrate ?? rate
        }
        return traces
    }

    /// The events at the end: how it ended, and the access log.
    ///
    /// - Parameters:
    ///   - progress: the session's progress.
    ///   - isWhole: whether the player ended by itself and without an error.
    /// - Returns: the events.
    package func ended(_ progress: SessionProgress, isWhole: Bool) -> [Trace] {
        var fields: [Trace.Field] = [
            .init("segments", .number(progress.segments)), .init("bytes", .number(progress.bytes)),
            .init("media", .duration(progress.media)), .init("stalls", .number(stalls)),
        ]
        if let startup { fields.append(.init("startup", .duration(startup))) }
        let seconds = progress.media / .seconds(1)
        if seconds > 0 {
            fields.append(
                .init("averageBitrate", .number(Int64(clamping: Int64((Double(progress.bytes) * 8 / seconds).rounded()))))
            )
        }
        let end = isWhole ? Trace(.playback, .now(), "played to the end") : Trace(.playback, .now(), "playback ended")
        return [Trace(.playback, .now(), "access log", fields), end]
    }
}

extension Trace.Channel {
    /// Events of a playback.
    package static let playback = Trace.Channel("playback")
}
