// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTS
import CarrelTesting
import CarrelVideo
import Testing

/// A small stream of pictures, sound and a tag.
private func small() throws -> (bytes: [UInt8], units: [AccessUnit]) {
    let tag: [UInt8] = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, 2, 7, 8]
    let units =
        pictures(5, size: { 30 + $0 * 120 }) + frames(9, pid: 0x101, size: { 40 + $0 * 9 })
        + [AccessUnit(pid: 0x102, presentationTime: 50_000, isRandomAccess: true, data: tag)]
    return (try mux(units, [.video(.h264, pid: 0x100), .aac(pid: 0x101), .timedID3(pid: 0x102)]), units)
}

private func packets(_ bytes: [UInt8]) -> [[UInt8]] {
    stride(from: 0, to: bytes.count - 187, by: 188).map { Array(bytes[$0..<$0 + 188]) }
}

struct `Transport stream demuxer` {
    @Test func `takes a stream split at every index, and byte by byte`() throws {
        let (bytes, units) = try small()
        let whole = try Demuxed(bytes)
        #expect(whole.faults == [])
        for pid in [0x100, 0x101, 0x102] as [UInt16] { #expect(plain(whole.units(pid)) == units.filter { $0.pid == pid }) }
        #expect(try Demuxed(bytes, pieces: [1]) == whole)
        for index in 1..<bytes.count {
            let same = try Demuxed(bytes, pieces: [index, .max]) == whole
            #expect(same, "split at \(index)")
        }
    }

    @Test func `gives a stream cut anywhere as far as it goes`() throws {
        let (bytes, units) = try small()
        for length in 0..<bytes.count {
            let read = try Demuxed(Array(bytes.prefix(length)))
            for pid in [0x100, 0x101] as [UInt16] {
                let expected = units.filter { $0.pid == pid }
                let got = plain(read.units(pid))
                // the last one may miss its end
                #expect(got.dropLast().elementsEqual(expected.prefix(max(0, got.count - 1))), "cut at \(length)")
            }
        }
    }

    @Test func `drops repeated packets and reports missing ones`() throws {
        let (bytes, _) = try small()
        let whole = try Demuxed(bytes)
        let all = packets(bytes)
        for i in all.indices {
            var repeated = all
            repeated.insert(all[i], at: i)
            let read = try Demuxed(repeated.flatMap(\.self))
            #expect(read.faults == [] && read.units == whole.units, "packet \(i) twice")
            guard i >= 2, i < all.count - 1 else { continue }
            var missing = all
            missing.remove(at: i)
            let pid = UInt16(all[i][1] & 0x1f) << 8 | UInt16(all[i][2])
            let isLast = !all[(i + 1)...].contains { $0[1] & 0x1f == all[i][1] & 0x1f && $0[2] == all[i][2] }
            let isFirst = !all[..<i].contains { $0[1] & 0x1f == all[i][1] & 0x1f && $0[2] == all[i][2] }
            let faults = try Demuxed(missing.flatMap(\.self)).faults
            #expect(isLast || isFirst || faults.contains { $0.kind == .discontinuity && $0.pid == pid }, "packet \(i) is missing")
        }
    }

    @Test func `marks a picture with a missing packet, and drops such an audio frame`() throws {
        let bytes = try mux(pictures(6, size: { _ in 1000 }), [.video(.h264, pid: 0x100)])
        var all = packets(bytes)
        all.remove(at: 10)
        let read = try Demuxed(all.flatMap(\.self))
        #expect(read.units.map(\.isDamaged) == [false, true, false, false, false, false])
        let sound = frames(40, pid: 0x101, size: { _ in 300 })
        all = packets(try mux(sound, [.aac(pid: 0x101)]))
        all.remove(at: 20)
        let left = try Demuxed(all.flatMap(\.self))
        #expect(left.units.count < 40 && left.units.count > 30)
        for unit in plain(left.units) { #expect(sound.contains(unit)) }
    }

    @Test(arguments: [1, 47, 187, 189, 1000])
    func `finds packets again after bytes that are none`(count: Int) throws {
        let (bytes, units) = try small()
        let junk = (0..<count).map { UInt8($0 % 64) }
        let middle = 188 * 6
        for (at, expected) in [(0, units.count), (middle, nil), (bytes.count, units.count)] as [(Int, Int?)] {
            let stream = Array(bytes[..<at] + junk + bytes[at...])
            for pieces in [[Int.max], [1], [100, 300]] {
                let read = try Demuxed(stream, pieces: pieces)
                #expect(read.faults.first?.kind == .lostSync(bytes: count))
                #expect(read.faults.first?.offset == (at == bytes.count ? bytes.count : at + count))
                if let expected { #expect(read.units.count == expected) } else { #expect(read.units.count >= units.count - 1) }
            }
        }
    }

    @Test(arguments: [(192, 4), (204, 0)])
    func `names packets of another size`(size: Int, lead: Int) throws {
        let (bytes, _) = try small()
        let stream = packets(bytes).flatMap {
            [UInt8](repeating: 0, count: lead) + $0 + [UInt8](repeating: 0, count: size - 188 - lead)
        }
        #expect(throws: Malformed("transport packets of \(size) bytes are not supported", at: size == 192 ? 0 : 188)) {
            try Demuxed(stream)
        }
    }

    @Test func `gives up where no packet is found in 64 KiB`() {
        let bytes = [UInt8](repeating: 0x20, count: 70_000)
        #expect(throws: Malformed.self) { try Demuxed(bytes) }
        #expect(throws: Never.self) { try Demuxed([]) }
        #expect(throws: Never.self) { try Demuxed([UInt8](repeating: 0x47, count: 100)) }
    }

    @Test func `reads tables over several packets and takes up a changed map`() throws {
        let (bytes, units) = try small()
        var all = packets(bytes)
        let streams: [ElementaryStream] = [.video(.h264, pid: 0x100), .aac(pid: 0x101), .timedID3(pid: 0x102)]
        let filler = (0..<4).map { StreamDescriptor(tag: 0x80 + UInt8($0), content: [UInt8](repeating: UInt8($0), count: 200)) }
        var counter: UInt8 = 0
        let long = ProgramMap(number: 1, clockPID: 0x100, descriptors: filler, streams: streams)
        let map = try long.section().packets(pid: 0x1000, counter: &counter)
        #expect(map.count == 5 * 188)
        all.replaceSubrange(1...1, with: packets(map))
        var read = try Demuxed(all.flatMap(\.self))
        #expect(read.faults == [] && read.programs == [long])
        #expect(read.units.count == units.count)
        // the same map again changes nothing; another one does
        var changed = long
        changed.streams.removeLast()
        let again = try long.section().packets(pid: 0x1000, counter: &counter)
        let other = try changed.section().packets(pid: 0x1000, counter: &counter)
        all.insert(contentsOf: packets(again), at: all.count / 2)
        all += packets(other)
        read = try Demuxed(all.flatMap(\.self))
        #expect(read.faults == [] && read.programs == [long, changed])
        #expect(read.units.count == units.count)
    }

    @Test func `reports a table whose checksum is wrong, and keeps the one before`() throws {
        let (bytes, units) = try small()
        var stream = bytes + bytes.prefix(376)
        stream[bytes.count + 3] = 0x11
        stream[bytes.count + 188 + 3] = 0x11
        stream[bytes.count + 188 + 20] ^= 1
        let read = try Demuxed(stream)
        #expect(read.faults.map(\.kind) == [.damagedSection])
        #expect(read.faults.map(\.pid) == [0x1000])
        #expect(read.units.count == units.count && read.programs.count == 1)
    }

    @Test func `chooses the program that is asked for`() throws {
        let (bytes, units) = try small()
        let table = ProgramAssociation(programs: [
            .init(number: 0, pid: 0x10), .init(number: 5, pid: 0x30), .init(number: 1, pid: 0x1000),
        ])
        var counter: UInt8 = 0
        let stream = table.section.packets(pid: 0, counter: &counter) + bytes.dropFirst(188)
        for (number, count) in [(nil, 0), (1, units.count), (5, 0), (9, 0)] as [(UInt16?, Int)] {
            var demuxer = TransportStreamDemuxer(program: number)
            var read = Demuxed()
            try demuxer.consume(stream.rawSpan)
            try demuxer.finish()
            read.take(from: &demuxer)
            #expect(read.units.count == count)
        }
    }

    @Test func `continues over a segment that restarts its counters`() throws {
        let (bytes, units) = try small()
        var demuxer = TransportStreamDemuxer()
        var read = Demuxed()
        for _ in 0..<3 {
            try demuxer.consume(bytes.rawSpan)
            try demuxer.finish()
            read.take(from: &demuxer)
        }
        #expect(read.faults == [] && read.programs.count == 1)
        #expect(read.units.count == 3 * units.count)
    }

    @Test func `keeps dependent substreams of E-AC-3 with the frame they belong to`() throws {
        // stream type, substream, size 64 bytes; 48 kHz, six blocks, stereo
        func frame(_ type: UInt8, _ number: UInt8) -> [UInt8] {
            [0x0b, 0x77, type << 6 | number << 3, 31, 0x34, 0x80] + [UInt8](repeating: 5, count: 58)
        }
        let units = (0..<6).map { i in
            AccessUnit(
                pid: 0x100,
                presentationTime: 45_000 + Int64(i) * 2880,
                isRandomAccess: true,
                samples: 1536,
                sampleRate: 48000,
                data: frame(0, 0) + frame(1, 0) + (i % 2 == 0 ? frame(0, 1) : [])
            )
        }
        let read = try Demuxed(try mux(units, [.enhancedAC3(pid: 0x100)]), pieces: [100])
        #expect(read.faults == [])
        #expect(plain(read.units) == units)
    }

    @Test(
        arguments: [
            (0x06, [StreamDescriptor(tag: 0x6a, content: [0])], ElementaryStream.Coding.ac3),
            (0x06, [StreamDescriptor(tag: 0x7a, content: [0])], .enhancedAC3), (0x06, [.registration("HEVC")], .video(.h265)),
            (0x06, [.registration("AC-3")], .ac3), (0x06, [.registration("EAC3")], .enhancedAC3), (0x06, [], .other),
            (0x02, [], .other), (0x11, [], .latm), (0x05, [], .privateSections), (0xdb, [], .video(.h264)), (0xcf, [], .aac),
            (0xc1, [], .ac3), (0xc2, [], .enhancedAC3), (0x15, [], .timedID3),
            (0x15, [StreamDescriptor(tag: 0x26, content: [0xff, 0xff, 1, 2, 3, 4])], .other),
        ] as [(UInt8, [StreamDescriptor], ElementaryStream.Coding)]
    )
    func `names the coding of a stream by type and descriptors`(
        type: UInt8,
        descriptors: [StreamDescriptor],
        coding: ElementaryStream.Coding
    ) {
        #expect(ElementaryStream(pid: 0x100, type: type, descriptors: descriptors).coding == coding)
    }

    @Test func `drops an access unit of more than 16 MiB and holds no more than that`() throws {
        let units = pictures(3, size: { $0 == 1 ? 17 << 20 : 100 })
        let read = try Demuxed(try mux(units, [.video(.h264, pid: 0x100)]), pieces: [188 * 512])
        #expect(read.units.map(\.data) == [units[0].data, units[2].data])
        #expect(read.faults.map(\.kind) == [.longUnit])
    }

    @Test func `survives any changed bytes`() throws {
        let (bytes, _) = try small()
        var random = SplitMix(seed: 4)
        for _ in 0..<3000 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                changed[Int.random(in: 0..<changed.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if let whole = try? Demuxed(changed) {
                let same = try Demuxed(changed, pieces: [Int.random(in: 1...700, using: &random), 17]) == whole
                #expect(same)
            }
        }
    }
}
