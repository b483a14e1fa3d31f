// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelFileSegments
import CarrelMP4
import CarrelMedia
import CarrelTS
import CarrelTesting
import Glibc
import ProtectedMedia
import Testing

/// Counts what is written, and keeps nothing.
private struct NoSink: MediaSink {
    var count: Int64 = 0
    mutating func write(_ bytes: RawSpan) { count += Int64(bytes.byteCount) }
    mutating func overwrite(_ bytes: RawSpan, at offset: Int64) {}
}

/// Long segments, in a process of their own.
enum LongSegments {
    static let sampleSize = 40_000
    static let count = 5_000

    /// A movie of one fragment of 200 MB of pictures.
    static func fragmented() throws -> HostileFile {
        let source = try MP4File(BytesReader(try Fixtures.bytes("media/src/video.frag.mp4")))
        let track = try MovieTrack(source.tracks[0])
        let head = InitializationSegment(track).bytes
        var fragment = MediaFragment(sequenceNumber: 1, trackID: track.id, decodeTime: 0)
        for number in 0..<count {
            _ = fragment.append(
                size: sampleSize,
                duration: Int64(track.timescale) / 25,
                compositionOffset: 0,
                isSync: number == 0
            )
        }
        var picture: [UInt8] = []
        picture.append(bigEndian: UInt32(sampleSize - 4))
        picture += [0x65, 0x88] + (0..<sampleSize - 6).map { UInt8(truncatingIfNeeded: $0 % 251 + 1) }
        let bytes = head + fragment.header
        return HostileFile(bytes, pattern: picture, length: Int64(bytes.count + sampleSize * count))
    }

    /// A movie of fragments of a second, each of which has 25 pictures of 8,000 bytes.
    static func fragments(_ count: Int) throws -> [UInt8] {
        let source = try MP4File(BytesReader(try Fixtures.bytes("media/src/video.frag.mp4")))
        let track = try MovieTrack(source.tracks[0])
        var bytes = InitializationSegment(track).bytes
        for number in 0..<count {
            var fragment = MediaFragment(
                sequenceNumber: UInt32(number + 1),
                trackID: track.id,
                decodeTime: UInt64(number) * UInt64(track.timescale)
            )
            for i in 0..<25 {
                let duration = Int64(track.timescale) / 25
                _ = fragment.append(size: 8_000, duration: duration, compositionOffset: 0, isSync: i == 0)
            }
            bytes += fragment.header
            for i in 0..<25 {
                bytes += [0, 0, 0x1f, 0x3c, i == 0 ? 0x65 : 0x41, 0x88] + [UInt8](repeating: UInt8(i + 1), count: 7_994)
            }
        }
        return bytes
    }

    /// A progressive movie of audio frames in one chunk of 200 MB.
    static func listed() -> HostileFile {
        typealias F = HostileFile
        let size = 2_000
        let count = 100_000
        let fields = [UInt8](repeating: 0, count: 6) + [0, 1] + F.words(0, 0) + [0, 2, 0, 16] + F.words(0, 48_000 << 16)
        let entry = F.box("ac-3", fields + F.box("dac3", [0x10, 0x3d, 0x40]))
        let handler = F.box("hdlr", F.words(0, 0) + Array("soun".utf8) + F.words(0, 0, 0) + [0])
        func tables(_ offset: Int) -> [UInt8] {
            F.box("stsd", F.words(0, 1) + entry) + F.box("stts", F.words(0, 1, count, 1536))
                + F.box("stsc", F.words(0, 1, 1, count, 1)) + F.box("stsz", F.words(0, size, count))
                + F.box("stco", F.words(0, 1, offset))
        }
        func head(_ offset: Int) -> [UInt8] {
            let media = F.box(
                "mdia",
                F.box("mdhd", F.words(0, 0, 0, 48_000, 0) + [0x55, 0xc4, 0, 0]) + handler
                    + F.box("minf", F.box("stbl", tables(offset)))
            )
            let track = F.box("trak", F.box("tkhd", F.words(1, 0, 0, 1, 0, 0)) + media)
            let movie = F.box("moov", F.box("mvhd", F.words(0, 0, 0, 1000, 0)) + track)
            return F.brand + movie + F.header("mdat", size * count)
        }
        let bytes = head(head(0).count)
        return F(bytes, pattern: (0..<65_536).map { UInt8($0 % 251) }, length: Int64(bytes.count + size * count))
    }

