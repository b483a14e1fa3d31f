import CarrelBytes
import CarrelCrypto
import CarrelTS

/// Descrambles a transport stream in pieces of any size as they arrive (DVB-CISSA), and asks for the keys that it names on its way.
package struct PacketDescrambler: ~Copyable {
    private var descrambler = TransportStreamDescrambler()
    /// Bytes that are not written yet: part of a packet, or packets whose section goes on.
    private var held: [UInt8] = []
    private var position: Int64 = 0

    /// Bytes that wait for the rest of a section, at most: a section has 4096.
    private static let heldLimit = 64 << 10

    package init() {}

    /// Descrambles a piece.
    ///
    /// - Parameters:
    ///   - piece: the next bytes of the stream.
    ///   - sink: gets whole clear packets.
    ///   - source: has the keys.
    /// - Throws: `missingKey`, `refusedKey`; `Malformed` with the byte of the stream; what the sink throws.
    package mutating func write(_ piece: RawSpan, to sink: inout some MediaSink, keys source: some ContentKeySource) async throws
    {
        held.append(copying: piece)
        try await descramble(to: &sink, source)
    }

    private mutating func descramble(to sink: inout some MediaSink, _ source: some ContentKeySource) async throws {
        let count = held.count - held.count % 188
        let starts = Self.scrambledStarts(held.rawSpan, before: count)
        var rest = 0..<count
        while let need = try ScrambledStream.run(&descrambler, &held, rest, at: position) {
            let grant = try await ScrambledStream.grant(need.parity, need.message, source).grant
            try descrambler.setKey(grant.key, for: need.parity)
            rest = need.offset..<count
        }
        for start in starts { try check(start) }
        var end = count
        if let map = descrambler.unfinishedMap, count - map < Self.heldLimit { end = map }
        guard end > 0 else { return }
        try sink.write(held.rawSpan.extracting(0..<end))
        held.removeSubrange(0..<end)
        position += Int64(end)
    }

    /// The offsets of packets with which scrambled units begin.
    private static func scrambledStarts(_ bytes: RawSpan, before end: Int) -> [Int] {
        stride(from: 0, to: end, by: 188).filter { bytes.u8(at: $0 + 3) & 0xc0 != 0 && bytes.u8(at: $0 + 1) & 0x40 != 0 }
    }

    /// Checks that a unit begins behind the descrambling (ISO/IEC 13818-1 §2.4.3.6): otherwise the key is another.
    private func check(_ start: Int) throws(MediaError) {
        let bytes = held.rawSpan
        let hasAdaptation = bytes.u8(at: start + 3) & 0x20 != 0
        let payload = start + 4 + (hasAdaptation ? 1 + Int(bytes.u8(at: start + 4)) : 0)
        // a packet that is still scrambled had no payload; a prefix that goes on in the next packet is not looked at
        guard bytes.u8(at: start + 3) & 0xc0 == 0, bytes.u8(at: start + 3) & 0x10 != 0, payload + 3 <= start + 188 else { return }
        let isPrefix = bytes.u8(at: payload) == 0 && bytes.u8(at: payload + 1) == 0 && bytes.u8(at: payload + 2) == 1
        // a section begins behind a pointer (ISO/IEC 13818-1 §2.4.4), which in others is zero
        let pid = bytes.u16(at: start + 1) & 0x1fff
        let pointer = Int(bytes.u8(at: payload))
        let isSection = pointer == 0 || descrambler.sectionPIDs.contains(pid) && payload + 1 + pointer < start + 188
        guard isPrefix || isSection else {
            throw MediaError(.wrongKey, "no unit begins behind the descrambling: the key is another, or the stream is damaged")
        }
    }

    /// Ends the stream.
    ///
    /// - Parameters:
    ///   - sink: gets the last packets.
    ///   - source: has the keys.
    /// - Throws: `Malformed` when the last packet is cut off; what the sink throws.
    package mutating func finish(to sink: inout some MediaSink, keys source: some ContentKeySource) async throws {
        guard held.count % 188 == 0 else { throw Malformed("packet is cut off", at: Int(clamping: position) + held.count) }
        if !held.isEmpty { try sink.write(held.rawSpan) }
        held = []
    }
}
