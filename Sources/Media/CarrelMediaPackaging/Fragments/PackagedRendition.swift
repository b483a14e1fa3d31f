// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelCrypto
import CarrelMP4

/// One segment of a track, as it was written.
struct PackagedSegment {
    /// When its presentation begins, in units of the track.
    var start: Int64
    var duration: Int64 = 0
    /// Its offset in the file of the track; 0 if it is a separate file.
    var offset: Int64
    var length: Int64 = 0
    /// The key of its samples; nil for a clear one.
    var key: PackagingKey?
    var encryption: TrackEncryption?
    /// The initialization vector of the segment, if the scheme has one per segment.
    var iv: AESBlock?
    /// Its sync samples of video: the range to read for each, from the start of the segment.
    var pictures: [Picture] = []

    struct Picture {
        var time: Int64
        var offset: Int64
        var length: Int64
    }
}

/// One track of a package, as it was written.
struct PackagedRendition {
    let track: PackagedTrack
    /// The name of its folder, or of its file without the extension.
    let name: String
    let layout: PackagingOptions.Layout
    let scheme: CommonEncryptionScheme?
    /// How its transport stream is protected.
    var transport: TransportScheme?
    /// Whether its segments are transport streams.
    var isTransport = false
    var segments: [PackagedSegment] = []
    /// The time in the media of fragments at which the presentation begins, in units of the track.
    var origin: Int64 = 0
    /// The boundaries before the first segment, in microseconds of the presentation, and the first segment's own: a track that
    /// begins later than others has several.
    var lead: ArraySlice<Int64> = []
    /// Bytes of the initialization segment.
    var initializationLength: Int64 = 0
    /// The place of the index in the file of the track.
    var index: Range<Int64> = 0..<0
    /// The key that the initialization segment names.
    var defaultKey: PackagingKey?
    /// All keys of its segments, in the order of their use.
    var keys: [PackagingKey] = []

    /// Whether each segment can be decoded without others (RFC 8216 §4.3.5.1).
    var hasIndependentSegments: Bool { !track.hasLeadingPictures }
    /// The type of the access points that its segments begin with, at most (ISO/IEC 14496-12 Annex I).
    var accessType: UInt32 { hasIndependentSegments ? 1 : 3 }

    /// The path of the initialization segment within the package.
    var initializationPath: String { layout == .ranges ? "\(name).mp4" : "\(name)/init.mp4" }
    /// The path of the segment in place of those before the first one: it has no samples.
    var gapPath: String { layout == .ranges ? "\(name)-gap.m4s" : isTransport ? "\(name)/gap.ts" : "\(name)/gap.m4s" }
    /// The durations of the segments before the first one, in microseconds.
    var gaps: [Int64] { zip(lead.dropFirst(), lead).map { $0 - $1 } }
    /// The times at which segments begin on the way through a playlist, in microseconds, and the end: the first one begins with
    /// its cut, whatever its first sample.
    var times: [Int64] {
        guard let last = segments.last else { return [] }
        var times = segments.map { track.microseconds($0.start) } + [track.microseconds(last.start + last.duration)]
        if let cut = lead.last { times[0] = min(cut, times[1]) }
        return times
    }

    /// The path of a segment within the package.
    func path(ofSegment i: Int) -> String {
        if isTransport { return "\(name)/\(i + 1).ts" }
        return layout == .ranges ? "\(name).mp4" : "\(name)/\(i + 1).m4s"
    }

    /// The peak segment bit rate (RFC 8216 §4.1): the highest of any run of segments of 0.5 to 1.5 target durations.
    var peakBandwidth: Int {
        let times = times
        guard times.count > 1 else { return 0 }
        let durations = zip(times.dropFirst(), times).map { $0 - $1 }
        let longest = (durations + gaps).max() ?? 0
        // in whole seconds, as in the playlist
        let target = max(1, (longest + 500_000) / 1_000_000) * 1_000_000
        var peak = 0.0
        for first in segments.indices {
            var duration: Int64 = 0
            var length: Int64 = 0
            for i in first..<segments.count {
                duration += durations[i]
                length += segments[i].length
                guard duration <= target + target / 2 else { break }
                if duration >= target / 2, duration > 0 { peak = max(peak, Double(length) / Double(duration)) }
            }
        }
        // all of it is shorter than half a second
        if peak == 0 { return averageBandwidth }
        return Int((peak * 8_000_000).rounded(.up))
    }

    /// Bits a second of all segments.
    var averageBandwidth: Int { bits(segments.reduce(0) { $0 + $1.length }, segments.reduce(0) { $0 + $1.duration }) }

    private func bits(_ length: Int64, _ duration: Int64) -> Int {
        guard duration > 0 else { return 0 }
        return Int((Double(length) * 8 * Double(track.timescale) / Double(duration)).rounded(.up))
    }
}
