// SPDX-License-Identifier: Apache-2.0

import CarrelPresentation

/// How far the player of a session has come, by the segments that it took.
///
/// A proxy sees only requests: the player's buffer is estimated as the media sent since its last seek, minus the time since then.
public struct SessionProgress: Sendable {
    /// Segments that were sent whole.
    public var segments = 0
    /// Their bytes.
    public var bytes: Int64 = 0
    /// The duration of the media sent: of video, or of audio if there is no video.
    public var media = Duration.zero
    /// The time of the media since the player last jumped.
    public var run = Duration.zero
    /// When the first segment after the last seek was sent; nil before the first segment.
    public var runBegan: ContinuousClock.Instant?
    /// Bit rate of the last segment of ``media`` in bits per second; nil if its duration is unknown.
    public var bitrate: Int?
    /// The place of that segment in its period, from 0; of a live timeline its place since the session began to list it.
    public var segment: Int64?
    /// How long the source is, as its last playlist has it; nil for a live source.
    public var duration: Duration?

    /// How much the player has in its buffer, about.
    ///
    /// - Parameter now: the time.
    /// - Returns: zero if it has played everything that it took.
    public func buffered(at now: ContinuousClock.Instant) -> Duration {
        guard let runBegan else { return .zero }
        return max(.zero, run - runBegan.duration(to: now))
    }
}

/// Tracks the segments that were sent. It keeps playlists, so it exists only after a caller requests progress.
struct SentMedia: Sendable {
    private(set) var progress = SessionProgress()
    private var lists: [RenditionName: SegmentList] = [:]
    private var last: (name: SegmentName, place: Int)?

    /// Maximum number of lists kept.
    private static let limit = 16

    /// Takes a playlist that a player gets.
    mutating func note(_ list: SegmentList, of name: RenditionName) {
        guard name.text == nil, !name.isPictures, lists.count < Self.limit || lists[name] != nil else { return }
        lists[name] = list
        if name.video != nil || progress.duration == nil {
            progress.duration = list.isEnded ? list.segments.reduce(.zero) { $0 + $1.duration } : nil
        }
    }

    /// Records a segment that was sent completely.
    ///
    /// - Parameters:
    ///   - name: the name of the segment.
    ///   - bytes: its size.
    ///   - began: when its first byte was sent.
    mutating func note(_ name: SegmentName, _ bytes: Int, began: ContinuousClock.Instant) {
        progress.segments += 1
        progress.bytes += Int64(bytes)
        // time advances with video, or with audio if no playlist has video
        let isMain = name.rendition.video != nil || name.rendition.audio != nil && !lists.keys.contains { $0.video != nil }
        guard isMain, !name.rendition.isPictures, let list = lists[name.rendition] else { return }
        guard let place = place(of: name, in: list) else { return }
        let duration = list.segments[place].duration
        // the next segment of any variant continues the run
        let goesOn = last.map { follows(name, $0.name) } ?? false
        if !goesOn { (progress.run, progress.runBegan) = (.zero, began) }
        progress.media += duration
        progress.run += duration
        progress.segment = name.index
        let seconds = duration / .seconds(1)
        progress.bitrate = seconds > 0 ? Int(clamping: Int64(Double(bytes) * 8 / seconds)) : nil
        last = (name, place)
    }

    /// The index of a segment: usually the one after the last.
    private func place(of name: SegmentName, in list: SegmentList) -> Int? {
        if let last, list.segments.indices.contains(last.place + 1), list.segments[last.place + 1].name == name {
            return last.place + 1
        }
        return list.segments.firstIndex { $0.name == name }
    }

    private func follows(_ name: SegmentName, _ before: SegmentName) -> Bool {
        // numbers of a live timeline continue in the next period
        if name.period == before.period || name.index > 0 { return name.index == before.index + 1 }
        return name.period > before.period
    }
}
