// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTS
import Testing

/// Frames of the given lengths, each byte telling frame and position.
private func frames(_ lengths: [Int]) -> [UInt8] {
    lengths.enumerated().flatMap { i, length in (0..<length).map { UInt8(truncatingIfNeeded: i &* 31 &+ $0) } }
}

/// A segment of these frames, grouped as the packager groups them.
private func segment(
    _ lengths: [Int],
    type: AudioStreamType = .mpeg1,
    samplesPerFrame: Int = 1152,
    sampleRate: Int = 44100,
    number: Int = 0,
    firstSample: Int64 = 0,
    audioPackets: Int = 0
) -> [UInt8] {
    let data = frames(lengths)
    var writer = TransportStreamWriter(
        streamType: type,
        sampleRate: sampleRate,
        samplesPerFrame: samplesPerFrame,
        segment: number,
        audioPackets: audioPackets
    )
    var grouping = PESGrouping(samplesPerFrame: samplesPerFrame, sampleRate: sampleRate)
    return unsafe [UInt8](unsafeUninitializedCapacity: data.count * 3 + 188 * 2 + lengths.count * 188 * 3) { buffer, count in
        var out = unsafe OutputRawSpan(buffer: UnsafeMutableRawBufferPointer(buffer), initializedCount: 0)
        writer.writeTables(into: &out)
        var frame = 0
        var byte = 0
        while frame < lengths.count {
            grouping.startNext()
            for length in lengths[frame...] where !grouping.offer(length) { break }
            let packets = writer.writePES(
                data.rawSpan.extracting(byte..<byte + grouping.byteCount),
                frameCount: grouping.frameCount,
                firstSample: firstSample + Int64(frame * samplesPerFrame),
                into: &out
            )
            #expect(packets == grouping.packetCount)
            frame += grouping.frameCount
            byte += grouping.byteCount
        }
        unsafe count = out.finalize(for: UnsafeMutableRawBufferPointer(buffer))
    }
}

struct `Transport stream` {
    // the association table and its checksum are those that ffmpeg, nginx-vod and Bento4 write for the same numbers
    @Test func `opens with the association table known from other muxers`() {
        let bytes = segment([100])
        let start = Hex.encode(bytes[0..<21])
        #expect(start == "474000100000b00d0001c100000001f0002ab104b2")
        #expect(bytes[21..<188].allSatisfy { $0 == 0xff })
    }

    @Test(arguments: zip(AudioStreamType.allCases, [0x03, 0x04, 0x0f] as [UInt8]))
    func `names the audio in the program map with a right checksum`(type: AudioStreamType, number: UInt8) {
        let bytes = segment([100], type: type, number: 21)
        let section = Array(bytes[188 + 5..<188 + 5 + 21])
        #expect(Hex.encode(bytes[188..<193]) == "4750001500", "the counter is the segment's number modulo 16")
        #expect(Hex.encode(section.prefix(12)) == "02b0120001c10000e100f000")
        #expect(Hex.encode(section[12..<17]) == Hex.encode([number]) + "e100f000")
        // a checksum carried along leaves nothing (ISO/IEC 13818-1 annex A)
        var rest: UInt32 = 0xffff_ffff
        for byte in section {
            rest ^= UInt32(byte) << 24
            for _ in 0..<8 { rest = rest & 0x8000_0000 == 0 ? rest << 1 : rest << 1 ^ 0x04c1_1db7 }
        }
        #expect(rest == 0)
    }

