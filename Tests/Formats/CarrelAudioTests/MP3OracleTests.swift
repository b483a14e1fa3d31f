// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelTesting
import Testing

/// Every frame against what ffprobe finds.
struct `MP3 files as ffmpeg sees them` {
    /// The bytes of the packets that ffprobe lists, and how many they are.
    private func packets(_ path: String, _ file: [UInt8]) async throws -> (bytes: [UInt8], count: Int) {
        let probe = try requirePeer("ffprobe")
        let text = try await checkProcess([
            probe, "-v", "error", "-select_streams", "a:0", "-show_entries", "packet=pos,size", "-of", "compact=p=0", path,
        ])
        var bytes: [UInt8] = []
        var count = 0
        for line in text.split(separator: "\n") {
            var size: Int?
            var position: Int?
            for field in line.split(separator: "|") {
                if field.hasPrefix("size=") { size = Int(field.dropFirst(5)) }
                if field.hasPrefix("pos=") { position = Int(field.dropFirst(4)) }
            }
            guard let size, let position else { continue }
            // ffprobe also lists the remainder at the end
            let word = file.count - position < 4 ? 0 : file.rawSpan.u32(at: position)
            guard MP3FrameHeader.parse(word)?.frameLength == size else { continue }
            bytes += file[position..<position + size]
            count += 1
        }
        return (bytes, count)
    }

    @Test(arguments: [
        ("CBR 128 stereo", ["-ar", "44100", "-ac", "2", "-b:a", "128k"]),
        ("CBR 64 mono", ["-ar", "44100", "-ac", "1", "-b:a", "64k"]),
        ("CBR 320 at 48 kHz", ["-ar", "48000", "-ac", "2", "-b:a", "320k"]),
        ("VBR", ["-ar", "44100", "-ac", "2", "-q:a", "4"]),
        ("VBR at 32 kHz", ["-ar", "32000", "-ac", "1", "-q:a", "7"]),
        ("MPEG-2 mono", ["-ar", "22050", "-ac", "1", "-b:a", "32k"]),
        ("MPEG-2 VBR", ["-ar", "24000", "-ac", "2", "-q:a", "5"]),
        ("MPEG-2.5", ["-ar", "8000", "-ac", "1", "-b:a", "16k"]),
        ("no info frame", ["-ar", "44100", "-ac", "2", "-b:a", "96k", "-write_xing", "0", "-id3v2_version", "0"]),
        ("ID3v1 and 2.3", ["-ar", "44100", "-ac", "2", "-b:a", "96k", "-id3v2_version", "3", "-write_id3v1", "1"]),
    ])
    func `finds the same frames in what it encodes`(name: String, options: [String]) async throws {
        let directory = TemporaryDirectory()
        let path = directory.file("a.mp3")
        try await checkProcess(
            [
                try requirePeer("ffmpeg"), "-v", "error", "-f", "lavfi", "-i",
                "anoisesrc=d=6:c=pink:r=44100:a=0.3,volume='if(lt(mod(t,1),0.6),1,0)':eval=frame", "-c:a", "libmp3lame",
                "-metadata", "title=A test",
            ] + options + [path]
        )
        let file = try #require(directory.read("a.mp3"))
        let expected = try await packets(path, file)
        let scan = MP3Scan(file)
        #expect(scan.count == expected.count, "\(name)")
        #expect(scan.frames == expected.bytes)
        let summary = try #require(scan.summary)
        #expect(summary.junk.byteCount == 0 && summary.truncatedAt == nil && summary.missingFrames == 0)
        #expect(MP3Scan(file, pieces: [997]) == scan)
        if options.contains("0") { return }
        #expect(summary.declaredFrames == Int64(scan.count))
        let sound = Int(summary.sampleCount) - summary.leadingSamples - summary.trailingSamples
        #expect(sound == 6 * summary.format.sampleRate)
    }

    @Test func `takes a file of one frame`() throws {
        #expect(MP3Scan(try Fixtures.bytes("media/ext/exoplayer/mp3/play-trimmed.mp3")).summary?.byteCount == 418)
    }

    @Test(arguments: [
        "media/src/tone-cbr32-mono-22050-mpeg2.mp3", "media/src/tone-cbr64-mono-44100.mp3", "media/src/tone-vbr-xing-id3.mp3",
        "media/ext/exoplayer/mp3/bear-cbr-constant-frame-size-no-seek-table.mp3",
        "media/ext/exoplayer/mp3/bear-cbr-variable-frame-size-no-seek-table.mp3",
        "media/ext/exoplayer/mp3/bear-id3.mp3", "media/ext/exoplayer/mp3/bear-vbr-no-seek-table.mp3",
        "media/ext/exoplayer/mp3/bear-vbr-xing-header.mp3",
        "media/ext/shaka-player/hls-raw-mp3/media_w905519204_0.mp3", "readium/lcp/audiotest-gtr-jazz.mp3",
    ])
    func `finds the same frames in files of others`(name: String) async throws {
        let path = try Fixtures.path(name)
        let file = try Fixtures.bytes(name)
        let expected = try await packets(path, file)
        let scan = MP3Scan(file)
        #expect(scan.count == expected.count)
        #expect(scan.frames == expected.bytes)
        #expect(scan.summary?.inconsistency == nil)
        #expect(MP3Scan(file, pieces: [1021]) == scan)
    }
}
