// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFileSegments
import CarrelMP4
import CarrelMedia
import CarrelTesting
import ProtectedMedia
import Testing

struct `Segments by an index` {
    private static func make() throws -> IndexedFile {
        let made = try IndexedFile(try Fixtures.bytes("media/src/av.frag.mp4"))
        try #require(made.fragments.count >= 4)
        return made
    }

    enum Form: String, CaseIterable { case flat, chained, chainedByOne, daisy, daisyByOne, table }

    private static func bytes(_ made: IndexedFile, _ form: Form) -> [UInt8] {
        switch form {
        case .flat: made.flat
        case .chained: made.chained(2)
        case .chainedByOne: made.chained(1)
        case .daisy: made.daisy(2)
        case .daisyByOne: made.daisy(1)
        case .table: made.table
        }
    }

    @Test(arguments: Form.allCases)
    func `have the units of the whole file, and are those without the index`(form: Form) async throws {
        let made = try Self.make()
        let bytes = Self.bytes(made, form)
        let whole = try await SegmentedFile(BytesReader(made.head + made.fragments.joined()), GivenKeys(), target: .seconds(2))
        let file = try await SegmentedFile(BytesReader(bytes), GivenKeys(), target: .seconds(2))
        #expect(file.segments.segments.map(\.startTime) == whole.segments.segments.map(\.startTime))
        SegmentedFile.compare(
            try SegmentedFile.units(try file.transport),
            try SegmentedFile.units(try await SegmentedFile.remux(bytes, GivenKeys()))
        )
        let known = try await SegmentedFile(BytesReader(bytes), GivenKeys(), target: .seconds(2), isIndexed: false)
        #expect(known.segments.segments.map(\.startTime) == whole.segments.segments.map(\.startTime))
    }

