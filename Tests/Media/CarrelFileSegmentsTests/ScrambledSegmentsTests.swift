// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelFileSegments
import CarrelMP4
import CarrelMedia
import CarrelTS
import CarrelTesting
import CarrelThreads
import ProtectedMedia
import Testing

/// Waiting for keys blocks, which no thread that runs tasks may do.
private let pool = BlockingThreadPool(name: "segments", count: 1)

extension ScrambledSegments {
    fileprivate func segment(_ number: Int) async throws -> [UInt8] {
        try await pool.run {
            var sink = BytesSink()
            try write(number, to: &sink)
            return sink.bytes
        }
    }

    /// All segments without the tables in front of each but the first.
    fileprivate func joined() async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for number in segments.indices {
            let segment = try await segment(number)
            bytes += number == 0 ? segment : Self.withoutTables(segment)
        }
        return bytes
    }

    /// A segment without the tables in front of it.
    fileprivate static func withoutTables(_ bytes: [UInt8]) -> [UInt8] {
        var at = 0
        while let packet = TransportPacket.parse(bytes.rawSpan, at: at), [0, TransportStreamMuxer.mapPID].contains(packet.pid) {
            at += 188
        }
        return Array(bytes[at...])
    }
}

struct `A scrambled stream in segments` {
    private static func first(_ bytes: [UInt8]) -> [UInt16] {
        [0, 188].compactMap { TransportPacket.parse(bytes.rawSpan, at: $0)?.pid }
    }

    @Test(arguments: ["scanned", "indexed", "estimated"], [1, 4])
    func `is the clear stream, each segment from a sync picture on`(cuts: String, target: Int) async throws {
        let movie = try ScrambledMovie()
        let segments = try ScrambledSegments(
            BytesReader(movie.scrambled),
            keys: movie.keys,
            target: .seconds(target),
            index: cuts == "indexed" ? try movie.index : nil,
            duration: .seconds(12),
            scanLimit: cuts == "estimated" ? 0 : 1 << 30
        )
        #expect("\(segments.cuts)" == cuts)
        #expect(segments.segments.count == 12 / target)
        var all: [UInt8] = []
        for (number, segment) in segments.segments.enumerated() {
            let bytes = try await segments.segment(number)
            all += bytes
            #expect(Self.first(bytes) == [0, TransportStreamMuxer.mapPID])
            Self.checkSaysNothingOfScrambling(bytes)
            // the picture comes first, or after the tables of its second
            let units = try SegmentedFile.units(bytes)
            #expect(units[0x100]?.first?.isRandomAccess == true)
            if cuts != "estimated" {
                #expect(segment.duration == .seconds(target) || number == segments.segments.count - 1)
                #expect(segment.start == .seconds(target * number))
            }
        }
        let whole = try await movie.descrambled
        #expect(try await segments.joined() == whole)
        // joined with their tables too, without a gap of the counters
        let units = try SegmentedFile.units(all)
        #expect(units[0x100]?.count == 300)
        SegmentedFile.compare(units, try SegmentedFile.units(whole))
        #expect(segments.bandwidth.average > 0 && segments.bandwidth.peak >= segments.bandwidth.average)
    }

    /// Checks that all packets are clear, that there is no key message, and that no map speaks of scrambling.
    private static func checkSaysNothingOfScrambling(_ bytes: [UInt8]) {
        var tracker = ProgramTracker()
        var faults = 0
        for at in stride(from: 0, to: bytes.count, by: 188) {
            guard let packet = TransportPacket.parse(bytes.rawSpan, at: at) else { break }
            tracker.take(packet, bytes.rawSpan.extracting(at..<at + 188))
            let descriptors = tracker.map.map { map in map.descriptors + map.streams.flatMap(\.descriptors) } ?? []
            let speaks = tracker.messagePID != nil || descriptors.contains { $0.tag == StreamDescriptor.scrambling(0).tag }
            if packet.scrambling != 0 || packet.pid == 0x1f0 || speaks { faults += 1 }
        }
        #expect(faults == 0 && tracker.map != nil)
    }

