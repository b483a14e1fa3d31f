// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS
import CarrelMedia

/// A snapshot of a media playlist, with the numbers that the proxy gives its segments.
///
/// If the encoder of a live source restarts, its numbers start over: the proxy inserts a discontinuity and keeps counting up. A
/// list with lower numbers may also be a stale cached copy, and a list that jumps ahead may follow a pause of the player.
struct HeldPlaylist: Sendable {
    /// Lists with lower numbers, since the first of them.
    private struct Behind: Sendable {
        var since: ContinuousClock.Instant
        var end: UInt64
    }

    /// The relation of a list to this one.
    private enum Relation { case next, ahead, behind }

    let playlist: MediaPlaylist
    let url: String
    /// When the source was last requested.
    private(set) var read: ContinuousClock.Instant
    private(set) var numbers = LiveNumbers()
    /// The target duration, which never becomes shorter (§4.3.3.1).
    private(set) var target: UInt64
    private var behind: Behind?

    /// Limit that keeps sums of numbers within 64 bits.
    private static let numberLimit: UInt64 = 1 << 60

    /// - Parameters:
    ///   - playlist: the list.
    ///   - url: its address.
    ///   - now: when it was read.
    ///   - numbers: the numbers after the last restart of the source.
    init(_ playlist: MediaPlaylist, url: String, at now: ContinuousClock.Instant, _ numbers: LiveNumbers = LiveNumbers()) {
        self.playlist = playlist
        self.url = url
        read = now
        target = playlist.targetDuration
        self.numbers = numbers
        if first < 0 { self.numbers.media = 0 }
    }

    // MARK: - Numbers

    /// The source's number of the first segment.
    private var sourceFirst: UInt64 { min(playlist.sequenceNumber(ofSegmentAt: 0), Self.numberLimit) }
    private var sourceEnd: UInt64 { sourceFirst + UInt64(playlist.segments.count) }

    /// The number of the first segment.
    var first: Int64 { Int64(sourceFirst) &+ numbers.media }
    /// The number after the last segment.
    var end: Int64 { first &+ Int64(playlist.segments.count) }

    /// The number of discontinuities in front of the first segment.
    var discontinuitySequence: UInt64 {
        let hasPassed = numbers.begin.map { $0 < first } ?? false
        return UInt64(max(0, sourceDiscontinuities &+ numbers.discontinuities &+ (hasPassed ? 1 : 0)))
    }

    private var sourceDiscontinuities: Int64 { Int64(min(playlist.discontinuitySequence, Self.numberLimit)) }

    /// Whether a segment does not continue the previous one.
    func isDiscontinuity(_ segment: MediaSegment, number: Int64) -> Bool { segment.discontinuity || number == numbers.begin }

    /// The index of a number in the list; out of bounds if the list has no such segment.
    func place(of number: Int64) -> Int { Int(clamping: number &- first) }

    /// The methods of key lines, each once.
    var protections: [MediaProtection] {
        var methods: [MediaProtection] = []
        var known: Set<EncryptionKey.Method> = []
        for segment in playlist.segments {
            for key in segment.keys where known.insert(key.method).inserted { methods.append(.hls(key.method.rawValue)) }
        }
        return methods
    }

    // MARK: - Reloads

    /// Whether the source is due for a reload.
    func isDue(at now: ContinuousClock.Instant) -> Bool {
        !playlist.isEnded && read + .milliseconds(500 * Int64(clamping: min(playlist.targetDuration, 60))) <= now
    }

    /// Returns the list that follows this one.
    ///
    /// - Parameters:
    ///   - list: the list as just received.
    ///   - url: its address.
    ///   - now: the time.
    ///   - newest: the numbers after the last restart seen in any playlist of the source.
    /// - Returns: the new list, or this one if the other is older.
    func updated(with list: MediaPlaylist, url: String, at now: ContinuousClock.Instant, newest: LiveNumbers) -> HeldPlaylist {
        var next = HeldPlaylist(list, url: url, at: now, numbers)
        next.target = max(target, next.target)
        switch relation(to: next, at: now) {
        case .next: return next
        case .ahead: break
        case .behind:
            guard isRestart(next, at: now) else {
                var same = self
                same.read = now
                same.behind = behind ?? Behind(since: now, end: next.sourceEnd)
                return same
            }
        }
        next.restart(after: self, newest)
        return next
    }

    private func relation(to next: HeldPlaylist, at now: ContinuousClock.Instant) -> Relation {
        guard next.sourceFirst >= sourceFirst, next.sourceEnd >= sourceEnd || next.playlist.segments.isEmpty else {
            return .behind
        }
        guard next.sourceFirst > sourceEnd else { return .next }
        // the segments made in the meantime, plus a full window
        let durations = next.playlist.segments.prefix(100).map(\.duration)
        let mean = max(.milliseconds(100), durations.reduce(.zero, +) / max(1, durations.count))
        let possible = Int(clamping: Int64(min(read.duration(to: now) / mean, 1e9))) * 3 / 2 + next.playlist.segments.count + 3
        return next.sourceFirst - sourceEnd <= UInt64(max(0, possible)) ? .next : .ahead
    }

    /// Whether a list with lower numbers is from a restarted source rather than a stale cached copy.
    private func isRestart(_ next: HeldPlaylist, at now: ContinuousClock.Instant) -> Bool {
        if let old = Self.end(of: playlist), let new = Self.end(of: next.playlist), new > old { return true }
        // the same numbers name other resources
        let common = min(sourceEnd, next.sourceEnd)
        if common > max(sourceFirst, next.sourceFirst) {
            let one = playlist.segments[Int(common - 1 - sourceFirst)]
            let other = next.playlist.segments[Int(common - 1 - next.sourceFirst)]
            if URIReference(one.uri).path != URIReference(other.uri).path || one.byteRange != other.byteRange { return true }
        }
        // a cache keeps no list for that long
        guard let behind else { return false }
        let patience = Duration.seconds(Int64(clamping: min(max(1, target), 60)))
        if next.sourceEnd <= sourceFirst { return behind.since + patience <= now }
        return next.sourceEnd != behind.end && behind.since + patience * 3 <= now
    }

    /// When the media of a list end, by its dates.
    private static func end(of playlist: MediaPlaylist) -> Instant? {
        var rest = Duration.zero
        for segment in playlist.segments.suffix(100).reversed() {
            rest += segment.duration
            if let date = segment.programDateTime { return Instant.parse(date).map { $0 + rest } }
        }
        return nil
    }

    /// Numbers this list after the segments of another.
    private mutating func restart(after old: HeldPlaylist, _ newest: LiveNumbers) {
        let tags = old.playlist.segments.enumerated()
            .count { old.isDiscontinuity($1, number: old.first &+ Int64($0)) }
        let discontinuities = Int64(clamping: old.discontinuitySequence) &+ Int64(tags) &- sourceDiscontinuities
        numbers.media = old.end &- Int64(sourceFirst)
        // discontinuities have the same numbers in all playlists of a source (§6.2.4)
        if newest.epoch > old.numbers.epoch {
            numbers.epoch = newest.epoch
            numbers.discontinuities = max(newest.discontinuities, discontinuities)
        } else {
            numbers.epoch = old.numbers.epoch + 1
            numbers.discontinuities = discontinuities
        }
        numbers.begin = playlist.segments.first?.discontinuity == true ? nil : first
    }
}