    @Test(arguments: [Form.flat, .chainedByOne, .table])
    func `spare reading the fragments`(form: Form) async throws {
        let bytes = Self.bytes(try IndexedFile(try LongSegments.fragments(40)), form)
        let reader = CountedReader(bytes)
        let file = try await SegmentedFile(reader, GivenKeys(), target: .seconds(2))
        #expect(file.segments.segments.count == 20)
        // the header of the first fragment, of the last one for its end, and of each index in front of its fragments
        #expect(
            reader.blocks.count < (form == .chainedByOne ? 250 : 30),
            "\(reader.blocks.count) of \(bytes.count / 4096) blocks"
        )
        reader.forget()
        let count = try file.transport(13).count
        #expect(reader.blocks.count * 4096 < count + 40 * 4096 && count > 1 << 18)
    }

    @Test func `of protected fragments have the units of the whole file`() async throws {
        let fixture = try #require(ProtectedFixture.all.first { $0.name == "cenc/av.cbcs.mp4" })
        let bytes = try IndexedFile(try Fixtures.bytes("media/\(fixture.name)")).daisy(1)
        let file = try await SegmentedFile(BytesReader(bytes), fixture.keys)
        SegmentedFile.compare(
            try SegmentedFile.units(try file.transport),
            try SegmentedFile.units(try await SegmentedFile.remux(bytes, fixture.keys))
        )
    }

    @Test func `name the keys that fragments bring`() async throws {
        var movie = ProtectedMovie()
        movie.samples = ProtectedMovie.samples(7, hasParts: false, [Int](repeating: 100, count: 12))
        movie.groups = [.init(key: 2), .init(key: 3)]
        for number in 6..<12 { movie.samples[number].group = number < 9 ? 1 : 2 }
        movie.partsPerFragment = 1
        let made = try IndexedFile(try movie.fragments())
        let reader = BytesReader(made.flat)
        // the keys of the movie alone
        let protection = try await FileProtection(try MP4File(BytesReader(made.head)), from: movie.keys)
        let file = try MP4File(reader, leavesFragmentsToIndex: true)
        var segments = try FileSegments(file, in: reader, protection, target: .nanoseconds(1)) { _ in true }
        #expect(segments.segments.count == 4)
        let error = #expect(throws: MediaError.self) {
            var sink = BytesSink()
            try segments.write(2, as: .fragment, to: &sink)
        }
        #expect(error?.code == .missingKey)
        var written = BytesSink()
        let head = try segments.initialization()
        written.write(head.rawSpan)
        for index in segments.segments.indices {
            try await segments.protection.resolve(try segments.keyIDs(of: index), from: movie.keys)
            try segments.write(index, as: .fragment, to: &written)
        }
        #expect(try await ProtectedMovie.read(written.bytes, GivenKeys()) == movie.samples.flatMap(\.clear))
    }

    @Test(arguments: ["media/src/av-h264-aac.mp4", "media/cenc/av-nonfrag.cenc.mp4", "media/dcf/av.pdcf-ctr.mp4"])
    func `read no samples but their own`(name: String) async throws {
        let keys = ProtectedFixture.samples.first { "media/\($0.name)" == name }?.keys ?? GivenKeys()
        let bytes = try Fixtures.bytes(name)
        let reader = CountedReader(bytes)
        let file = try await SegmentedFile(reader, keys)
        var media = 0..<0 as Range<Int64>
        try MP4File(BytesReader(bytes)).forEachBox { box, _ in if box.type == "mdat" { media = box.content } }
        let last = file.segments.segments.count - 1
        reader.forget()
        _ = try file.transport(last)
        // windows of the tables reach 64 KiB into the media after them
        media = media.lowerBound + 65_536..<media.upperBound
        let read = reader.blocks.filter { media.contains($0 * 4096) && media.contains($0 * 4096 + 4095) }
        #expect(!read.isEmpty && read.count * 4096 < media.count / 3)
    }

    // MARK: - Hostile ones

    private static func refused(_ bytes: [UInt8], isIndexed: Bool = true) async throws -> String {
        do {
            let file = try await SegmentedFile(BytesReader(bytes), GivenKeys(), isIndexed: isIndexed)
            _ = try file.transport
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test func `that lies are refused`() async throws {
        let made = try Self.make()
        let media = Array(made.fragments.joined())
        typealias Reference = IndexedFile.Reference
        // past the end
        let long = made.index(at: 0, [Reference(size: 0x7fff_ffff, duration: 1000)])
        #expect(try await Self.refused(made.head + long + media).contains("past the end"))
        // a size of nothing, over and over
        let empty = made.index(at: 0, [Reference](repeating: Reference(size: 0, duration: 0), count: 60_000))
        #expect(try await Self.refused(made.head + empty + media).contains("empty"))
        // subsegments that begin anywhere
        let anywhere = made.index(at: 0, (0..<4).map { _ in Reference(size: media.count / 4 - 3, duration: 30_000) })
        #expect(try await Self.refused(made.head + anywhere + media) != "")
        // an index that leads to something else
        let other = made.index(at: 0, [Reference(isIndex: true, size: media.count, duration: 1)])
        #expect(try await Self.refused(made.head + other + media).contains("leads to something else"))
        // one that leads to no index, with no bytes
        let none = made.index(at: 0, [Reference](repeating: Reference(isIndex: true, size: 0, duration: 1), count: 60_000))
        #expect(try await Self.refused(made.head + none + media) != "")
        // more references than bytes
        var cut = made.index(at: 0, [Reference(size: 8, duration: 1)])
        cut[cut.count - 14] = 255
        #expect(try await Self.refused(made.head + cut + media).contains("more references"))
        // no time scale
        var still = made.index(at: 0, [Reference(size: media.count, duration: 1)])
        still.replaceSubrange(16..<20, with: [0, 0, 0, 0])
        #expect(try await Self.refused(made.head + still + media).contains("time scale"))
        // too deep
        var deep = made.index(at: 0, [Reference(size: media.count, duration: 1)]) + media
        for _ in 0..<100 { deep = made.index(at: 0, [Reference(isIndex: true, size: deep.count, duration: 1)]) + deep }
        #expect(try await Self.refused(made.head + deep).contains("too deep"))
        // no duration at all is no more than a strange playlist
        let instant = made.index(at: 0, [Reference(size: media.count, duration: 0)])
        let file = try await SegmentedFile(BytesReader(made.head + instant + media), GivenKeys())
        #expect(file.segments.segments.count == 1 && file.segments.bandwidth == (0, 0))
    }

    @Test func `that are damaged anywhere never trap`() async throws {
        let made = try Self.make()
        var random = SplitMix(seed: 11)
        for (bytes, type) in [(made.chained(1), "sidx"), (made.table, "mfra")] {
            let name = Array(type.utf8)
            // the first index lies before the fragments, the table after them
            let places = type == "sidx" ? made.head.count..<bytes.count : bytes.count - 1000..<bytes.count
            let index = try #require(places.first { Array(bytes[$0..<min(bytes.count, $0 + 4)]) == name })
            for _ in 0..<60 {
                var damaged = bytes
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    let place = min(bytes.count - 1, index + Int.random(in: 0...120, using: &random))
                    damaged[place] = [0, 1, 0x7f, 0x80, 0xff].randomElement(using: &random) ?? 0
                }
                do {
                    let file = try await SegmentedFile(BytesReader(damaged), GivenKeys())
                    _ = try? file.transport(file.segments.segments.count - 1)
                } catch {}
            }
        }
    }
}
