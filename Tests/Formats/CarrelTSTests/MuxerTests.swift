// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTS
import CarrelVideo
import Testing

/// A picture stream of made-up slices: a key picture every twelfth, B pictures shown before the P picture decoded before them.
func pictures(_ count: Int, codec: VideoCodec = .h264, size: (Int) -> Int, step: Int64 = 3600, start: Int64 = 45_000)
    -> [AccessUnit]
{
    (0..<count).map { i in
        let isSync = i % 12 == 0
        let header: [UInt8] = codec == .h264 ? [isSync ? 0x65 : 0x41] : [isSync ? 19 << 1 : 1 << 1, 1]
        // no zero bytes, so that no start code comes up; the bit of the first slice is set
        let slice = header + [0x88] + (0..<max(1, size(i))).map { UInt8(truncatingIfNeeded: ($0 &* 7 &+ i) % 254 + 1) }
        var data = codec.delimiter
        if isSync {
            let sets: [[UInt8]] =
                codec == .h264 ? [[0x67, 1, 2, 3], [0x68, 4, 5]] : [[32 << 1, 1, 7], [33 << 1, 1, 8], [34 << 1, 1, 9]]
            data += ByteStreamUnits.join(sets)
        }
        data += [0, 0, 0, 1] + slice
        let decode = start + Int64(i) * step
        let delay: Int64 = isSync || i % 3 == 0 ? 2 : i % 3 == 1 ? 1 : 0
        return AccessUnit(
            pid: 0x100,
            presentationTime: decode + delay * step,
            decodeTime: decode,
            isRandomAccess: isSync,
            data: data
        )
    }
}

/// ADTS frames at 48 kHz.
func frames(_ count: Int, pid: UInt16, size: (Int) -> Int, start: Int64 = 45_000) -> [AccessUnit] {
    (0..<count).map { i in
        let length = size(i) + 7
        let header: [UInt8] = [
            0xff, 0xf1, 0x4c, 0x80 | UInt8(length >> 11), UInt8(length >> 3 & 255), UInt8(length & 7) << 5 | 0x1f, 0xfc,
        ]
        let time = start + Int64(i) * 1920
        return AccessUnit(
            pid: pid,
            presentationTime: time,
            isRandomAccess: true,
            samples: 1024,
            sampleRate: 48000,
            data: header + (0..<size(i)).map { UInt8(truncatingIfNeeded: $0 &* 5 &+ i) }
        )
    }
}

/// Writes units in the order of their decoding times.
func mux(
    _ units: [AccessUnit],
    _ streams: [ElementaryStream],
    segment: Int? = nil,
    clockLead: Int64 = 45_000
) throws(Malformed) -> [UInt8] {
    var muxer = try TransportStreamMuxer(streams, clockLead: clockLead)
    if let segment { muxer.counters = ContinuityCounters(segment: segment, streams: streams.count) }
    var out = PacketBuffer(capacity: 188)
    muxer.beginSegment(into: &out)
    let empty: [UInt8] = []
    for unit in units.enumerated().sorted(by: { ($0.element.decodeTime, $0.offset) < ($1.element.decodeTime, $1.offset) }) {
        let unit = unit.element
        try muxer.write(
            streams.firstIndex { $0.pid == unit.pid } ?? 0,
            prefix: empty.rawSpan,
            body: unit.data.rawSpan,
            presentationTime: unit.presentationTime,
            decodeTime: unit.decodeTime,
            isSync: unit.isRandomAccess,
            into: &out
        )
    }
    muxer.endSegment(alignsCounters: segment != nil, into: &out)
    let bytes = out.bytes
    return [UInt8](copying: bytes)
}

/// Units for comparison: without the flag that a time was derived.
func plain(_ units: [AccessUnit]) -> [AccessUnit] {
    units.map { unit in
        var unit = unit
        unit.isTimeDerived = false
        return unit
    }
}