    @Test func `lays a short segment out as the specification says`() {
        let read = ReadSegment(
            segment([Int](repeating: 417, count: 13), number: 3, firstSample: 1152 * 383 * 3, audioPackets: 77)
        )
        #expect(read.faults == [])
        #expect(
            read.dump == [
                "0 3 start payload 184", "4096 3 start payload 184",
                "256 13 start af 7 pcr 2701322 random pts 2746322 payload 176",
                "256 14 payload 184", "256 15 payload 184", "256 0 payload 184", "256 1 payload 184",
                "256 2 payload 184", "256 3 payload 184", "256 4 af 7 pcr 2709159 payload 176",
                "256 5 payload 184", "256 6 payload 184", "256 7 payload 184", "256 8 payload 184", "256 9 payload 184",
                "256 10 payload 184", "256 11 payload 184", "256 12 af 7 pcr 2716996 payload 176",
                "256 13 payload 184", "256 14 payload 184", "256 15 payload 184", "256 0 payload 184", "256 1 payload 184",
                "256 2 payload 184", "256 3 af 23 payload 160",
                "256 4 start af 7 pcr 2724833 random pts 2769833 payload 176", "256 5 payload 184", "256 6 payload 184",
                "256 7 payload 184", "256 8 payload 184", "256 9 payload 184", "256 10 af 14 payload 169",
            ]
        )
    }

    /// Lengths of constant, padded, tiny, huge and wandering frames.
    static let lengths: [[Int]] = [
        [4], [7], [184], [8191], [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4],
        (0..<383).map { 208 + ($0 * 979 % 1000 < 979 ? 1 : 0) },
        (0..<431).map { 12 + $0 * $0 % 700 },
        (0..<40).map { _ in 8191 },
        (0..<300).map { $0 % 184 + 4 },
        (0..<217).map { $0 % 5 == 0 ? 1440 : 24 },
    ]

    @Test(arguments: lengths, [(1152, 44100), (576, 8000), (1024, 22050), (1024, 7350), (1024, 96000)])
    func `gives back every byte of every frame`(lengths: [Int], timing: (Int, Int)) {
        let (samplesPerFrame, rate) = timing
        let bytes = segment(lengths, type: .adts, samplesPerFrame: samplesPerFrame, sampleRate: rate)
        let read = ReadSegment(bytes)
        #expect(read.faults == [])
        #expect(read.audio.flatMap(\.data) == frames(lengths))
        #expect(read.tables.count == 2)
        #expect(read.audio.allSatisfy { $0.data.count <= 16_000 || lengths.contains($0.data.count) })
        // clocks: none more than 100 ms apart (a tick of rounding), each before the time stamp of its bytes
        let clocks = read.audio.flatMap(\.clocks)
        #expect(zip(clocks, clocks.dropFirst()).allSatisfy { $1 > $0 && $1 - $0 <= 9001 })
        for pes in read.audio {
            #expect(pes.clocks.first == pes.timestamp - MediaTime.origin)
            #expect(pes.clocks.allSatisfy { $0 < pes.timestamp })
            let end = clocks.first { $0 > pes.clocks.last ?? 0 } ?? 0
            #expect(end < pes.timestamp, "the last byte arrives before the first frame is due")
        }
    }

    @Test(arguments: [(64, 5.6), (96, 4.1), (128, 3.9), (192, 3.6), (320, 2.8)])
    func `costs little`(kilobits: Int, percent: Double) {
        let lengths = (1...383).map { 144_000 * kilobits * $0 / 44100 - 144_000 * kilobits * ($0 - 1) / 44100 }
        let bytes = segment(lengths).count
        let plain = lengths.reduce(0, +)
        #expect(Double(bytes - plain) * 100 / Double(plain) <= percent)
    }

    @Test func `wraps time stamps and clocks at 33 bits`() {
        let rate = 44100
        // 2^33 ticks are 95,443.72 s: the segment starts a second before the time stamp wraps
        let firstSample = Int64(95_442) * Int64(rate)
        let read = ReadSegment(segment([Int](repeating: 208, count: 383), firstSample: firstSample))
        #expect(read.faults == [])
        let stamps = read.audio.map(\.timestamp)
        #expect(stamps.contains { $0 > 1 << 32 } && stamps.contains { $0 < 1 << 20 })
        #expect(stamps.allSatisfy { $0 < 1 << 33 })
        for (one, next) in zip(read.audio, read.audio.dropFirst()) {
            let step = (next.timestamp &- one.timestamp) & (1 << 33 - 1)
            #expect((1...31500).contains(step))
            for clock in one.clocks { #expect((one.timestamp &- clock) & (1 << 33 - 1) <= MediaTime.origin) }
        }
    }

    @Test(
        arguments: [
            (0, 44100, 45_000), (44100, 44100, 135_000), (1, 44100, 45_002), (1152, 44100, 47_351), (576, 22050, 47_351),
            (44100 * 3600 * 26, 44100, 8_424_045_000), (1 << 33, 90_000, 45_000), (1 << 53, 8000, 45_000),
        ] as [(Int64, Int, UInt64)]
    )
    func `counts time in whole ticks from half a second`(sample: Int64, rate: Int, ticks: UInt64) {
        #expect(MediaTime.timestamp(ofSample: sample, sampleRate: rate) == ticks)
    }
}
