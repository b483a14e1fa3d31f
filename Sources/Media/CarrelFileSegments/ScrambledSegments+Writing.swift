// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMP4
package import CarrelMedia
import CarrelTS

extension ScrambledSegments {
    /// Bytes in front of a segment that are read back for the tables and the key message in force: first the fewest.
    private static let lookBehind: [Int64] = [256 << 10, 1 << 20, 4 << 20].map { $0 / packetLength * packetLength }
    /// Range in which a random access point must occur if boundaries are estimated.
    private static let searchLimit: Int64 = 32 << 20
    /// Limit in bytes after a segment for reading a program map that begins in it.
    private static let mapLimit: Int64 = 1 << 20

    /// Writes one segment in the clear, as `TransportStreamDescrambler` writes its packets when it reads the whole stream: the
    /// tables no longer mention scrambling.
    ///
    /// The program tables precede every segment except the first, which contains them. Their continuity counters continue in the
    /// segment, so that segments can be concatenated. Memory is half a megabyte, whatever the length of a segment.
    ///
    /// - Parameters:
    ///   - index: the segment.
    ///   - sink: gets the bytes in order.
    /// - Throws: `unavailable` if the segment does not exist; `missingKey`, `refusedKey`, `expiredKey`; `unsupported` if there is
    ///   no random access point within 32 MiB; `Malformed` with the offset in the stream; the errors of the reader and the sink.
    package func write(_ index: Int, to sink: inout some MediaSink) throws {
        guard segments.indices.contains(index) else { throw MediaError(.unavailable, "there is no segment \(index)") }
        let segment = segments[index]
        let isEstimated = cuts == .estimated
        // the first segment includes everything before the first random access point
        let start = isEstimated && index > 0 ? try randomAccess(from: segment.range.lowerBound) : segment.range.lowerBound
        let state = try state(before: start)
        if start > 0 { try sink.write(state.clearTables.rawSpan) }
        var descrambler = TransportStreamDescrambler()
        try prepare(&descrambler, state)
        let length = reader.length / Self.packetLength * Self.packetLength
        var end = isEstimated && index + 1 < segments.count ? nil : segment.range.upperBound
        var tracker = state
        var at = start
        // packets of a map that continues in packets not read yet; initially packets of the previous segment, which writes them
        // itself
        var pending = state.unfinishedMap
        var skipCount = pending.count
        while at < end ?? length {
            var input = try reader.readAll(at..<min(end ?? length, at + Self.blockLength))
            if end == nil {
                end = try nextSegment(in: input, at: at, from: segment.range.upperBound, &tracker)
                if let end { input.removeLast(Int(at + Int64(input.count) - end)) }
            }
            let blockStart = at - Int64(pending.count)
            at += Int64(input.count)
            var block = pending + input
            try clear(&block, at: blockStart, &descrambler)
            var clearEnd = block.count
            if let map = descrambler.unfinishedMap, Int64(block.count - map) < Self.blockLength {
                if at < end ?? length {
                    clearEnd = map
                } else {
                    try clearMap(in: &block, from: map, endingBehind: at, &descrambler)
                }
            }
            let first = min(skipCount, clearEnd)
            try sink.write(block.rawSpan.extracting(first..<clearEnd))
            skipCount -= first
            pending = Array(block[clearEnd...])
            if end == nil, at > segment.range.upperBound + Self.searchLimit { throw Self.noAccess(segment.range.upperBound) }
        }
    }

    /// Clears a map whose first packets end a segment, and whose last packets are in the next segment.
    private func clearMap(
        in block: inout [UInt8],
        from map: Int,
        endingBehind end: Int64,
        _ descrambler: inout TransportStreamDescrambler
    ) throws {
        guard let pid = TransportPacket.parse(block.rawSpan, at: map)?.pid else { return }
        var packets = Array(block[map...])
        let count = packets.count
        let length = reader.length / Self.packetLength * Self.packetLength
        try Self.forEachPacket(of: reader, in: end..<min(length, end + Self.mapLimit)) { packet, bytes, _ in
            guard packet.pid == pid, packet.scrambling == 0 else { return true }
            packets.append(copying: bytes)
            return !packet.startsUnit && packets.count < count + 16 * TransportStream.packetLength
        }
        try clear(&packets, at: end - Int64(count), &descrambler)
        block.replaceSubrange(map..., with: packets.prefix(count))
    }

