// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelTesting
import Testing

struct `MP4 that is written` {
    /// A sample entry of raw text: enough for tables.
    private static let entry: [UInt8] = [0, 0, 0, 16] + Array("wvtt".utf8) + [0, 0, 0, 0, 0, 0, 0, 1]

    private static func track(_ id: UInt32 = 1) -> MovieTrack {
        MovieTrack(id: id, handler: "text", timescale: 1000, language: "deu", entries: [entry])
    }

    private static func samples(_ count: Int, seed: UInt64) -> [MP4Sample] {
        var random = SplitMix(seed: seed)
        var time: Int64 = 0
        return (0..<count).map { i in
            let duration = Int64.random(in: 0...3, using: &random) == 0 ? 40 : 41
            defer { time += Int64(duration) }
            return MP4Sample(
                offset: 0,
                size: Int.random(in: 0...50, using: &random),
                duration: Int64(duration),
                decodeTime: time,
                compositionOffset: seed % 2 == 0 ? Int64.random(in: -40...80, using: &random) : 0,
                isSync: seed % 3 == 0 || i % 10 == 0
            )
        }
    }

    private static func read(_ bytes: [UInt8], _ id: UInt32 = 1) throws -> [MP4Sample] {
        let file = try open(bytes)
        let track = try #require(file.tracks.first { $0.id == id })
        return try all(file.samples(of: track))
    }

    private static func expect(_ found: [MP4Sample], _ expected: [MP4Sample]) {
        #expect(found.count == expected.count)
        for (a, b) in zip(found, expected) {
            var a = a
            a.offset = 0
            #expect(a == b)
        }
    }

    @Test(arguments: 0..<12 as Range<UInt64>)
    func `as fragments is read again the same`(seed: UInt64) throws {
        let samples = Self.samples(40, seed: seed)
        var bytes = InitializationSegment(Self.track(), duration: 1600).bytes
        for (number, part) in [samples[..<1], samples[1..<15], samples[15...]].enumerated() {
            bytes += SegmentType.bytes
            let start = UInt64(part[part.startIndex].decodeTime)
            var fragment = MediaFragment(sequenceNumber: UInt32(number + 1), trackID: 1, decodeTime: start)
            for sample in part {
                let fits = fragment.append(
                    size: sample.size,
                    duration: sample.duration,
                    compositionOffset: sample.compositionOffset,
                    isSync: sample.isSync
                )
                #expect(fits)
            }
            bytes += fragment.header + [UInt8](repeating: UInt8(number), count: fragment.byteCount)
        }
        Self.expect(try Self.read(bytes), samples)
        #expect(try open(bytes).tracks[0].language == "deu")
    }

    @Test(arguments: 0..<12 as Range<UInt64>)
    func `reads a written progressive file back unchanged, with the index after or before the media`(seed: UInt64) throws {
        let tracks = [Self.samples(300, seed: seed), Self.samples(100, seed: seed + 6)]
        var writer = ProgressiveWriter([Self.track(1), Self.track(2)])
        var media: [UInt8] = []
        for i in 0..<300 {
            for (number, samples) in tracks.enumerated() where i < samples.count {
                let fits = writer.append(to: number, samples[i], size: samples[i].size)
                #expect(fits)
                media += [UInt8](repeating: UInt8(i & 255), count: samples[i].size)
            }
        }
        var behind = writer.beginning + media + writer.index
        let at = Int(writer.mediaHeaderOffset)
        behind.replaceSubrange(at..<at + 16, with: writer.mediaHeader)
        let before = writer.beginningWithIndex + media
        for bytes in [behind, before] {
            for (number, samples) in tracks.enumerated() {
                let found = try Self.read(bytes, UInt32(number + 1))
                Self.expect(found, samples)
                for (i, sample) in found.enumerated() {
                    #expect(bytes[Int(sample.offset)..<Int(sample.offset) + sample.size].allSatisfy { $0 == UInt8(i & 255) })
                }
            }
        }
    }

    @Test func `as a progressive file is read by ffprobe without a warning`() async throws {
        let directory = TemporaryDirectory()
        let original = try MP4File(BytesReader(Fixtures.bytes("media/src/av-h264-aac.mp4")))
        var writer = ProgressiveWriter(try original.tracks.map { try MovieTrack($0) }, movieTimescale: 1000)
        var media: [UInt8] = []
        for (i, track) in original.tracks.enumerated() {
            for sample in try all(original.samples(of: track)) {
                let fits = writer.append(to: i, sample, size: sample.size)
                #expect(fits)
                media += try original.reader.readAll(sample.range)
            }
        }
        let path = directory.write("out.mp4", writer.beginningWithIndex + media)
        let source = try Fixtures.path("media/src/av-h264-aac.mp4")
        var packets: [String] = []
        for file in [source, path] {
            let result = try await runProcess([
                try requirePeer("ffprobe"), "-v", "warning", "-show_entries", "packet=stream_index,pts,dts,duration,size,flags",
                "-show_entries", "stream=codec_name,width,height,sample_rate,channels,start_pts", "-of", "compact=p=0", file,
            ])
            #expect(result.status.isSuccess && result.errors.isEmpty, "\(result.errorText)")
            packets.append(result.text.split(separator: "\n").sorted().joined(separator: "\n"))
        }
        #expect(packets[0] == packets[1])
    }