    static func measure(_ name: String) async throws {
        let file = name == "fragmented" ? try fragmented() : listed()
        let before = status("VmRSS")
        if let stream = unsafe fopen("/proc/self/clear_refs", "we") {
            unsafe fputs("5", stream)
            unsafe fclose(stream)
        }
        let segmented = try await SegmentedFile(file, GivenKeys(), target: .seconds(86_400))
        guard segmented.segments.segments.count == 1 else { fatalError("\(segmented.segments.segments.count) segments") }
        var sink = NoSink()
        try segmented.segments.write(0, as: .transportStream, to: &sink)
        guard sink.count > 200_000_000 else { fatalError("\(sink.count) bytes") }
        try segmented.segments.write(0, as: .fragment, to: &sink)
        guard sink.count > 400_000_000 else { fatalError("\(sink.count) bytes") }
        print("\nPEAK\t\(Double(status("VmHWM") - before) / 1024)")
        fflush(nil)
    }

    private static func status(_ field: String) -> Int {
        let text = String(decoding: Fixtures.bytes(at: "/proc/self/status") ?? [], as: UTF8.self)
        for line in text.split(separator: "\n") where line.hasPrefix("\(field):") {
            return Int(line.split(whereSeparator: { " \t".contains($0) })[1]) ?? 0
        }
        return 0
    }
}

@Suite(.serialized) struct `Limits of segments` {
    private static let isSanitized = unsafe getenv("CARREL_SANITIZER") != nil

    @Test(arguments: ["fragmented", "listed"])
    func `of 200 MB stay far below it in memory`(name: String) async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [name = name as String] in
            try await LongSegments.measure(name)
        }
        let text = String(decoding: result.standardOutputContent, as: UTF8.self)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("PEAK\t") })
        let peak = try #require(Double(line.dropFirst(5)))
        if !Self.isSanitized { #expect(peak < 32, "\(peak) MiB") }
    }

    @Test func `refuse more samples than any file has`() async throws {
        let count = 1 << 28
        let tables =
            HostileFile.box("stts", HostileFile.words(0, 1, count, 1))
            + HostileFile.box("stsc", HostileFile.words(0, 1, 1, count, 1))
            + HostileFile.box("stco", HostileFile.words(0, 1, 0)) + HostileFile.box("stsz", HostileFile.words(0, 1, count))
        let file = HostileFile(HostileFile.brand + HostileFile.movie(tables: tables), length: Int64(count))
        var keys = GivenKeys()
        keys.add(Secret([UInt8](repeating: 3, count: 16)), for: nil)
        let given = keys
        let error = await #expect(throws: MediaError.self) { _ = try await SegmentedFile(file, given) }
        #expect(error?.message.contains("samples") == true)
    }

    @Test func `refuse more segments than any playlist has`() async throws {
        // a frame lasts 32 ms
        let error = await #expect(throws: MediaError.self) {
            _ = try await SegmentedFile(LongSegments.listed(), GivenKeys(), target: .milliseconds(1))
        }
        #expect(error?.message.contains("segments") == true)
    }

    @Test func `leave pictures without a sync sample in one segment`() async throws {
        let file = try await SegmentedFile(try LongSegments.fragmented(), GivenKeys(), target: .seconds(1))
        #expect(file.segments.segments.count == 1 && file.segments.iFrames.count == 1)
        #expect(abs(file.segments.duration / .seconds(1) - 200) < 0.1)
    }
}
