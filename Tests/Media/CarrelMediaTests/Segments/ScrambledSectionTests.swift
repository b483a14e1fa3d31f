// SPDX-License-Identifier: Apache-2.0

import CarrelVideo
import CarrelBytes
import CarrelCrypto
import CarrelMedia
import CarrelTS
import Testing

struct `A scrambled stream of sections` {
    private static let key = Secret([UInt8](repeating: 0x41, count: 16))
    private static let pid: UInt16 = 0x102

    /// A packet in which a section ends and another begins.
    private static func packet(pointer: Int, type: UInt8) -> [UInt8] {
        let section: [UInt8] = [0xfc, 0x30, 17] + (0..<17).map { UInt8($0 + 3) }
        let head: [UInt8] = [0x47, 0x40 | UInt8(pid >> 8), UInt8(pid & 0xff), 0x10, UInt8(pointer)]
        let bytes = head + [UInt8](repeating: 0x77, count: pointer) + section
        return bytes + [UInt8](repeating: 0xff, count: 188 - bytes.count)
    }

    /// The tables, and one packet of the stream: in the clear, and scrambled.
    private static func stream(pointer: Int, type: UInt8) throws -> (clear: [UInt8], scrambled: [UInt8]) {
        let streams: [ElementaryStream] = [.video(.h264, pid: 0x100), ElementaryStream(pid: pid, type: type)]
        var muxer = try TransportStreamMuxer(streams, descriptors: [.scrambling(PacketCipher.mode)])
        var out = PacketBuffer()
        muxer.beginSegment(into: &out)
        muxer.endSegment(into: &out)
        let tables = [UInt8](copying: out.bytes)
        var packet = packet(pointer: pointer, type: type)
        var scrambler = try PacketScrambler(pids: [pid], key: key, parity: .even)
        let clear = packet
        var span = packet.mutableSpan
        var raw = unsafe span.mutableBytes
        try scrambler.scramble(&raw, in: 0..<188)
        return (clear, tables + packet)
    }

    private static func descrambled(_ bytes: [UInt8], _ key: Secret) async throws -> [UInt8] {
        var keys = GivenKeys()
        keys.add(key, for: .track(0))
        var descrambler = PacketDescrambler()
        var sink = BytesSink()
        try await descrambler.write(bytes.rawSpan, to: &sink, keys: keys)
        try await descrambler.finish(to: &sink, keys: keys)
        return sink.bytes
    }

    @Test(arguments: [0, 1, 5, 100, 160], [0x05, 0x86] as [UInt8])
    func `is in the clear wherever its pointer leads`(pointer: Int, type: UInt8) async throws {
        let (clear, scrambled) = try Self.stream(pointer: pointer, type: type)
        #expect(scrambled.suffix(188) != clear[...])
        #expect(try await Self.descrambled(scrambled, Self.key).suffix(188) == clear[...])
    }

    @Test func `has no pointer where its type has no sections, or beyond the packet`() async throws {
        let units = try Self.stream(pointer: 5, type: 0x1b)
        await #expect(throws: MediaError(.wrongKey, "")) { _ = try await Self.descrambled(units.scrambled, Self.key) }
        let sections = try Self.stream(pointer: 5, type: 0x86)
        // with this key the pointer leads out of the packet
        var refused = 0
        for number in 0..<16 {
            let other = Secret([UInt8](repeating: UInt8(number), count: 16))
            do { _ = try await Self.descrambled(sections.scrambled, other) } catch let error as MediaError {
                #expect(error.code == .wrongKey)
                refused += 1
            }
        }
        #expect(refused > 0)
    }
}
