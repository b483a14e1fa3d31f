// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// A media playlist (RFC 8216 §4.3.3).
package struct MediaPlaylist: Sendable, Hashable {
    /// Whether segments may be added or removed (EXT-X-PLAYLIST-TYPE).
    package enum Kind: String, Sendable, Hashable {
        case event = "EVENT"
        case vod = "VOD"
    }

    /// EXT-X-VERSION; 1 when the tag is absent.
    package var version = 1
    /// Whole seconds; each segment's duration, rounded, is no more.
    package var targetDuration: UInt64
    /// The first segment's media sequence number, skipped segments included.
    package var mediaSequence: UInt64 = 0
    /// Discontinuities before the first segment.
    package var discontinuitySequence: UInt64 = 0
    package var kind: Kind?
    /// Whether no segment will be added (EXT-X-ENDLIST).
    package var isEnded = false
    package var iFramesOnly = false
    /// Whether segments are images (EXT-X-IMAGES-ONLY).
    package var imagesOnly = false
    /// Whether each segment decodes without the others.
    package var independentSegments = false
    package var start: StartPoint?
    package var variables: [PlaylistVariable] = []
    package var serverControl: ServerControl?
    /// The longest duration of a part (EXT-X-PART-INF).
    package var partTarget: Duration?
    package var skipped: SkippedSegments?
    package var segments = MediaSegments()
    /// Parts of the segment that is being made.
    package var trailingParts: [PartialSegment] = []
    /// Date ranges after the last segment.
    package var trailingDateRanges: [DateRange] = []
    package var preloadHints: [PreloadHint] = []
    package var renditionReports: [RenditionReport] = []
    /// The text that was read.
    var source = Provenance<MediaPlaylistSource>()

    package init(targetDuration: UInt64) {
        self.targetDuration = targetDuration
    }

    /// The media type of playlists (§4).
    package static let mediaType = "application/vnd.apple.mpegurl"

    /// Seconds of all segments.
    package var duration: Duration { segments.durations.reduce(.zero, +) }

    /// The media sequence number of a segment by its place in ``segments``.
    package func sequenceNumber(ofSegmentAt index: Int) -> UInt64 {
        mediaSequence &+ (skipped?.count ?? 0) &+ UInt64(index)
    }

    /// The time at which each segment begins, from the beginning of the first one.
    package var startTimes: [Duration] {
        var times: [Duration] = []
        times.reserveCapacity(segments.count)
        var time = Duration.zero
        for duration in segments.durations {
            times.append(time)
            time += duration
        }
        return times
    }

    /// The initialization vector of a segment under one of its keys: the key's own, or else the media sequence number (§5.2).
    ///
    /// - Parameters:
    ///   - key: one of the segment's.
    ///   - index: the segment's place in ``segments``.
    /// - Returns: 16 bytes.
    package func initializationVector(of key: EncryptionKey, forSegmentAt index: Int) -> [UInt8] {
        if let vector = key.initializationVector { return vector }
        var vector = [UInt8](repeating: 0, count: 8)
        vector.append(bigEndian: sequenceNumber(ofSegmentAt: index))
        return vector
    }
}

/// The text of a media playlist that was read.
final class MediaPlaylistSource: Sendable {
    let text: ParsedPlaylistText
    /// The lines before the first that describes a segment.
    let header: Range<Int>
    /// The lines after the last segment's URI.
    let trailer: Range<Int>
    /// The playlist as it was read, without segments.
    let original: MediaPlaylist

    init(text: ParsedPlaylistText, header: Range<Int>, trailer: Range<Int>, original: MediaPlaylist) {
        self.text = text
        self.header = header
        self.trailer = trailer
        self.original = original
    }
}
