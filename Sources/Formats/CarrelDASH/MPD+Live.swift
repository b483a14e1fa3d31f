// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// When a client loads an MPD again (ISO/IEC 23009-1 §5.3.1.2, @minimumUpdatePeriod).
package enum MPDReload: Sendable, Hashable {
    /// It does not change.
    case never
    /// When segments after the listed ones are needed, and when an in-band event signals it (@minimumUpdatePeriod of zero).
    case whenNeeded
    /// This long after it was requested.
    case after(Duration)
}

extension MPD {
    /// When to load the MPD again. A static MPD never changes.
    package var reload: MPDReload {
        guard kind == .dynamic, let period = minimumUpdatePeriod else { return .never }
        return period > .zero ? .after(period) : .whenNeeded
    }

    /// Returns the address of the next MPD: the first `Location`, or this MPD's address.
    ///
    /// - Parameter url: the address of this MPD.
    /// - Returns: the address, resolved against `url`.
    package func location(url: String) -> String {
        guard let first = locations.first, !first.isEmpty else { return url }
        return URIReference.resolve(first, against: url)
    }

    /// The presentation time of the live edge at an instant; nil for a static MPD.
    package func time(at now: Instant) -> Duration? {
        guard kind == .dynamic, let begin = availabilityStartTime else { return nil }
        return now - begin
    }

    /// The end of the presentation; nil while it is not known.
    package func end(_ timings: [Timing]) -> Duration? {
        guard let last = timings.last(where: { !$0.isEarly }) else { return nil }
        return last.end
    }

    /// The times that can be played at an instant: from the beginning of the time-shift buffer to the live edge, or to the end.
    /// For a static MPD with a known end, the whole presentation.
    ///
    /// - Parameters:
    ///   - now: the instant, by the MPD's own clock.
    ///   - timings: the MPD's timings.
    /// - Returns: nil if nothing can be played yet, or a static MPD does not declare its end.
    package func window(at now: Instant, _ timings: [Timing]) -> Range<Duration>? {
        guard let first = timings.first else { return nil }
        let end = end(timings)
        guard let edge = time(at: now) else { return end.map { first.start..<max(first.start, $0) } }
        guard edge >= first.start else { return nil }
        var upper = end.map { min($0, edge) } ?? edge
        if let over = availabilityEndTime.flatMap({ time(at: $0) }) { upper = min(upper, over) }
        let lower = timeShiftBufferDepth.map { max(first.start, edge - $0) } ?? first.start
        return min(lower, upper)..<max(first.start, upper)
    }

    /// The time at which a client starts to play a dynamic MPD: @suggestedPresentationDelay before the live edge, within the
    /// window.
    ///
    /// - Parameters:
    ///   - now: the instant, by the MPD's own clock.
    ///   - timings: the MPD's timings.
    ///   - delay: the default distance from the live edge.
    /// - Returns: the start time for a static MPD; nil if nothing can be played yet.
    package func startTime(at now: Instant, _ timings: [Timing], delay: Duration) -> Duration? {
        guard let window = window(at: now, timings) else { return nil }
        guard let edge = time(at: now) else { return window.lowerBound }
        let target = edge - (suggestedPresentationDelay ?? delay)
        return max(window.lowerBound, min(target, window.upperBound))
    }
}

extension [MPD.Timing] {
    /// The index of the period at a time, in O(log n): the last one that has begun and has not ended.
    ///
    /// - Parameter time: from the beginning of the presentation.
    /// - Returns: nil before the first period, in a gap and after the end; periods with an unknown start are ignored.
    package func index(at time: Duration) -> Int? {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            // those without a start come last
            if !self[middle].isEarly, self[middle].start <= time { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return nil }
        if let end = self[low - 1].end, end <= time { return nil }
        return low - 1
    }
}
