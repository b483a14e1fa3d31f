// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia
import CarrelTS
import CarrelTesting
import Testing

struct `A transport stream of several parts of the media` {
    private typealias Edit = (start: Double?, length: Double)

    /// A file whose pictures and audio are presented so; edits of pictures begin with the picture at that time.
    private static func movie(_ edits: [Edit], _ name: String = "av-h264-aac.mp4") throws -> [UInt8] {
        let bytes = try Fixtures.bytes("media/src/\(name)")
        let file = try MP4File(BytesReader(bytes))
        return try EditedMovie.make(bytes) { track in
            var first = 0.0
            if track.kind == "vide", var samples = Optional(file.samples(of: track)), let sample = try? samples.next() {
                first = Double(sample.decodeTime + sample.compositionOffset) / Double(track.timescale)
            }
            return edits.map { EditedMovie.edit(track, from: $0.start.map { $0 + first }, lasting: $0.length) }
        }
    }

    /// ffmpeg's presentation: a digest of each picture or frame of audio, and its time in seconds.
    private static func presented(_ path: String, _ kind: String) async throws -> [(time: Double, digest: Substring)] {
        let ffmpeg = try requirePeer("ffmpeg")
        let timing = kind == "v" ? ["-fps_mode", "passthrough", "-enc_time_base", "1:1000"] : []
        let arguments = [ffmpeg, "-v", "error", "-i", path, "-map", "0:\(kind)"] + timing + ["-f", "framemd5", "-"]
        let result = try await runProcess(arguments)
        #expect(result.errorText == "")
        var base = 0.0
        var frames: [(time: Double, digest: Substring)] = []
        for line in String(decoding: result.output, as: UTF8.self).split(separator: "\n") {
            if line.hasPrefix("#tb 0: ") {
                let parts = line.dropFirst(7).split(separator: "/").compactMap { Double($0) }
                if parts.count == 2 { base = parts[0] / parts[1] }
            }
            let fields = line.split(separator: ",").map { $0.drop { $0 == " " } }
            guard !line.hasPrefix("#"), fields.count == 6, let time = Double(fields[2]) else { continue }
            frames.append((time * base, fields[5]))
        }
        return frames
    }