    @Test(arguments: [1, 3, 40], [0, 1 << 30] as [Int64])
    func `may be cut inside of a map`(distance: Int, scanLimit: Int64) async throws {
        let movie = try ScrambledMovie { $0.pictureSize = 8_000 }
        let bytes = try movie.withLongMap(distance: distance)
        let segments = try ScrambledSegments(
            BytesReader(bytes),
            keys: movie.keys,
            target: .seconds(1),
            duration: .seconds(12),
            scanLimit: scanLimit
        )
        #expect(segments.segments.count == 12)
        let whole = try await ScrambledMovie.descrambled(bytes, movie.keys)
        #expect(whole != bytes)
        var all: [UInt8] = []
        for number in segments.segments.indices {
            let segment = try await segments.segment(number)
            all += segment
            Self.checkSaysNothingOfScrambling(segment)
            _ = try SegmentedFile.units(segment)
        }
        #expect(try await segments.joined() == whole)
        SegmentedFile.compare(try SegmentedFile.units(all), try SegmentedFile.units(whole))
    }

    @Test func `needs no segment to be written before another`() async throws {
        let movie = try ScrambledMovie { $0.messageInterval = 100 }
        for scanLimit in [0, 1 << 30] as [Int64] {
            let make = {
                try ScrambledSegments(
                    BytesReader(movie.scrambled),
                    keys: movie.keys,
                    target: .seconds(1),
                    duration: .seconds(12),
                    scanLimit: scanLimit
                )
            }
            let inOrder = try make()
            var bytes: [[UInt8]] = []
            for number in inOrder.segments.indices { bytes.append(try await inOrder.segment(number)) }
            for number in inOrder.segments.indices.reversed() {
                let other = try make()
                #expect(try await other.segment(number) == bytes[number], "\(number)")
            }
        }
    }

    @Test func `goes the same way when it is clear`() async throws {
        let movie = try ScrambledMovie { $0.isScrambled = false }
        let segments = try ScrambledSegments(BytesReader(movie.clear), keys: GivenKeys(), target: .seconds(2))
        #expect(segments.segments.count == 6)
        let whole = try await movie.descrambled
        #expect(try await segments.joined() == whole)
    }

    @Test func `without its keys is refused, and with a message too old the caller's are used`() async throws {
        let movie = try ScrambledMovie { $0.rotation = 100 }
        let none = try ScrambledSegments(BytesReader(movie.scrambled), keys: GivenKeys(), target: .seconds(4))
        let error = await #expect(throws: MediaError.self) { _ = try await none.segment(1) }
        #expect(error?.code == .missingKey && error?.message.contains("key id 0101") == true)
        var given = GivenKeys()
        given.add(Secret(ScrambledMovie.key(0)), for: .track(0))
        let byTrack = try ScrambledSegments(BytesReader(movie.scrambled), keys: given, target: .seconds(4))
        let whole = try await movie.descrambled
        #expect(try await byTrack.joined() == whole)
    }

    @Test func `is read by ranges`() async throws {
        // 8 MB: beyond what is read back
        let movie = try ScrambledMovie {
            $0.seconds = 40
            $0.pictureSize = 8_000
        }
        let reader = CountedReader(movie.scrambled)
        let segments = try ScrambledSegments(reader, keys: movie.keys, target: .seconds(2), duration: .seconds(40), scanLimit: 0)
        #expect(reader.blocks.count * 4096 < 1 << 20)
        reader.forget()
        _ = try await segments.segment(15)
        #expect(reader.blocks.count * 4096 < 2 << 20)
        let whole = try await movie.descrambled
        #expect(try await segments.joined() == whole)
    }

    @Test func `of 3,000,000 bits a second is guessed where nothing is said`() throws {
        let movie = try ScrambledMovie()
        let segments = try ScrambledSegments(BytesReader(movie.scrambled), keys: movie.keys, target: .seconds(1), scanLimit: 0)
        let seconds = Double(movie.scrambled.count) * 8 / 3_000_000
        #expect(abs(segments.duration / .seconds(1) - seconds) < 0.01)
        let slow = try ScrambledSegments(
            BytesReader(movie.scrambled),
            keys: movie.keys,
            target: .seconds(1),
            bitrate: 300_000,
            scanLimit: 0
        )
        #expect(abs(slow.duration / .seconds(1) - seconds * 10) < 0.01)
    }

    @Test func `whose segments are shorter than its pictures' distance has empty ones, and loses nothing`() async throws {
        let movie = try ScrambledMovie { $0.syncInterval = 4 }
        let segments = try ScrambledSegments(
            BytesReader(movie.scrambled),
            keys: movie.keys,
            target: .seconds(1),
            duration: .seconds(12),
            scanLimit: 0
        )
        #expect(segments.segments.count == 12)
        let whole = try await movie.descrambled
        #expect(try await segments.joined() == whole)
        let exact = try ScrambledSegments(BytesReader(movie.scrambled), keys: movie.keys, target: .seconds(1))
        #expect(exact.segments.count == 3)
        #expect(try await exact.joined() == whole)
    }

