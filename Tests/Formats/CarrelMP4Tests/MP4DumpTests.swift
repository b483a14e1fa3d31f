// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelMP4
import CarrelTesting
import Testing

struct `MP4 files as text` {
    /// Everything a file says, one fact a line.
    private func dump(_ file: MP4File) throws -> String {
        var lines = ["brands \(file.brands.joined(separator: " ")), \(file.isFragmented ? "fragmented" : "one index")"]
        for track in file.tracks {
            lines.append(
                "track \(track.id) \(track.kind)\(track.isEnabled ? "" : " off") \(track.declaredDuration)/\(track.timescale)"
            )
            if let language = track.language { lines.append("  language \(language)") }
            if let codec = track.codec {
                lines.append("  codec \(codec), entry \(track.entrySampleRate) Hz \(track.entryChannels) ch")
            }
            if !track.chapterTrackIDs.isEmpty { lines.append("  chapters in \(track.chapterTrackIDs)") }
            if track.kind == "soun" { lines.append("  framing \(track.framing)") }
            var samples = file.samples(of: track)
            var count = 0
            var bytes = 0
            while let sample = try samples.next() {
                count += 1
                bytes += sample.size
            }
            lines.append("  \(count) samples, \(bytes) bytes, \(samples.duration) units")
            if case .adts(let format) = track.framing {
                let summary = try file.stream(track) { _, _ in }
                lines.append("  \(summary.frameCount) frames, \(summary.byteCount) bytes of \(format)")
                lines.append("  trim \(summary.trim.leading) and \(summary.trim.trailing), drift \(summary.drift)")
            }
        }
        if let title = file.tags.title { lines.append("title \(title)") }
        for chapter in file.tags.chapters { lines.append("chapter \(chapter.start) \(chapter.title)") }
        return lines.joined(separator: "\n")
    }

    @Test func `say what is in a book`() throws {
        let expected = """
            brands isom isom iso2 mp41, one index
            track 1 soun 1103524/44100
              codec AAC, entry 44100 Hz 2 ch
              chapters in [2]
              framing adts(mp4a.40.2 44100 Hz 1 ch)
              1078 samples, 201311 bytes, 1103524 units
              1078 frames, 208857 bytes of mp4a.40.2 44100 Hz 1 ch
              trim 1024 and 348, drift -348
            track 2 text off 25000/1000
              3 samples, 69 bytes, 25000 units
            title Test Book
            chapter 0 Chapter 1
            chapter 8000 Chapter 2
            chapter 17500 Chapter 3
            """
        #expect(try dump(open(try Fixtures.bytes("media/src/book.m4b"))) == expected)
    }

    @Test func `say what is in fragments`() throws {
        let expected = """
            brands isom isom iso2 avc1 mp41 iso5, fragmented
            track 1 vide 0/12800
              250 samples, 187850 bytes, 128000 units
            track 2 soun 0/48000
              codec AAC, entry 48000 Hz 2 ch
              framing adts(mp4a.40.2 48000 Hz 2 ch)
              470 samples, 80416 bytes, 481024 units
              470 frames, 83706 bytes of mp4a.40.2 48000 Hz 2 ch
              trim 0 and 256, drift -256
            """
        #expect(try dump(open(try Fixtures.bytes("media/src/av.frag.mp4"))) == expected)
    }
}