    private static func noAccess(_ offset: Int64) -> MediaError {
        MediaError(.unsupported, "no random access point comes in \(searchLimit >> 20) MiB behind byte \(offset)")
    }

    /// The first random access point at or after an offset, or the end of the stream.
    private func randomAccess(from start: Int64) throws -> Int64 {
        let length = reader.length / Self.packetLength * Self.packetLength
        var tracker = head
        var accessPoint: Int64?
        let end = min(length, start + Self.searchLimit)
        try Self.forEachPacket(of: reader, in: start..<end) { packet, bytes, offset in
            tracker.take(packet, bytes)
            if tracker.isRandomAccess(packet) { accessPoint = offset }
            return accessPoint == nil
        }
        if let accessPoint { return accessPoint }
        guard end == length else { throw Self.noAccess(start) }
        return length
    }

    /// The first random access point of a block at or after an offset, where the segment ends; nil if the block has none.
    private func nextSegment(
        in block: [UInt8],
        at start: Int64,
        from position: Int64,
        _ tracker: inout ProgramTracker
    ) throws(Malformed) -> Int64? {
        let span = block.rawSpan
        for offset in stride(from: 0, to: block.count, by: TransportStream.packetLength) {
            guard let packet = TransportPacket.parse(span, at: offset) else {
                throw Malformed("sync byte of a packet is missing", at: Int(clamping: start) + offset)
            }
            if start + Int64(offset) >= position, tracker.isRandomAccess(packet) { return start + Int64(offset) }
            tracker.take(packet, span.extracting(offset..<offset + TransportStream.packetLength))
        }
        return nil
    }

    /// The tables and the key message in force at an offset: the last ones within a bounded range before it, or the first ones of
    /// the stream.
    private func state(before position: Int64) throws -> ProgramTracker {
        var tracker = head
        for distance in Self.lookBehind {
            tracker = head
            tracker.forgetMessage()
            let from = max(0, position - distance)
            try Self.forEachPacket(of: reader, in: from..<position) { packet, bytes, _ in
                tracker.take(packet, bytes)
                return true
            }
            if tracker.message != nil || tracker.messagePID == nil || from == 0 { return tracker }
        }
        // the message at the beginning, if it was read: keys that never change need no other
        tracker.takeMessage(of: head)
        return tracker
    }

    /// Tells a descrambler the tables and the message that were read before.
    private func prepare(_ descrambler: inout TransportStreamDescrambler, _ state: ProgramTracker) throws {
        var packets = state.tables
        if let message = state.message, let pid = state.messagePID, let program = state.map?.number {
            var counter: UInt8 = 0
            packets += message.section(program: program).packets(pid: pid, counter: &counter)
        }
        let count = packets.count
        var elements = packets.mutableSpan
        var bytes = unsafe elements.mutableBytes
        _ = try descrambler.descramble(&bytes, in: 0..<count)
    }

    /// Descrambles a block in place.
    private func clear(_ block: inout [UInt8], at start: Int64, _ descrambler: inout TransportStreamDescrambler) throws {
        let count = block.count
        var remainder = 0..<count
        while !remainder.isEmpty {
            let outcome: TransportStreamDescrambler.Outcome
            do throws(Malformed) {
                var elements = block.mutableSpan
                var bytes = unsafe elements.mutableBytes
                outcome = try descrambler.descramble(&bytes, in: remainder)
            } catch {
                throw Malformed(error.what, at: Int(clamping: start) + error.offset)
            }
            guard case .needsKey(let parity, let message, let offset) = outcome else { return }
            remainder = offset..<count
            try setKey(&descrambler, parity, message)
        }
    }

    private func setKey(
        _ descrambler: inout TransportStreamDescrambler,
        _ parity: KeyParity,
        _ message: KeyMessage?
    ) throws {
        let key = try keys.key(parity, message)
        do throws(CryptoError) { try descrambler.setKey(key, for: parity) } catch {
            throw MediaError(.wrongKey, "the key of the \(parity) packets: \(error.message)")
        }
    }
}
