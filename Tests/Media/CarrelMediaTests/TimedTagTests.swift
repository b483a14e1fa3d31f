// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia
import CarrelTS
import CarrelTesting
import Testing

struct `Event messages of fragments` {
    private static let scheme = "https://aomedia.org/emsg/ID3"

    /// An ID3 tag with a private frame of that many bytes.
    private static func tag(_ count: Int, _ byte: UInt8 = 1) -> [UInt8] {
        var frame = Array("PRIV".utf8)
        frame += size(count + 2)
        frame += [0, 0, 0x61, 0] as [UInt8]
        frame += [UInt8](repeating: byte, count: count)
        var tag = Array("ID3".utf8)
        tag += [4, 0, 0] as [UInt8]
        tag += size(frame.count)
        return tag + frame
    }

    private static func size(_ count: Int) -> [UInt8] {
        [21, 14, 7, 0].map { (shift: Int) -> UInt8 in UInt8(count >> shift & 0x7f) }
    }

    private static func message(_ time: UInt64, _ data: [UInt8], id: UInt32, scheme: String = scheme, isRelative: Bool = false)
        -> [UInt8]
    {
        var message = EventMessage(scheme: scheme, value: "1", timescale: 1000, time: time, duration: .max, id: id, data: data)
        message.isRelative = isRelative
        var writer = BoxWriter()
        message.write(to: &writer)
        return writer.bytes
    }

    /// A fragmented file with boxes in front of its fragments, by their numbers.
    private static func file(_ boxes: [Int: [UInt8]]) throws -> [UInt8] {
        let bytes = try Fixtures.bytes("media/src/av.frag.mp4")
        var out: [UInt8] = []
        var at = 0
        var number = 0
        while at < bytes.count {
            let size = Int(bytes.rawSpan.u32(at: at))
            if bytes[at + 4..<at + 8].elementsEqual("moof".utf8) {
                out += boxes[number] ?? []
                number += 1
            }
            out += bytes[at..<at + size]
            at += size
        }
        try #require(number > 2)
        return out
    }

    private static func remux(_ bytes: [UInt8], piece: Int = .max, hasTimedID3: Bool = false) throws -> [UInt8] {
        var remux = SegmentRemux([SegmentRemux.Stream()], hasTimedID3: hasTimedID3)
        var sink = BytesSink()
        for start in stride(from: 0, to: bytes.count, by: min(piece, bytes.count)) {
            remux.append(bytes.rawSpan.extracting(start..<min(bytes.count, start + min(piece, bytes.count))))
            try remux.write(to: &sink)
        }
        remux.end()
        try remux.write(to: &sink)
        return sink.bytes
    }

    private static func tags(_ stream: [UInt8]) throws -> [AccessUnit] {
        try TransportUnits.list(stream).filter { $0.pid == 0x1fe }
    }

    @Test(arguments: [Int.max, 1009])
    func `become timed ID3 tags at their times`(piece: Int) throws {
        let bytes = try Self.file([
            0: Self.message(500, Self.tag(20, 1), id: 1) + Self.message(4000, Self.tag(300, 2), id: 2),
            1: Self.message(250, Self.tag(20, 3), id: 3, isRelative: true) + Self.message(4000, Self.tag(300, 2), id: 2),
        ])
        let stream = try Self.remux(bytes, piece: piece)
        let units = try TransportUnits.list(stream)
        let second = try Self.startOfSecondFragment(bytes)
        let tags = try Self.tags(stream)
        #expect(tags.map(\.data) == [Self.tag(20, 1), Self.tag(20, 3), Self.tag(300, 2)])
        let times: [Int64] = [945_000, 922_500 + second, 1_260_000]
        #expect(tags.map(\.presentationTime) == times)
        // each lies between samples of its time; samples of a fragment come track after track
        for tag in tags {
            let place = try #require(units.firstIndex { $0.pid == 0x1fe && $0.data == tag.data })
            let near = units[max(0, place - 8)..<min(units.count, place + 8)].filter { $0.pid != 0x1fe }
            #expect(near.contains { abs($0.decodeTime - tag.presentationTime) < 45_000 })
        }
        // video and audio equal the file without messages
        let plain = try TransportUnits.list(Self.remux(try Self.file([:])))
        for pid in [UInt16(0x100), 0x101] {
            #expect(units.filter { $0.pid == pid }.map(\.data) == plain.filter { $0.pid == pid }.map(\.data))
        }
    }