struct `Transport stream muxer` {
    @Test(
        arguments: [VideoCodec.h264, .h265],
        [0, 1, 100, 130, 140, 150, 157, 158, 159, 160, 161, 162, 163, 164, 165, 166, 170, 180, 200, 350, 1000, 70_000]
    )
    func `writes pictures of every length so that they come back whole`(codec: VideoCodec, size: Int) throws {
        let units = pictures(30, codec: codec, size: { size + $0 % 5 })
        let bytes = try mux(units, [.video(codec, pid: 0x100)])
        let check = StreamCheck(bytes, clockPID: 0x100)
        #expect(check.faults == [])
        let read = try Demuxed(bytes)
        #expect(read.faults == [])
        #expect(read.units == units)
    }

    @Test func `writes pictures, sound and tags side by side`() throws {
        let video = pictures(100, size: { $0 % 12 == 0 ? 9000 : 700 + $0 * 13 % 500 })
        let audio = frames(187, pid: 0x101, size: { 200 + $0 * 37 % 300 })
        let more = frames(187, pid: 0x102, size: { 20 + $0 % 3 })
        let tag: [UInt8] = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, 20] + [UInt8](repeating: 9, count: 20)
        let tags = [90_000, 190_000].map { (time: Int64) in
            AccessUnit(
                pid: 0x103,
                presentationTime: time,
                isRandomAccess: true,
                data: tag
            )
        }
        let streams: [ElementaryStream] = [
            .video(.h264, pid: 0x100), .aac(pid: 0x101), .aac(pid: 0x102), .timedID3(pid: 0x103),
        ]
        let bytes = try mux(video + audio + more + tags, streams)
        let check = StreamCheck(bytes, clockPID: 0x100)
        #expect(check.faults == [])
        let read = try Demuxed(bytes)
        #expect(read.faults == [])
        #expect(read.programs.map(\.streams) == [streams])
        #expect(read.units(0x100) == video)
        #expect(plain(read.units(0x101)) == audio)
        #expect(plain(read.units(0x102)) == more)
        #expect(read.units(0x103) == tags)
        // several frames share a PES packet
        #expect((check.times[0x101]?.count ?? 0) < 187 / 3)
    }

    @Test func `carries the clock on the sound where there are no pictures`() throws {
        let audio = frames(400, pid: 0x101, size: { 100 + $0 * 37 % 300 })
        let bytes = try mux(audio, [.timedID3(pid: 0x103), .aac(pid: 0x101)])
        let check = StreamCheck(bytes, clockPID: 0x101)
        #expect(check.faults == [])
        #expect(plain(try Demuxed(bytes).units) == audio)
    }

    @Test func `fills the clock where pictures are rare`() throws {
        let units = pictures(13, size: { _ in 500 }, step: 90_000)
        let bytes = try mux(units, [.video(.h264, pid: 0x100)])
        let check = StreamCheck(bytes, clockPID: 0x100)
        #expect(check.faults == [])
        #expect(check.clocks.count > 120)
        #expect(try Demuxed(bytes).units == units)
    }

    @Test func `counts on over 33 bits`() throws {
        let start = Int64(1) << 33 - 90_000
        let video = pictures(60, size: { _ in 900 }, start: start)
        let audio = frames(112, pid: 0x101, size: { _ in 150 }, start: start)
        let bytes = try mux(video + audio, [.video(.h264, pid: 0x100), .aac(pid: 0x101)])
        let check = StreamCheck(bytes, clockPID: 0x100)
        #expect(check.faults == [])
        let read = try Demuxed(bytes)
        #expect(read.units(0x100) == video)
        #expect(plain(read.units(0x101)) == audio)
        #expect(read.units.contains { $0.decodeTime > 1 << 33 })
    }

    @Test func `joins segments made independently without a gap in the counters`() throws {
        let streams: [ElementaryStream] = [.video(.h264, pid: 0x100), .aac(pid: 0x101), .timedID3(pid: 0x102)]
        var whole: [UInt8] = []
        var units: [AccessUnit] = []
        for segment in 0..<20 {
            let start = 45_000 + Int64(segment) * 86_400
            let part =
                pictures(24, size: { 300 + ($0 + segment) * 97 % 900 }, start: start)
                + frames(45, pid: 0x101, size: { 60 + ($0 + segment) * 31 % 200 }, start: start)
            units += part
            whole += try mux(part, streams, segment: segment)
        }
        let check = StreamCheck(whole, clockPID: 0x100)
        #expect(check.faults == [])
        let read = try Demuxed(whole)
        #expect(read.faults == [])
        #expect(read.units(0x100) == units.filter { $0.pid == 0x100 })
        #expect(plain(read.units(0x101)) == units.filter { $0.pid == 0x101 })
        #expect(read.programs.count == 1)
    }

    @Test func `carries counters from segment to segment`() throws {
        var muxer = try TransportStreamMuxer([.video(.h264, pid: 0x100)])
        var out = PacketBuffer()
        var whole: [UInt8] = []
        let units = pictures(36, size: { 100 + $0 * 31 })
        let none: [UInt8] = []
        for (i, unit) in units.enumerated() {
            if i % 12 == 0 { muxer.beginSegment(into: &out) }
            let (head, body) = (Array(unit.data.prefix(6)), Array(unit.data.dropFirst(6)))
            try muxer.write(
                0,
                prefix: i % 2 == 0 ? head.rawSpan : none.rawSpan,
                body: i % 2 == 0 ? body.rawSpan : unit.data.rawSpan,
                presentationTime: unit.presentationTime,
                decodeTime: unit.decodeTime,
                isSync: unit.isRandomAccess,
                into: &out
            )
            if i % 12 == 11 {
                muxer.endSegment(into: &out)
                whole += [UInt8](copying: out.bytes)
                out.removeAll()
            }
        }
        #expect(StreamCheck(whole, clockPID: 0x100).faults == [])
        #expect(try Demuxed(whole).units == units)
    }

    @Test func `puts delimiter and parameter sets where a player needs them`() {
        let sets = ByteStreamUnits.join([[0x67, 1], [0x68, 2]])
        let prefix = AccessUnitPrefix(.h264, parameterSets: sets)
        let delimiter = VideoCodec.h264.delimiter
        let slice: [UInt8] = [0, 0, 0, 1, 0x65, 0x88]
        func made(_ kinds: NALUnitSet, _ body: [UInt8]) -> [UInt8] {
            let (first, skip) = prefix.prefix(of: kinds, body: body.rawSpan)
            return first + body.dropFirst(skip)
        }
        #expect(made([.picture], slice) == delimiter + slice)
        #expect(made([.picture, .randomAccess], slice) == delimiter + sets + slice)
        let all: NALUnitSet = [.picture, .randomAccess, .sequenceParameterSet, .pictureParameterSet]
        #expect(made(all, sets + slice) == delimiter + sets + slice)
        #expect(made([.picture, .delimiter], delimiter + slice) == delimiter + slice)
        #expect(made([.picture, .randomAccess, .delimiter], delimiter + slice) == delimiter + sets + slice)
        #expect(made(all.union(.delimiter), delimiter + sets + slice) == delimiter + sets + slice)
    }

    @Test func `refuses what cannot be written`() throws {
        #expect(throws: Malformed.self) { try TransportStreamMuxer([]) }
        #expect(throws: Malformed.self) { try TransportStreamMuxer([.aac(pid: 0x101), .aac(pid: 0x101)]) }
        for pid in [0, 0x1f, 0x1000, 0x1fff] as [UInt16] {
            #expect(throws: Malformed.self) { try TransportStreamMuxer([.aac(pid: pid)]) }
        }
        #expect(throws: Malformed("unit is empty", at: 0)) {
            var unit = frames(1, pid: 0x101, size: { _ in 1 })
            unit[0].data = []
            _ = try mux(unit, [.aac(pid: 0x101)])
        }
        #expect(throws: Malformed("unit does not fit into a PES packet", at: 65_527)) {
            var unit = frames(1, pid: 0x101, size: { _ in 1 })
            unit[0].data = [UInt8](repeating: 1, count: 65_528)
            _ = try mux(unit, [.aac(pid: 0x101)])
        }
    }
}