    @Test(
        arguments: [
            [(0.0, 2.0), (6.0, 2.0)], [(4.0, 2.0), (0.0, 2.0)], [(0.0, 2.0), (2.0, 2.0)], [(2.0, 2.0), (2.0, 2.0), (2.0, 2.0)],
            [(nil, 1.0), (2.0, 2.0), (6.0, 2.0)],
        ] as [[(Double?, Double)]]
    )
    func `has the pictures that ffmpeg presents, at the same times`(edits: [(Double?, Double)]) async throws {
        let bytes = try Self.movie(edits.map { (start: $0.0, length: $0.1) })
        let directory = TemporaryDirectory()
        let source = directory.write("in.mp4", bytes)
        let stream = directory.write("out.ts", try await TransportUnits.stream(of: bytes))
        let expected = try await Self.presented(source, "v")
        let got = try await Self.presented(stream, "v")
        #expect(expected.count >= 40)
        #expect(got.map(\.digest) == expected.map(\.digest))
        // one frame of 25 a second; the presentation begins elsewhere in a transport stream
        let shift = (got.first?.time ?? 0) - (expected.first?.time ?? 0)
        for (a, b) in zip(got, expected) { #expect(abs(a.time - shift - b.time) <= 0.0405) }
        let units = try TransportUnits.list(try #require(Fixtures.bytes(at: stream)))
        let sound = units.filter { $0.pid == 0x101 }
        let pictures = units.filter { $0.pid == 0x100 }
        let length = edits.reduce(0) { $0 + ($1.0 == nil ? 0 : $1.1) }
        #expect(abs(Double(sound.count) * 1024 / 48_000 - length) < 0.03 * Double(edits.count))
        // each part of the audio begins with its picture
        let start = Double(pictures.map(\.presentationTime).min() ?? 0)
        #expect(abs(Double(sound.first?.presentationTime ?? 0) - start) / 90_000 < 0.022)
        for stream in [sound, pictures] {
            for (a, b) in zip(stream, stream.dropFirst()) { #expect(a.decodeTime < b.decodeTime) }
            #expect(stream.allSatisfy { $0.decodeTime <= $0.presentationTime })
        }
    }

    @Test func `has nothing where an edit between them is empty`() async throws {
        // ffmpeg passes over such an edit
        let bytes = try Self.movie([(start: 2, length: 2), (start: nil, length: 1.5), (start: 6, length: 2)])
        let units = try TransportUnits.list(try await TransportUnits.stream(of: bytes))
        for pid in [UInt16(0x100), 0x101] {
            let times = units.filter { $0.pid == pid }.map(\.presentationTime).sorted()
            let gaps = zip(times, times.dropFirst()).map { Double($1 - $0) / 90_000 }.filter { $0 > 0.1 }
            #expect(gaps.count == 1)
            #expect(abs((gaps.first ?? 0) - 1.52) < 0.025)
        }
    }

    @Test(
        arguments: [
            ([(0.0, 2.0), (5.0, 1.0)], "begins part 2 of its presentation between random access points"),
            ([(0.0, 1.4), (4.0, 2.0)], "ends part 1 of its presentation between pictures that need each other"),
        ] as [([(Double?, Double)], String)]
    )
    func `is refused where pictures would be missing`(edits: [(Double?, Double)], words: String) async throws {
        let bytes = try Self.movie(edits.map { (start: $0.0, length: $0.1) })
        let error = await #expect(throws: MediaError.self) { _ = try await TransportUnits.stream(of: bytes) }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }

    @Test func `is refused where a part plays at another speed`() async throws {
        var bytes = try Self.movie([(0, 2), (4, 2)])
        let list = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("elst".utf8)) })
        // the rate of the first of two edits of 20 bytes
        bytes[list + 12 + 17] = 2
        let error = await #expect(throws: MediaError.self) { _ = try await TransportUnits.stream(of: bytes) }
        #expect(error?.message.contains("another speed") == true)
    }

    @Test func `is refused where edits multiply the samples too often`() async throws {
        let edits = (0..<1000).map { (start: Double($0 % 2) * 4, length: 2.0) }
        var bytes = try Self.movie(edits)
        let list = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("elst".utf8)) })
        bytes[list + 10] = 0xff
        let error = await #expect(throws: MediaError.self) { _ = try await TransportUnits.stream(of: bytes) }
        #expect(
            error?.message.contains("has more than 1000 edits") == true || error?.code == .malformed,
            "\(error?.message ?? "")"
        )
    }

    @Test func `is refused where edits last for ages, and ends no process`() async throws {
        let source = try Fixtures.bytes("media/src/av-h264-aac.mp4")
        // units of the movie, 9 a second: the second part seems to be presented 2^63 ticks of 90 kHz after the end of the first
        // one
        var left: Int64 = 922_337_203_685_486 - 9
        var edits = [EditList.Edit(presented: 9, from: 0)]
        while left > 0 {
            edits.append(EditList.Edit(presented: min(left, 1 << 40), from: -1))
            left -= 1 << 40
        }
        edits.append(EditList.Edit(presented: 9, from: 11_974))
        #expect(edits.count < 1000)
        let bytes = try EditedMovie.make(source, kinds: ["vide"], movieTimescale: 9) { track in
            track.timescale == 12_800 ? edits : nil
        }
        let error = await #expect(throws: MediaError.self) { _ = try await TransportUnits.stream(of: bytes) }
        #expect(error?.code == .unsupported)
    }

    @Test func `is not asked of tracks that a transport stream leaves out`() async throws {
        var bytes = try Self.movie([(0, 2), (4, 2)])
        // the audio becomes something else, presented at another speed
        let handler = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("soun".utf8)) })
        bytes.replaceSubrange(handler..<handler + 4, with: Array("meta".utf8))
        let list = try #require(bytes.indices.last { bytes[$0...].starts(with: Array("elst".utf8)) })
        bytes[list + 12 + 17] = 2
        var sink = BytesSink()
        let omitted = try await MediaDecryption(of: BytesReader(bytes), as: .transportStream, keys: GivenKeys()).write(to: &sink)
        #expect(omitted.count == 1 && omitted[0].contains("neither pictures nor sound"))
        let units = try TransportUnits.list(sink.bytes)
        #expect(units.count >= 100 && units.allSatisfy { $0.pid == 0x100 })
    }

    @Test func `is refused as fragments arrive`() throws {
        let bytes = try Fixtures.bytes("media/src/av.frag.mp4")
        var remux = SegmentRemux([SegmentRemux.Stream(tracks: try MP4File(BytesReader(try Self.movie([(0, 2), (6, 2)]))).tracks)])
        var sink = BytesSink()
        let moof = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("moof".utf8)) }) - 4
        remux.append(bytes.rawSpan.extracting(moof..<bytes.count))
        remux.end()
        let error = #expect(throws: MediaError.self) { try remux.write(to: &sink) }
        #expect(error?.message.contains("several parts") == true)
    }
}