    /// When the first sample of the second fragment is presented, in ticks.
    private static func startOfSecondFragment(_ bytes: [UInt8]) throws -> Int64 {
        var reader = FragmentReader()
        reader.append(bytes.rawSpan)
        reader.end()
        var fragments = 0
        while let event = try reader.next() {
            if case .fragment = event { fragments += 1 }
            guard fragments == 2, case .sample(let track, let sample, _) = event else { continue }
            let media = reader.tracks[track].editList.edits.first?.mediaTime ?? 0
            let time = sample.decodeTime + sample.compositionOffset - max(0, media)
            return time * 90_000 / Int64(reader.tracks[track].timescale)
        }
        throw Malformed("no second fragment", at: 0)
    }

    @Test func `add a stream with the first tag, or have one from the beginning`() throws {
        let late = try Self.file([2: Self.message(0, Self.tag(20), id: 1, isRelative: true)])
        var demuxer = TransportStreamDemuxer()
        let stream = try Self.remux(late)
        try demuxer.consume(stream.rawSpan)
        var programs: [ProgramMap] = []
        while let event = demuxer.next() { if case .program(let map) = event { programs.append(map) } }
        #expect(programs.first?.streams.map(\.type) == [0x1b, 0x0f])
        #expect(programs.last?.streams.map(\.type) == [0x1b, 0x0f, 0x15])
        #expect(try Self.tags(stream).count == 1)
        var other = TransportStreamDemuxer()
        let declared = try Self.remux(try Self.file([:]), hasTimedID3: true)
        try other.consume(declared.rawSpan)
        guard case .program(let map) = other.next() else {
            Issue.record("no program")
            return
        }
        // Timed Metadata for HTTP Live Streaming, tables 2-2 and 2-3
        #expect(map.streams.last?.type == 0x15)
        #expect(map.streams.last?.descriptors.first?.tag == 0x26)
        #expect(map.descriptors.map(\.tag) == [0x25])
        #expect(try Self.tags(declared).isEmpty)
    }

    @Test func `are passed over without an ID3 tag, and left out where they do not fit`() throws {
        let bytes = try Self.file([
            0: [
                Self.message(1, Self.tag(20), id: 1, scheme: "urn:scte:scte35:2013:bin"),
                Self.message(2, [1, 2, 3], id: 2),
                Self.message(3, Self.tag(70_000), id: 3),
                Self.message(4, Self.tag(20), id: 4, scheme: "urn:mpeg:dash:event:2012"),
            ].flatMap(\.self)
        ])
        var remux = SegmentRemux([SegmentRemux.Stream()])
        var sink = BytesSink()
        remux.append(bytes.rawSpan)
        remux.end()
        try remux.write(to: &sink)
        #expect(try Self.tags(sink.bytes).map(\.presentationTime) == [900_360])
        #expect(remux.omitted.count == 1 && remux.omitted[0].contains("ID3 tag of 70"))
    }

    @Test func `are bounded, and refused where they are damaged`() throws {
        let many = (0..<2000).flatMap { Self.message(1000, Self.tag(20), id: UInt32($0)) }
        #expect(throws: Malformed.self) { _ = try Self.remux(try Self.file([0: many])) }
        let box = Self.message(500, Self.tag(20), id: 1)
        for count in 8..<box.count - Self.tag(20).count {
            var short = Array(box.prefix(count))
            short[2] = UInt8(count >> 8)
            short[3] = UInt8(count & 255)
            #expect(throws: Malformed.self) { _ = try Self.remux(try Self.file([0: short])) }
        }
    }

    @Test(arguments: [true, false]) func `are read as they were written`(isRelative: Bool) throws {
        let box = Self.message(1234, [1, 2, 3], id: 9, isRelative: isRelative)
        let message = try EventMessage(box.rawSpan.extracting(8..<box.count))
        #expect(message.scheme == Self.scheme && message.value == "1" && message.timescale == 1000 && message.time == 1234)
        #expect(message.duration == .max && message.id == 9 && message.data == [1, 2, 3] && message.isRelative == isRelative)
        var writer = BoxWriter()
        message.write(to: &writer)
        #expect(writer.bytes == box)
    }

    @Test func `are a stream that ffprobe knows`() async throws {
        let probe = try requirePeer("ffprobe")
        let directory = TemporaryDirectory()
        let path = directory.write("a.ts", try Self.remux(try Self.file([0: Self.message(500, Self.tag(20), id: 1)])))
        let text = try await checkProcess([probe, "-v", "warning", "-show_entries", "stream=codec_name", "-of", "csv=p=0", path])
        #expect(text.contains("timed_id3"))
    }
}
