// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelMP4

/// The cues of a track of timed text in fragmented MP4, sample after sample: `wvtt`, and the text of `stpp` (ISO/IEC 14496-30).
///
/// A cue that is repeated in several samples is merged. Cues are in order of their start; `WebVTTFile` writes them as segments.
///
/// ```swift
/// guard var cues = TimedTextCues(track.entries[0]) else { return }
/// try cues.append(sample, start: 0, end: 4000)
/// let text = WebVTTFile(cues: cues.finish(), definitions: cues.definitions).segment(0..<4000, origin: 900_000)
/// ```
package struct TimedTextCues: Sendable {
    private enum Coding: Sendable { case webVTT, markup }

    /// A cue that may continue.
    private struct Cue: Sendable {
        var start: Int64
        var end: Int64
        var identifier = ""
        var settings = ""
        var text: String
    }

    /// Blocks of styles and regions of the track's description.
    package private(set) var definitions: [[String]] = []
    private let coding: Coding
    private var cues: [Cue] = []
    /// Cues of the previous sample that this one may continue, each with its index in `cues`.
    private var open: [WebVTTSample.Cue: Int] = [:]
    /// Cues of documents that end with the sample before, by their texts, each with its place in `cues`.
    private var ending: [String: [Int]] = [:]
    private var end: Int64 = 0
    private var bytes = 0

    /// Cues, at most, and bytes of their texts.
    private static let countLimit = 100_000
    private static let byteLimit = 16 << 20

    /// Creates the reader of a track; nil unless its coding is `wvtt` or `stpp`.
    ///
    /// - Parameter entry: the track's sample description.
    package init?(_ entry: SampleEntry) {
        switch entry.format {
        case "wvtt":
            coding = .webVTT
            // `vttC`: the header of the file, with its styles
            if let header = try? WebVTTFile(entry.configuration.rawSpan) { definitions = header.definitions }
        case "stpp": coding = .markup
        default: return nil
        }
    }

    /// Takes the next sample.
    ///
    /// - Parameters:
    ///   - sample: its clear bytes.
    ///   - start: when it is presented, in milliseconds.
    ///   - end: when it ends.
    /// - Throws: `Malformed` if it is damaged, or there are too many cues.
    package mutating func append(_ sample: RawSpan, start: Int64, end: Int64) throws(Malformed) {
        guard end > start else { return }
        switch coding {
        case .webVTT: try append(WebVTTSample(sample), start: start, end: end)
        case .markup:
            var previous = start == self.end ? ending : [:]
            ending = [:]
            for cue in try TTMLText(sample).cues {
                let (first, last) = (max(start, cue.start), min(end, cue.end))
                guard first < last else { continue }
                // a document may repeat the cues of the previous one
                if start == first, let index = previous[cue.text]?.popLast() {
                    cues[index].end = last
                    if last == end { ending[cue.text, default: []].append(index) }
                } else {
                    if last == end { ending[cue.text, default: []].append(cues.count) }
                    try add(Cue(start: first, end: last, text: cue.text))
                }
            }
        }
        self.end = end
    }

    private mutating func append(_ sample: WebVTTSample, start: Int64, end: Int64) throws(Malformed) {
        var next: [WebVTTSample.Cue: Int] = [:]
        for cue in sample.cues {
            if start == self.end, cue.sourceID != nil, let index = open[cue] {
                cues[index].end = end
                next[cue] = index
                continue
            }
            if cue.sourceID != nil, next[cue] == nil { next[cue] = cues.count }
            let newCue = Cue(
                start: start,
                end: end,
                identifier: cue.identifier,
                settings: cue.settings,
                text: cue.text
            )
            try add(newCue)
        }
        open = next
    }

    private mutating func add(_ cue: Cue) throws(Malformed) {
        bytes += cue.text.utf8.count + cue.identifier.utf8.count + cue.settings.utf8.count
        guard cues.count < Self.countLimit, bytes <= Self.byteLimit else {
            throw Malformed("timed text has more than \(Self.countLimit) cues or 16 MiB", at: 0)
        }
        cues.append(cue)
    }

    /// Takes the cues so far; later samples start new cues.
    package mutating func finish() -> [WebVTTFile.Cue] {
        let sorted = cues.enumerated().sorted { ($0.element.start, $0.offset) < ($1.element.start, $1.offset) }
        let result = sorted.map { _, cue in
            WebVTTFile.Cue(
                start: cue.start,
                end: cue.end,
                identifier: cue.identifier,
                settings: cue.settings,
                text: cue.text
            )
        }
        cues = []
        open = [:]
        ending = [:]
        bytes = 0
        return result
    }
}
