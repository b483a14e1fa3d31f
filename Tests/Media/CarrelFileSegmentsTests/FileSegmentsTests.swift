// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelFileSegments
import CarrelMP4
import CarrelMedia
import CarrelTS
import CarrelTesting
import ProtectedMedia
import Testing

struct `A file in segments` {
    private static let clear = [
        "av.frag.mp4", "av-h264-aac.mp4", "av-hevc-aac.mp4", "audio.mp4", "audio.frag.mp4", "video.mp4", "video.frag.mp4",
        "video-hevc.frag.mp4", "book.m4b",
    ]

    /// The files that a transport stream can hold, with their keys.
    private static let names: [(name: String, keys: GivenKeys)] =
        ProtectedFixture.samples.map { ("media/\($0.name)", $0.keys) } + clear.map { ("media/src/\($0)", GivenKeys()) }

    @Test(arguments: names.map(\.name))
    func `has the units of the whole file, at the same times`(name: String) async throws {
        let keys = try #require(Self.names.first { $0.name == name }).keys
        let bytes = try Fixtures.bytes(name)
        let file = try await SegmentedFile(BytesReader(bytes), keys)
        let whole: [UInt8]
        do { whole = try await SegmentedFile.remux(bytes, keys) } catch let error as MediaError where error.code == .unsupported {
            #expect(file.segments.omitted.count == file.segments.tracks.count)
            let refusal = #expect(throws: MediaError.self) { try file.transport(0) }
            #expect(refusal?.code == .unsupported)
            return
        }
        let segments = file.segments.segments
        let least = name.contains("hevc") || name.contains("media3") ? 1 : 5
        #expect(segments.count >= least && segments.allSatisfy { $0.endTime > $0.startTime })
        let units = try SegmentedFile.units(try file.transport)
        SegmentedFile.compare(units, try SegmentedFile.units(whole))
        // over the cuts too
        for list in units.values { #expect(zip(list, list.dropFirst()).allSatisfy { $0.decodeTime < $1.decodeTime }) }
    }

    @Test(arguments: names.map(\.name))
    func `begins each segment with tables and a picture that is decoded alone`(name: String) async throws {
        let keys = try #require(Self.names.first { $0.name == name }).keys
        let file = try await SegmentedFile(BytesReader(try Fixtures.bytes(name)), keys)
        guard file.segments.omitted.isEmpty else { return }
        let video = file.segments.tracks.first { $0.kind == "vide" }
        for (index, segment) in file.segments.segments.enumerated() {
            let bytes = try file.transport(index)
            #expect(bytes.count % 188 == 0 && bytes.count <= segment.byteCount, "\(index)")
            let packets = [0, 188].map { TransportPacket.parse(bytes.rawSpan, at: $0) }
            #expect(packets.map { $0?.pid } == [0, TransportStreamMuxer.mapPID])
            var units = try SegmentedFile.units(bytes)
            let position = file.segments.tracks.firstIndex { $0.kind == "vide" } ?? 0
            guard video != nil else { continue }
            let first = try #require(units.removeValue(forKey: 0x100 + UInt16(position))?.first)
            #expect(first.isRandomAccess)
            #expect(first.presentationTime == TransportRemuxer.origin + segment.startTime)
        }
    }

    @Test(arguments: [
        "media/cenc/av.cenc.mp4", "media/cenc/av-nonfrag.cenc.mp4", "media/cenc/audio.cbcs.mp4", "media/dcf/av.pdcf-cbc.mp4",
        "media/marlin/av.acgk.mp4", "media/isma/av.isma-iaec.mp4", "media/cenc/video.cenc.keyroll-rap.mp4",
        "media/cenc/audio.cbcs.keyroll-40.mp4", "media/cenc/av.piff-cbc.mp4", "media/src/book.m4b",
    ])
    func `is written in any order with the same bytes`(name: String) async throws {
        let keys = try #require(Self.names.first { $0.name == name }).keys
        let reader = BytesReader(try Fixtures.bytes(name))
        let file = try await SegmentedFile(reader, keys)
        guard file.segments.omitted.isEmpty else { return }
        let numbers = Array(file.segments.segments.indices)
        let forms = try numbers.map { try file.transport($0) }
        let other = try await SegmentedFile(reader, keys)
        for number in numbers.reversed() + [numbers.count / 2, 0, numbers.count - 1] {
            #expect(try other.transport(number) == forms[number], "\(number)")
        }
    }

    @Test(arguments: names.map(\.name))
    func `has the samples of each track as fragments, at their presentation`(name: String) async throws {
        let keys = try #require(Self.names.first { $0.name == name }).keys
        let bytes = try Fixtures.bytes(name)
        let file = try await SegmentedFile(BytesReader(bytes), keys)
        let source = try MP4File(BytesReader(bytes))
        let protection = try await FileProtection(source, from: keys)
        for info in file.segments.tracks {
            let track = try #require(source.tracks.first { $0.id == info.id })
            let made = try MP4File(BytesReader(try file.fragments(track: info.id)))
            let copy = try #require(made.tracks.first)
            #expect(made.tracks.count == 1 && copy.protection == nil && copy.editList.edits.isEmpty)
            #expect(copy.entries.first?.codecString == info.codecs)
            let expected = try ClearTrackReader(track, of: source, protection)
            let found = try ClearTrackReader(copy, of: made, try await FileProtection(made, from: GivenKeys()))
            var count = 0
            let (first, original) = (try #require(found.sample), try #require(expected.sample))
            let shift = first.decodeTime - original.decodeTime
            // Pictures are decoded earlier by one time, so that no offset is negative; they are presented when they were.
            let lead = first.compositionOffset - original.compositionOffset
            #expect(lead >= 0)
            while let sample = found.sample {
                let other = try #require(expected.sample)
                #expect(sample.decodeTime - shift == other.decodeTime)
                #expect(sample.compositionOffset - lead == other.compositionOffset && sample.compositionOffset >= 0)
                #expect(sample.duration == other.duration && sample.isSync == other.isSync)
                let clear = try expected.next { [UInt8](copying: $1.bytes.extracting($2)) }
                let copied = try found.next { [UInt8](copying: $1.bytes.extracting($2)) }
                #expect(clear == copied)
                count += 1
            }
            #expect(expected.sample == nil && count > 0)
            let edit = track.editList.edits.first { $0.mediaTime >= 0 }?.mediaTime ?? 0
            #expect(abs(Double(shift + Int64(lead) + edit) / Double(track.timescale) - 10) < 0.1)
        }
    }

    @Test(arguments: [
        "media/src/av-h264-aac.mp4", "media/cenc/av.cbcs.mp4", "media/dcf/av.pdcf-ctr.mp4", "media/src/av-hevc-aac.mp4",
    ])
    func `has pictures that are decoded alone`(name: String) async throws {
        let keys = try #require(Self.names.first { $0.name == name }).keys
        let file = try await SegmentedFile(BytesReader(try Fixtures.bytes(name)), keys, target: .seconds(3))
        let pictures = try SegmentedFile.units(try file.transport)[0x100, default: []].filter(\.isRandomAccess)
        let frames = file.segments.iFrames
        #expect(frames.count == pictures.count && frames.count > file.segments.segments.count)
        for (number, frame) in frames.enumerated() {
            var sink = BytesSink()
            try file.segments.writeIFrame(number, to: &sink)
            let units = try SegmentedFile.units(sink.bytes)
            let unit = try #require(units[0x100]?.first)
            #expect(units.count == 1 && units[0x100]?.count == 1)
            #expect(unit.data == pictures[number].data && unit.presentationTime == pictures[number].presentationTime)
            #expect(unit.presentationTime == TransportRemuxer.origin + frame.time)
            #expect(file.segments.segments[frame.segment].startTime <= frame.time)
        }
    }

    @Test func `reports its playlist attributes`() async throws {
        let keys = try #require(Self.names.first { $0.name == "media/cenc/av.cenc.mp4" }).keys
        let reader = BytesReader(try Fixtures.bytes("media/cenc/av.cenc.mp4"))
        let file = try await SegmentedFile(reader, keys, target: .seconds(2))
        let video = try #require(file.segments.tracks.first { $0.kind == "vide" })
        let sound = try #require(file.segments.tracks.first { $0.kind == "soun" })
        #expect(video.codecs?.hasPrefix("avc1.") == true && sound.codecs == "mp4a.40.2")
        #expect(video.width > 0 && video.height > 0 && (video.frameRate ?? 0) > 20)
        #expect(sound.sampleRate > 0 && sound.channels > 0)
        let rate = file.segments.bandwidth
        #expect(rate.peak >= rate.average && rate.average > 10_000)
        let bytes = try file.transport
        let seconds = file.segments.duration / .seconds(1)
        #expect(Double(bytes.count) * 8 / seconds <= Double(rate.average))
        #expect(Double(bytes.count) * 8 / seconds > Double(rate.average) * 0.5)
    }

    @Test func `writes the tracks that are asked for`() async throws {
        let file = try await SegmentedFile(BytesReader(try Fixtures.bytes("media/src/av-h264-aac.mp4")), GivenKeys())
        let both = try SegmentedFile.units(try file.transport)
        let sound = try #require(file.segments.tracks.first { $0.kind == "soun" })
        let alone = try file.segments.segments.indices.flatMap { try file.transport($0, tracks: [sound.id]) }
        let units = try SegmentedFile.units(alone)
        #expect(units.count == 1)
        SegmentedFile.compare(
            [0x101: units[0x100] ?? []],
            [
                0x101: (both[0x101] ?? []).map { unit in
                    var unit = unit
                    unit.pid = 0x100
                    return unit
                }
            ]
        )
        #expect(throws: MediaError.self) { try file.fragments(0, track: 99) }
        #expect(throws: MediaError.self) { try file.transport(99) }
        #expect(throws: MediaError.self) { _ = try file.segments.initialization() }
    }
}