    @Test func `names its subsegments`() throws {
        var writer = BoxWriter()
        let references = (0..<300).map { SegmentIndexBox.Reference(size: UInt32($0 + 1), duration: 10) }
        let index = SegmentIndexBox(trackID: 1, timescale: 1000, earliestTime: 1 << 33, references: references)
        index.write(to: &writer)
        let span = writer.bytes.rawSpan
        #expect(writer.bytes.count == SegmentIndexBox.length(references: 300))
        #expect(span.u32(at: 4) == FourCC("sidx").word && span.u64(at: 20) == 1 << 33 && span.u16(at: 38) == 300)
        #expect(span.u32(at: 40 + 12 * 299) == 300)
        var bytes = InitializationSegment(Self.track()).bytes
        bytes += writer.bytes
        #expect(try open(bytes).indexes.count == 1)
    }

    @Test func `carries events`() {
        var writer = BoxWriter()
        let event = EventMessage(
            scheme: "urn:x",
            value: "1",
            timescale: 1000,
            time: 1 << 40,
            duration: 5,
            id: 7,
            data: [1, 2, 3]
        )
        event.write(to: &writer)
        let span = writer.bytes.rawSpan
        #expect(Int(span.u32(at: 0)) == writer.bytes.count && span.u8(at: 8) == 1 && span.u64(at: 16) == 1 << 40)
        #expect(Array(writer.bytes.suffix(11)) == Array("urn:x\0".utf8).suffix(6) + Array("1\0".utf8) + [1, 2, 3])
    }

    @Test func `says when a number does not fit`() {
        var fragment = MediaFragment(sequenceNumber: 1, trackID: 1, decodeTime: 0)
        let wrong: [(size: Int, duration: Int64, offset: Int64)] = [(1 << 31, 1, 0), (1, 1 << 32, 0), (1, 1, 1 << 31)]
        for (size, duration, offset) in wrong {
            let fits = fragment.append(size: size, duration: duration, compositionOffset: offset, isSync: true)
            #expect(!fits)
        }
        #expect(fragment.count == 0)
    }

    @Test(arguments: [
        (["-c:a", "aac"], "mp4a.40.2", "mp4"), (["-c:a", "libmp3lame"], "mp4a.6B", "mp4"), (["-c:a", "ac3"], "ac-3", "mp4"),
        (["-c:a", "eac3"], "ec-3", "mp4"), (["-c:a", "flac", "-strict", "-2"], "fLaC", "mp4"),
        (["-c:a", "libopus", "-ar", "48000"], "opus", "mp4"), (["-c:a", "aac"], "mp4a.40.2", "mov"),
        (["-c:a", "libmp3lame"], "mp4a.6B", "mov"),
    ])
    func `names the audio codec, and copies its description`(coding: [String], name: String, format: String) async throws {
        let directory = TemporaryDirectory()
        let path = directory.file("a.\(format)")
        try await MediaTools.make(path, seconds: 1, coding)
        let file = try open(#require(directory.read("a.\(format)")))
        let track = try #require(file.audioTracks.first)
        #expect(track.entries.first?.codecString == name)
        // as an ISO file has it, a decoder finds the same sound
        var writer = ProgressiveWriter([try MovieTrack(track)])
        var media: [UInt8] = []
        for sample in try all(file.samples(of: track)) {
            let fits = writer.append(to: 0, sample, size: sample.size)
            #expect(fits)
            media += try file.reader.readAll(sample.range)
        }
        let copy = directory.write("copy.mp4", writer.beginningWithIndex + media)
        var sums: [String] = []
        for file in [path, copy] {
            sums.append(
                try await checkProcess([try requirePeer("ffmpeg"), "-v", "error", "-i", file, "-map", "0:a", "-f", "hash", "-"])
            )
        }
        #expect(sums[0] == sums[1])
    }

    @Test func `names the coding of pictures`() throws {
        for (file, name) in [("av-h264-aac", "avc1.64000c"), ("av-hevc-aac", "hvc1.1.6.L60.90")] {
            let file = try open(Fixtures.bytes("media/src/\(file).mp4"))
            #expect(file.tracks.first { $0.kind == "vide" }?.entries.first?.codecString == name)
        }
    }
}
