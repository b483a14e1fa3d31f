// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelTS

/// Descrambles a transport stream in pieces of any size as they arrive (DVB-CISSA), and requests the keys that it names.
package struct PacketDescrambler: ~Copyable {
    private var descrambler = TransportStreamDescrambler()
    /// Bytes not written yet: a partial packet, or packets with an incomplete section.
    private var held: [UInt8] = []
    private var position: Int64 = 0
    private let pixels: Int?

    /// Bytes that wait for the rest of a section, at most: a section has 4096.
    private static let heldLimit = 64 << 10

    /// - Parameter pixels: the pixels of its largest picture; 0 for media without pictures, nil if they are not known.
    package init(pixels: Int? = nil) {
        self.pixels = pixels
    }

    /// Descrambles a piece.
    ///
    /// - Parameters:
    ///   - piece: the next bytes of the stream.
    ///   - sink: gets whole clear packets.
    ///   - source: the key source.
    /// - Throws: `missingKey`, `refusedKey`; `outputControl` if the license allows smaller pictures only; `Malformed` with the byte of
    ///   the stream; the errors of the sink.
    package mutating func write(_ piece: RawSpan, to sink: inout some MediaSink, keys source: some ContentKeySource) async throws
    {
        held.append(copying: piece)
        try await descramble(to: &sink, source)
    }

    private mutating func descramble(to sink: inout some MediaSink, _ source: some ContentKeySource) async throws {
        let count = held.count - held.count % 188
        let starts = UnitStart.all(in: held.rawSpan, before: count)
        var rest = 0..<count
        while let need = try ScrambledStream.run(&descrambler, &held, rest, at: position) {
            let (words, grant) = try await ScrambledStream.grant(need.parity, need.message, source)
            try grant.checkPictures(pixels, words)
            try descrambler.setKey(grant.key, for: need.parity)
            rest = need.offset..<count
        }
        try check(starts)
        var end = count
        if let map = descrambler.unfinishedMap, count - map < Self.heldLimit { end = map }
        guard end > 0 else { return }
        try sink.write(held.rawSpan.extracting(0..<end))
        held.removeSubrange(0..<end)
        position += Int64(end)
    }

    private func check(_ starts: [UnitStart]) throws(MediaError) {
        for start in starts { _ = try start.check(held.rawSpan, sections: descrambler.sectionPIDs) }
    }

    /// Ends the stream.
    ///
    /// - Parameters:
    ///   - sink: gets the last packets.
    ///   - source: the key source.
    /// - Throws: `Malformed` if the last packet is truncated; the errors of the sink.
    package mutating func finish(to sink: inout some MediaSink, keys source: some ContentKeySource) async throws {
        guard held.count % 188 == 0 else { throw Malformed("packet is cut off", at: Int(clamping: position) + held.count) }
        if !held.isEmpty { try sink.write(held.rawSpan) }
        held = []
    }
}
