// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia
import CarrelMediaSource
import CarrelTimedText

/// A segment of subtitles as WebVTT with its time map: `wvtt` and the text of `stpp` in fragmented MP4, or a WebVTT file.
enum TextSegment {
    /// Bytes of a segment of subtitles, at most.
    private static let limit = 16 << 20

    /// Makes the segment.
    ///
    /// - Parameters:
    ///   - source: the segment at the origin.
    ///   - range: its range in the presentation, in milliseconds.
    ///   - opening: opens it.
    ///   - settings: the settings of the session.
    ///   - keys: the keys of the response.
    /// - Returns: a WebVTT file with times relative to the beginning of the presentation.
    /// - Throws: ``ProxyError``.
    static func make(
        _ source: SegmentSource,
        _ range: Range<Int64>,
        _ opening: SegmentOpening,
        _ settings: SessionSettings,
        _ keys: ResponseKeys
    ) async throws -> [UInt8] {
        let bytes = try await opening.resource(source.url, range: source.range, limit: limit).bytes
        return try await settings.threads.compute { try await made(bytes, of: source, range, settings, keys) }
    }

    private static func made(
        _ bytes: [UInt8],
        of source: SegmentSource,
        _ range: Range<Int64>,
        _ settings: SessionSettings,
        _ keys: ResponseKeys
    ) async throws -> [UInt8] {
        let start = settings.output == .transportStream ? TransportRemuxer.origin : source.fragmentStart &- source.shift
        do {
            guard source.initialization.isEmpty else {
                let file = try await cues(bytes, source.initialization, source.shift / 90, keys)
                return file.segment(range, origin: start & (1 << 33 - 1))
            }
            // times in a file are relative to the beginning of its period
            let period = Int64(source.periodStart / .milliseconds(1))
            let part = range.lowerBound - period..<range.upperBound - period
            return try WebVTTFile(bytes.rawSpan).segment(part, origin: (start &+ period &* 90) & (1 << 33 - 1))
        } catch {
            throw ProxyError(error, in: MediaOrigin.shown(source.url))
        }
    }

    /// Makes the segment from fragments that share the times of the accompanying media.
    ///
    /// - Parameters:
    ///   - bytes: the fragments.
    ///   - initialization: their initialization section.
    ///   - origin: the media time of fragment time 0, in 90 kHz ticks.
    ///   - keys: the key source for encrypted fragments.
    /// - Returns: a WebVTT file.
    /// - Throws: the parse error of the fragments.
    static func make(
        _ bytes: [UInt8],
        _ initialization: [UInt8],
        origin: Int64,
        _ keys: some ContentKeySource
    ) async throws -> [UInt8] {
        try await cues(bytes, initialization, 0, keys).segment(0..<longest, origin: origin)
    }

    /// The latest time of a cue, in milliseconds.
    private static let longest: Int64 = 1 << 50

    private static func cues(
        _ bytes: [UInt8],
        _ initialization: [UInt8],
        _ shift: Int64,
        _ keys: some ContentKeySource
    ) async throws -> WebVTTFile {
        let tracks = try MP4File(BytesReader(initialization)).tracks
        guard let place = tracks.firstIndex(where: { $0.entries.first.map { ["wvtt", "stpp"].contains($0.format) } == true }),
            let entry = tracks[place].entries.first, var cues = TimedTextCues(entry)
        else { throw MediaError(.unsupported, "there is no track of timed text") }
        var fragments = ClearFragments(tracks: tracks)
        fragments.append(bytes.rawSpan)
        fragments.end()
        let timescale = Int64(max(1, tracks[place].timescale))
        while let event = try fragments.next() {
            try Task.checkCancellation()
            switch event {
            case .movie, .fragment: try await fragments.resolveKeys(from: keys)
            case .sample(let track, let sample, let range) where track == place:
                let start = milliseconds(sample.decodeTime &+ sample.compositionOffset, timescale) &+ shift
                let end = start &+ milliseconds(sample.duration, timescale)
                try cues.append(fragments.bytes.extracting(range), start: start, end: end)
            default: break
            }
        }
        return WebVTTFile(cues: cues.finish(), definitions: cues.definitions)
    }

    private static func milliseconds(_ time: Int64, _ timescale: Int64) -> Int64 {
        let (whole, rest) = time.quotientAndRemainder(dividingBy: timescale)
        return whole &* 1000 &+ rest &* 1000 / timescale
    }
}
