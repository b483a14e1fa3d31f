// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelMP4
import CarrelTesting
import Testing

/// Every sample against what ffprobe and ffmpeg find.
struct `MP4 files as ffmpeg sees them` {
    @Test(arguments: [
        ("m4a", ["-c:a", "aac", "-b:a", "96k"]),
        ("m4a", ["-c:a", "aac", "-ac", "1", "-ar", "22050", "-b:a", "32k", "-movflags", "+faststart"]),
        ("m4b", ["-c:a", "aac", "-ar", "48000", "-metadata", "title=A book", "-metadata", "media_type=2"]),
        ("mp4", ["-c:a", "aac", "-movflags", "frag_keyframe+empty_moov+default_base_moof", "-frag_duration", "700000"]),
        ("mp4", ["-c:a", "aac", "-movflags", "frag_keyframe+empty_moov+omit_tfhd_offset", "-frag_duration", "700000"]),
        ("mp4", ["-c:a", "aac", "-movflags", "frag_keyframe", "-frag_duration", "1000000"]),
        ("mp4", ["-c:a", "aac", "-movflags", "dash", "-frag_duration", "900000"]),
        ("mov", ["-c:a", "aac"]),
        ("3gp", ["-c:a", "aac", "-ar", "44100"]),
        ("mp4", ["-f", "lavfi", "-i", "testsrc=d=6:s=64x48:r=5", "-map", "0:a", "-map", "1:v", "-c:v", "mpeg4", "-c:a", "aac"]),
    ])
    func `have the same AAC frames`(kind: String, options: [String]) async throws {
        let directory = TemporaryDirectory()
        let path = directory.file("a.\(kind)")
        try await MediaTools.make(path, options)
        let bytes = try #require(directory.read("a.\(kind)"))
        let file = try open(bytes)
        let track = try #require(file.mainAudioTrack)
        let samples = try all(file.samples(of: track))
        let packets = try await MediaTools.packets(path)
        #expect(samples.map { MediaTools.Packet(offset: $0.offset, size: $0.size) } == packets)
        #expect(samples.count > 100)
        let (stream, summary) = try frames(file)
        #expect(stream == (try await MediaTools.adts(path)))
        #expect(summary.frameCount == Int64(samples.count))
        #expect(summary.sampleCount == Int64(try await MediaTools.decodedSamples(path, rate: summary.format.sampleRate)))
        #expect(abs(summary.drift) <= 1024)
        #expect(summary.trim.leading == 1024 || file.isFragmented)
        let sound = Int(summary.sampleCount) - summary.trim.leading - summary.trim.trailing
        #expect(abs(sound - 6 * summary.format.sampleRate) <= (file.isFragmented ? 2048 : 0))
    }

    @Test(arguments: [
        ("m4a", ["-c:a", "alac"], "Apple Lossless is not streamed"),
        ("mp4", ["-c:a", "ac3"], "AC-3 is not streamed"),
        ("mp4", ["-c:a", "eac3"], "E-AC-3 is not streamed"),
        ("mov", ["-c:a", "pcm_s16le"], "PCM is not streamed"),
        ("mp4", ["-c:a", "flac", "-strict", "-2"], "FLAC is not streamed"),
        ("mp4", ["-c:a", "libopus", "-ar", "48000"], "Opus is not streamed"),
    ])
    func `say what has to be transcoded`(kind: String, options: [String], reason: String) async throws {
        let directory = TemporaryDirectory()
        let path = directory.file("a.\(kind)")
        try await MediaTools.make(path, seconds: 1, options)
        let file = try open(try #require(directory.read("a.\(kind)")))
        let track = try #require(file.mainAudioTrack)
        #expect(track.framing == .transcode(reason))
        #expect(throws: Malformed.self) { try frames(file) }
        let samples = try all(file.samples(of: track))
        let packets = try await MediaTools.packets(path)
        #expect(samples.reduce(0) { $0 + $1.size } == packets.reduce(0) { $0 + $1.size })
    }

    @Test func `find MP3 in MP4`() async throws {
        let directory = TemporaryDirectory()
        let path = directory.file("a.mp4")
        try await MediaTools.make(path, ["-c:a", "libmp3lame", "-b:a", "64k"])
        let bytes = try #require(directory.read("a.mp4"))
        let file = try open(bytes)
        let track = try #require(file.mainAudioTrack)
        #expect(track.framing == .mp3)
        let samples = try all(file.samples(of: track))
        let packets = try await MediaTools.packets(path)
        #expect(samples.map { MediaTools.Packet(offset: $0.offset, size: $0.size) } == packets)
        #expect(samples.allSatisfy { MP3FrameHeader.parse(bytes.rawSpan.u32(at: Int($0.offset)))?.frameLength == $0.size })
    }

    @Test(arguments: [
        "media/src/audio.mp4", "media/src/audio.frag.mp4", "media/src/book.m4b", "media/src/av-h264-aac.mp4",
        "media/src/av-hevc-aac.mp4",
        "media/src/av.frag.mp4", "media/ext/media3/sample_fragmented.mp4",
    ])
    func `have the same frames in files of others`(name: String) async throws {
        let path = try Fixtures.path(name)
        let file = try open(try Fixtures.bytes(name))
        let (stream, summary) = try frames(file)
        #expect(stream == (try await MediaTools.adts(path)))
        #expect(summary.sampleCount == Int64(try await MediaTools.decodedSamples(path, rate: summary.format.sampleRate)))
    }

    @Test func `read tags and chapters that ffmpeg writes`() async throws {
        let directory = TemporaryDirectory()
        let metadata = directory.write(
            "meta.txt",
            """
            ;FFMETADATA1
            title=Bogen
            artist=A. Forfatter
            album_artist=Forlæggeren
            composer=Oplæser
            album=Serien
            date=2019
            genre=Audiobook
            comment=Kommentar
            description=Kort
            synopsis=Meget længere tekst
            copyright=2019
            track=2/7
            disc=1/1
            [CHAPTER]
            TIMEBASE=1/1000
            START=0
            END=2000
            title=Første
            [CHAPTER]
            TIMEBASE=1/1000
            START=2000
            END=6000
            title=Æøå og 漢字
            """
        )
        let path = directory.file("a.m4b")
        try await MediaTools.make(path, ["-i", metadata, "-map", "0:a", "-map_metadata", "1", "-c:a", "aac"])
        let tags = try open(try #require(directory.read("a.m4b"))).tags
        #expect(tags.title == "Bogen" && tags.artists == ["A. Forfatter"] && tags.albumArtists == ["Forlæggeren"])
        #expect(tags.composers == ["Oplæser"] && tags.album == "Serien" && tags.year == 2019 && tags.genre == "Audiobook")
        #expect(tags.comment == "Kommentar" && tags.description == "Meget længere tekst" && tags.copyright == "2019")
        #expect(tags.track == AudioTags.Number(2, of: 7) && tags.disc == AudioTags.Number(1, of: 1))
        #expect(
            tags.chapters == [AudioTags.Chapter(start: 0, title: "Første"), AudioTags.Chapter(start: 2000, title: "Æøå og 漢字")]
        )
    }
}
