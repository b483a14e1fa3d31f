// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelMP4

/// The pictures that an edit hides and decoding needs: those between the last random access point before the edit's beginning and
/// the beginning itself (ISO/IEC 14496-12 §8.6.6).
///
/// Players without edit lists show what they decode. So hidden pictures keep their order and follow each other at ``rate``, at
/// the beginning of the presentation: the hidden pictures of a group last less than a picture together.
package struct Preroll: Sendable, Hashable {
    /// The position in decode order of the sample that decoding begins with.
    package let first: Int
    /// The position after the last hidden picture; `first` without hidden pictures.
    package let end: Int
    /// When the edit begins, in units of the track.
    package let start: Int64
    /// The decode time of the sample at `end`.
    private let resumption: Int64
    /// The presentation times of hidden pictures, in ascending order, in units of the track.
    private let hidden: [Int64]

    /// Rate of hidden pictures per second. Clocks of players and files can distinguish pictures at this rate: mpv, for example,
    /// uses 24,000 units per second.
    package static let rate: Int64 = 18_000

    /// Hidden pictures at most: three quarters of an hour without a random access point.
    private static let limit = 1 << 16
    /// Seconds after the beginning of an edit in which a hidden picture may still be decoded.
    private static let reach: Int64 = 4

    /// Whether a picture is hidden.
    private static func isHidden(_ sample: MP4Sample, before start: Int64) -> Bool {
        sample.decodeTime &+ sample.compositionOffset &+ sample.duration / 2 <= start
    }

    /// Finds the pictures.
    ///
    /// - Parameters:
    ///   - samples: all samples of a track of pictures, or those from a random access point on.
    ///   - start: when the edit begins, in units of the track.
    ///   - timescale: units per second.
    /// - Throws: `unsupported` if too many pictures are hidden; the errors of the reader.
    package init(_ samples: MP4Samples, before start: Int64, timescale: Int) throws {
        var samples = samples
        var index = 0
        var first: Int?
        var end = 0
        var hidden: [Int64] = []
        var resumption: Int64 = 0
        let (reach, isPast) = start.addingReportingOverflow(Self.reach &* Int64(timescale))
        while let sample = try samples.next() {
            defer { index += 1 }
            if first != nil, isPast || sample.decodeTime > reach { break }
            let presented = sample.decodeTime &+ sample.compositionOffset
            if sample.isSync, first == nil || presented <= start &+ sample.duration / 2 {
                (first, end, hidden) = (index, index, [])
            }
            guard first != nil else { continue }
            if Self.isHidden(sample, before: start) {
                guard hidden.count < Self.limit else {
                    throw MediaError(.unsupported, "an edit hides more than \(Self.limit) pictures after a random access point")
                }
                hidden.append(presented)
                end = index + 1
            } else if index == end {
                resumption = sample.decodeTime
            }
        }
        // without a random access point nothing can be decoded
        self.first = first ?? index
        self.end = first == nil ? index : end
        self.start = start
        self.resumption = resumption
        self.hidden = hidden.sorted()
    }

    /// The number of hidden pictures.
    package var count: Int { hidden.count }
    /// Whether there are none.
    package var isEmpty: Bool { hidden.isEmpty }

    /// The units between the beginning of the edit and the decoding of the first sample after the hidden pictures.
    ///
    /// - Parameter lead: units by which all samples are decoded before their declared time.
    /// - Returns: units of the track.
    package func resumption(lead: Int64) -> Int64 { resumption &- lead &- start }

    /// The times of a sample, counted from the beginning of the edit.
    ///
    /// - Parameters:
    ///   - sample: the sample, in units of the track.
    ///   - index: its position in decode order.
    ///   - lead: units by which all samples are decoded before their declared time, so that none is decoded after its
    ///     presentation.
    ///   - tick: the duration of a hidden picture, in units of `convert`.
    ///   - convert: turns units of the track into other units.
    /// - Returns: decode time and presentation time, in units of `convert`.
    package func times(
        of sample: MP4Sample,
        at index: Int,
        lead: Int64,
        tick: Int64,
        _ convert: (Int64) -> Int64
    ) -> (decode: Int64, presentation: Int64) {
        let presented = sample.decodeTime &+ sample.compositionOffset
        var presentation = convert(presented &- start)
        var decode = convert(sample.decodeTime &- lead &- start)
        guard !hidden.isEmpty, index >= first else { return (decode, presentation) }
        if Self.isHidden(sample, before: start) {
            presentation = Int64(rank(of: presented)) &* tick
        } else {
            presentation = max(presentation, Int64(hidden.count) &* tick)
        }
        if index < end { decode = min(convert(resumption &- lead &- start), 0) &- Int64(end - index) &* tick }
        return (decode, presentation)
    }

    /// The hidden pictures that are presented before a time.
    private func rank(of time: Int64) -> Int {
        var low = 0
        var high = hidden.count
        while low < high {
            let middle = (low + high) / 2
            if hidden[middle] < time { low = middle + 1 } else { high = middle }
        }
        return low
    }

    // MARK: - Audio

    /// Whether an edit hides audio beyond an encoder's priming, which is at most a tenth of a second and is kept.
    ///
    /// - Parameters:
    ///   - track: an audio track.
    ///   - start: the start of the edit, in units of the track.
    /// - Returns: whether it does.
    package static func hidesAudio(_ track: MP4Track, before start: Int64) -> Bool {
        track.kind == "soun" && start > Int64(track.timescale) / 10
    }

    /// Whether a frame is hidden, and is not the frame that the decoder begins with.
    ///
    /// - Parameters:
    ///   - sample: the frame.
    ///   - start: when the edit begins, in units of the track.
    /// - Returns: whether it is left out.
    package static func isHidden(audio sample: MP4Sample, before start: Int64) -> Bool {
        sample.decodeTime &+ sample.compositionOffset &+ 2 &* sample.duration <= start
    }
}
