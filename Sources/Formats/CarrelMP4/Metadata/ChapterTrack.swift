// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes

/// Chapters as the samples of a text track (QuickTime File Format, "Chapter Lists").
enum ChapterTrack {
    private static let chapterLimit = 10_000
    private static let sampleLimit = 1 << 16

    /// One chapter a sample, from its start on.
    static func read(_ track: MP4Track, _ samples: MP4Samples, _ reader: any ByteReader) throws -> [AudioTags.Chapter] {
        guard track.timescale > 0 else { return [] }
        var samples = samples
        var chapters: [AudioTags.Chapter] = []
        var time: Int64 = 0
        while chapters.count < chapterLimit, let sample = try samples.next() {
            defer { time &+= sample.duration }
            // two bytes of length, the text, and boxes about its style
            guard sample.size >= 2, sample.size <= sampleLimit else { continue }
            let bytes = try reader.readAll(sample.range)
            let span = bytes.rawSpan
            let text = span.extracting(2..<min(span.byteCount, 2 + Int(span.u16(at: 0))))
            let isWide = text.byteCount >= 2 && [0xfeff, 0xfffe].contains(text.u16(at: 0))
            let title = isWide ? TagText.utf16(text, bigEndian: true) : TagText.utf8(text)
            let start = Timescale.convert(time, times: 1000, over: track.timescale)
            chapters.append(AudioTags.Chapter(start: start, title: title))
        }
        return chapters
    }
}