    @Test func `in which nothing can be decoded alone is refused within limits`() async throws {
        let movie = try ScrambledMovie { $0.seconds = 1 }
        // the flag goes
        func plain(_ bytes: [UInt8]) -> [UInt8] {
            var bytes = bytes
            for at in stride(from: 0, to: bytes.count, by: 188) where bytes[at + 3] & 0x20 != 0 && bytes[at + 4] > 0 {
                bytes[at + 5] &= ~0x40
            }
            return bytes
        }
        let bytes = plain(movie.scrambled)
        let error = #expect(throws: MediaError.self) {
            _ = try ScrambledSegments(BytesReader(bytes), keys: movie.keys, target: .seconds(1))
        }
        #expect(error?.code == .unsupported)
        // null packets without end
        let null: [UInt8] = [0x47, 0x1f, 0xff, 0x10] + [UInt8](repeating: 255, count: 184)
        let long = HostileFile(bytes, pattern: null, length: Int64(bytes.count) / 188 * 188 + 188 << 24)
        let segments = try ScrambledSegments(long, keys: movie.keys, target: .seconds(1), duration: .seconds(1000))
        let refusal = await #expect(throws: MediaError.self) { _ = try await segments.segment(500) }
        #expect(refusal?.code == .unsupported && refusal?.message.contains("32 MiB") == true)
        let count = #expect(throws: MediaError.self) {
            _ = try ScrambledSegments(long, keys: movie.keys, target: .milliseconds(1))
        }
        #expect(count?.message.contains("segments") == true)
    }

    @Test func `that is none is refused`() throws {
        for bytes in [[], [UInt8](repeating: 0, count: 1000), [UInt8](repeating: 0x47, count: 188 * 20)] as [[UInt8]] {
            #expect(throws: Malformed.self) {
                _ = try ScrambledSegments(BytesReader(bytes), keys: GivenKeys(), target: .seconds(1))
            }
        }
    }

    @Test func `never traps when it is damaged`() async throws {
        let movie = try ScrambledMovie { $0.seconds = 3 }
        var random = SplitMix(seed: 5)
        for round in 0..<200 {
            var bytes = movie.scrambled
            for _ in 0..<20 {
                let packet = Int.random(in: 0..<bytes.count / 188, using: &random) * 188
                bytes[packet + Int.random(in: 0..<12, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let damaged = bytes
            guard
                let segments = try? ScrambledSegments(
                    BytesReader(damaged),
                    keys: movie.keys,
                    target: .seconds(1),
                    scanLimit: round % 2 == 0 ? 0 : 1 << 30
                )
            else { continue }
            for number in segments.segments.indices { _ = try? await segments.segment(number) }
        }
    }
}

struct `The index of a scrambled stream` {
    private static func read(_ text: String) throws -> ScrambledIndex {
        let bytes = Array(text.utf8)
        return try ScrambledIndex(bytes.rawSpan)
    }

    @Test func `is a text of rising lines`() throws {
        let index = try Self.read("# made by hand\r\n0 0\r\n\n188 90000\n18800 180000")
        #expect(index.entries.map(\.offset) == [0, 188, 18_800] && index.entries.map(\.time) == [0, 90_000, 180_000])
        #expect(try Self.read(index.text) == index)
    }

    @Test(arguments: [
        "", "0 0\n", "0 0\n188 0\n", "0 5\n0 6\n", "188 0\n0 1\n", "0 0\n187 1\n", "0 0\n188\n", "0 0\n188 1 2\n",
        "0 0\n188  1\n",
        "0 0\n-188 1\n", "0 0\n188 1.5\n", "0 0\n99999999999999999999 1\n", "0 0\n188 99999999999999999999\n", "a b\n",
    ])
    func `is refused when a line is none, or does not rise`(text: String) {
        #expect(throws: Malformed.self) { try Self.read(text) }
    }

    @Test func `is refused when it extends past the stream`() throws {
        let movie = try ScrambledMovie { $0.seconds = 2 }
        let index = try Self.read("0 0\n\(movie.scrambled.count + 188) 90000\n")
        #expect(throws: Malformed.self) {
            _ = try ScrambledSegments(BytesReader(movie.scrambled), keys: movie.keys, target: .seconds(1), index: index)
        }
    }
}
