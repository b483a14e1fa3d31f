// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Splits a byte stream into packets, and resynchronizes after missing or extra bytes.
struct PacketAligner {
    /// Offset in the whole stream of the next byte, or of the first buffered one.
    private(set) var position = 0
    /// Bytes passed over since packets were lost; zero while they are found.
    private(set) var skipped = 0
    private var buffer: [UInt8] = []
    private var isAligned = true
    /// Packets found, up to two: from there on their distance is settled.
    private var foundCount = 0

    /// Bytes passed over before it is settled that this is not a transport stream.
    private static let searchLimit = 1 << 16
    private static let length = TransportStream.packetLength

    /// Takes bytes and calls `body` with each whole packet.
    ///
    /// - Parameters:
    ///   - bytes: the next bytes of the stream, as many as there are.
    ///   - body: gets the span, the packet's offset in it, its offset in the stream, and bytes skipped before it.
    /// - Throws: if packets of 192 or 204 bytes are found, or none in the first 64 KiB.
    mutating func consume(
        _ bytes: RawSpan,
        _ body: (RawSpan, _ offset: Int, _ position: Int, _ skipped: Int) -> Void
    ) throws(Malformed) {
        var at = 0
        while at < bytes.byteCount {
            if isAligned, buffer.isEmpty {
                while bytes.byteCount - at >= Self.length, bytes.u8(at: at) == TransportPacket.syncByte {
                    body(bytes, at, position, takeSkipped())
                    at += Self.length
                    position += Self.length
                    foundCount = min(2, foundCount + 1)
                }
                if at == bytes.byteCount { return }
            }
            // one packet is buffered, or three while their distance is determined
            let count = min(bytes.byteCount - at, (isAligned ? 1 : 3) * Self.length - buffer.count)
            buffer.append(copying: bytes.extracting(at..<at + count))
            at += count
            try drain(isLast: false, body)
        }
    }

    /// Takes the buffered bytes at the end of the stream.
    ///
    /// - Returns: remaining bytes that are not a packet.
    mutating func finish(_ body: (RawSpan, _ offset: Int, _ position: Int, _ skipped: Int) -> Void) throws(Malformed) -> Int {
        try drain(isLast: true, body)
        let remainder = buffer.count + takeSkipped()
        position += buffer.count
        buffer.removeAll(keepingCapacity: true)
        isAligned = true
        return remainder
    }

    private mutating func takeSkipped() -> Int {
        defer { skipped = 0 }
        return skipped
    }

    private mutating func drain(
        isLast: Bool,
        _ body: (RawSpan, _ offset: Int, _ position: Int, _ skipped: Int) -> Void
    ) throws(Malformed) {
        var at = 0
        while true {
            if isAligned {
                guard buffer.count - at >= 1 else { break }
                guard buffer[at] == TransportPacket.syncByte else {
                    isAligned = false
                    continue
                }
                guard buffer.count - at >= Self.length else { break }
                let skipped = takeSkipped()
                body(buffer.rawSpan, at, position, skipped)
                at += Self.length
                position += Self.length
                foundCount = min(2, foundCount + 1)
            } else {
                try refuseOtherSizes(at)
                // a position is decided once the bytes of the two following packets are present, in whatever pieces they arrived
                let end = max(at, buffer.count - (isLast ? Self.length : 2 * Self.length))
                let start = candidate(in: at..<end)
                skip((start ?? end) - at)
                at = start ?? end
                guard foundCount == 2 || skipped <= Self.searchLimit else {
                    throw Malformed("no transport packets are found", at: position)
                }
                guard start != nil else { break }
                isAligned = true
            }
        }
        buffer.removeFirst(at)
    }

    private mutating func skip(_ count: Int) {
        skipped += count
        position += count
    }

    /// The first offset at which a packet may start: sync bytes there and one packet later, and two packets later if those bytes
    /// are present.
    private func candidate(in range: Range<Int>) -> Int? {
        let sync = TransportPacket.syncByte
        return range.first { at in
            buffer[at] == sync && buffer[at + Self.length] == sync
                && (at + 2 * Self.length >= buffer.count || buffer[at + 2 * Self.length] == sync)
        }
    }

    private func refuseOtherSizes(_ start: Int) throws(Malformed) {
        guard foundCount < 2, skipped == 0 else { return }
        let sync = TransportPacket.syncByte
        // four bytes of time before each packet, or sixteen of error correction after it
        for (size, lead) in [(192, 4), (204, 16)] where position == (size == 192 ? 0 : Self.length) {
            let first = start + lead
            if first + size < buffer.count, buffer[first] == sync, buffer[first + size] == sync {
                throw Malformed("transport packets of \(size) bytes are not supported", at: position)
            }
        }
    }
}
