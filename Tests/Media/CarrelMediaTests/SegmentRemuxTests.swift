// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia
import CarrelTS
import CarrelTesting
import Testing

struct `Segments of several streams` {
    private static let names = ["v", "a"]

    /// An event message with an ID3 tag, relative to its segment (ISO/IEC 23009-1 §5.10.3.3).
    private static func message(_ id: UInt8, at milliseconds: UInt16) -> [UInt8] {
        let scheme = Array("https://aomedia.org/emsg/ID3\u{0}\u{0}".utf8)
        let tag = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, 0]
        let times = [UInt8(milliseconds >> 8), UInt8(milliseconds & 0xff)]
        let numbers: [UInt8] = [0, 0, 0x03, 0xe8, 0, 0] + times + [0, 0, 0, 0, 0, 0, 0, id]
        let content = [0, 0, 0, 0] + scheme + numbers + tag
        return [0, 0, 0, UInt8(content.count + 8)] + Array("emsg".utf8) + content
    }

    /// A segment of pictures and one of audio as one transport stream.
    private static func remuxed(
        _ number: Int,
        pieces step: Int,
        taking limit: Int? = nil,
        messages: [UInt8] = []
    ) async throws -> [UInt8] {
        var streams: [SegmentRemux.Stream] = []
        var rest: [[UInt8]] = []
        for name in names {
            let initialization = try Fixtures.bytes("media/dash/number-clear/\(name)-init.mp4")
            streams.append(try await SegmentRemux.Stream(initialization: initialization, keys: GivenKeys()))
            let media = try Fixtures.bytes("media/dash/number-clear/\(name)-000\(number + 1).m4s")
            rest.append(name == "v" ? messages + media : media)
        }
        var remux = SegmentRemux(streams, number: number)
        var sink = BytesSink()
        var places = [0, 0]
        while true {
            var wanted: Int?
            if let limit {
                switch try await remux.advance(keys: GivenKeys()) {
                case .packets:
                    while true {
                        let packets = remux.takePackets(limit)
                        #expect(packets.count <= limit)
                        if packets.isEmpty { break }
                        sink.write(packets.rawSpan)
                    }
                    continue
                case .stream(let stream): wanted = stream
                case .finished: break
                }
            } else {
                wanted = try await remux.write(to: &sink, keys: GivenKeys())
            }
            guard let wanted else { break }
            let piece = rest[wanted][places[wanted]...].prefix(step)
            places[wanted] += piece.count
            if piece.isEmpty { remux.end(wanted) } else { remux.append(Array(piece).rawSpan, to: wanted) }
        }
        #expect(remux.omitted == [])
        return sink.bytes
    }

    @Test(arguments: [997, 4096, 1 << 24]) func `are the same whatever the pieces`(step: Int) async throws {
        let whole = try await Self.remuxed(0, pieces: 1 << 24)
        #expect(try await Self.remuxed(0, pieces: step) == whole)
    }

    @Test(arguments: [188, 1000, 1 << 20]) func `are the same where their packets are taken in parts`(limit: Int) async throws {
        let whole = try await Self.remuxed(0, pieces: 1 << 24)
        #expect(try await Self.remuxed(0, pieces: 50_000, taking: limit) == whole)
    }

    @Test func `join without a fault, in the order of decoding`() async throws {
        var joined: [UInt8] = []
        for number in 0..<3 { joined += try await Self.remuxed(number, pieces: 1 << 16) }
        let units = try TransportUnits.list(joined)
        #expect(units.count == 250 + 470)
        var last: [UInt16: Int64] = [:]
        for unit in units {
            let time = unit.decodeTime
            #expect(time > last[unit.pid] ?? -1)
            last[unit.pid] = time
        }
    }

    @Test func `have the ID3 tags of event messages at their times`() async throws {
        let messages = Self.message(1, at: 500) + Self.message(2, at: 2500) + Self.message(2, at: 2500)
        let units = try TransportUnits.list(try await Self.remuxed(1, pieces: 5000, messages: messages))
        let tags = units.filter { $0.data.starts(with: Array("ID3".utf8)) }
        let pictures = units.filter { $0.data.starts(with: [0, 0, 0, 1]) }
        let first = try #require(pictures.map(\.presentationTime).min())
        #expect(tags.map(\.presentationTime) == [first + 45_000, first + 225_000])
    }

    /// Packagers write signed composition offsets in the fragments with reordered pictures, and only there.
    @Test func `never run backwards where a segment without reordering precedes one with it`() async throws {
        let file = try MP4File(BytesReader(Fixtures.bytes("media/src/video.mp4")))
        let track = try #require(file.tracks.first { $0.kind == "vide" })
        var movie = try MovieTrack(track)
        movie.edits = []
        let initialization = InitializationSegment(movie).bytes
        var samples: [MP4Sample] = []
        var all = file.samples(of: track)
        while samples.count < 100, let sample = try all.next() { samples.append(sample) }
        let depth = samples[0].compositionOffset
        try #require(depth > 0)
        var joined: [UInt8] = []
        for number in 0..<2 {
            var fragment = MediaFragment(
                sequenceNumber: UInt32(number + 1),
                trackID: track.id,
                decodeTime: UInt64(samples[number * 50].decodeTime)
            )
            var media: [UInt8] = []
            for sample in samples[number * 50..<number * 50 + 50] {
                let offset = number == 0 ? 0 : sample.compositionOffset - depth
                let fits = fragment.append(
                    size: sample.size,
                    duration: sample.duration,
                    compositionOffset: offset,
                    isSync: sample.isSync
                )
                try #require(fits)
                media += try file.reader.readAll(sample.range)
            }
            var remux = SegmentRemux([try await .init(initialization: initialization, keys: GivenKeys())], number: number)
            var sink = BytesSink()
            remux.append((SegmentType.bytes + fragment.header + media).rawSpan)
            remux.end()
            while try remux.write(to: &sink) != nil {}
            joined += sink.bytes
        }
        let units = try TransportUnits.list(joined)
        #expect(units.count == 100)
        for (unit, next) in zip(units, units.dropFirst()) { #expect(unit.decodeTime < next.decodeTime) }
        #expect(units.allSatisfy { $0.decodeTime <= $0.presentationTime })
        // clock references, at the beginning of adaptation fields (ISO/IEC 13818-1 §2.4.3.5)
        var last: UInt64 = 0
        for packet in stride(from: 0, to: joined.count, by: 188)
        where joined[packet + 3] & 0x20 != 0 && joined[packet + 4] > 6 && joined[packet + 5] & 0x10 != 0 {
            let clock = joined.rawSpan.u64(at: packet + 6) >> 31
            #expect(clock >= last)
            last = clock
        }
        #expect(last > 0)
    }
}
