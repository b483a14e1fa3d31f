import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelTS

extension ScrambledSegments {
    /// Bytes in front of a segment that are read back for the tables and the key message in force: first the fewest.
    private static let lookBehind: [Int64] = [256 << 10, 1 << 20, 4 << 20].map { $0 / packetLength * packetLength }
    /// Bytes in which a random access point must come, where cuts are estimated.
    private static let searchLimit: Int64 = 32 << 20

    /// Writes one segment in the clear: the tables of the program, then its packets as they lie. Memory is half a megabyte, whatever its length.
    ///
    /// - Parameters:
    ///   - index: the segment.
    ///   - sink: gets the bytes in order.
    /// - Throws: `unavailable` when there is no such segment; `missingKey`, `refusedKey`, `expiredKey`; `unsupported` when no random access
    ///   point comes in 32 MiB; `Malformed` with the byte of the stream; what the reader and the sink throw.
    package func write(_ index: Int, to sink: inout some MediaSink) throws {
        guard segments.indices.contains(index) else { throw MediaError(.unavailable, "there is no segment \(index)") }
        let segment = segments[index]
        let isEstimated = cuts == .estimated
        // the first one has what comes before the first random access point
        let start = isEstimated && index > 0 ? try randomAccess(from: segment.range.lowerBound) : segment.range.lowerBound
        let state = try state(before: start)
        let tables = state.tables
        try sink.write(tables.rawSpan)
        var descrambler = TransportStreamDescrambler()
        try prepare(&descrambler, state)
        let length = reader.length / Self.packetLength * Self.packetLength
        var end = isEstimated && index + 1 < segments.count ? nil : segment.range.upperBound
        var tracker = state
        var at = start
        while at < end ?? length {
            var block = try reader.readAll(at..<min(end ?? length, at + Self.blockLength))
            if end == nil {
                end = try nextSegment(in: block, at: at, from: segment.range.upperBound, &tracker)
                if let end { block.removeLast(Int(at + Int64(block.count) - end)) }
            }
            try clear(&block, at: at, &descrambler)
            try sink.write(block.rawSpan)
            at += Int64(block.count)
            if end == nil, at > segment.range.upperBound + Self.searchLimit { throw Self.noAccess(segment.range.upperBound) }
        }
    }

    private static func noAccess(_ place: Int64) -> MediaError {
        MediaError(.unsupported, "no random access point comes in \(searchLimit >> 20) MiB behind byte \(place)")
    }

    /// The first random access point at or behind a place, or the end of the stream.
    private func randomAccess(from place: Int64) throws -> Int64 {
        let length = reader.length / Self.packetLength * Self.packetLength
        var tracker = head
        var found: Int64?
        let end = min(length, place + Self.searchLimit)
        try Self.forEachPacket(of: reader, in: place..<end) { packet, bytes, offset in
            tracker.take(packet, bytes)
            if tracker.isRandomAccess(packet) { found = offset }
            return found == nil
        }
        if let found { return found }
        guard end == length else { throw Self.noAccess(place) }
        return length
    }

    /// The first random access point of a block at or behind a place, where the segment ends; nil when none is in it.
    private func nextSegment(
        in block: [UInt8],
        at start: Int64,
        from place: Int64,
        _ tracker: inout ProgramTracker
    ) throws(Malformed) -> Int64? {
        let span = block.rawSpan
        for offset in stride(from: 0, to: block.count, by: TransportStream.packetLength) {
            guard let packet = TransportPacket.parse(span, at: offset) else {
                throw Malformed("sync byte of a packet is missing", at: Int(clamping: start) + offset)
            }
            if start + Int64(offset) >= place, tracker.isRandomAccess(packet) { return start + Int64(offset) }
            tracker.take(packet, span.extracting(offset..<offset + TransportStream.packetLength))
        }
        return nil
    }

    /// The tables and the key message in force at a place: those read last before it, a bounded way back, or those of the beginning.
    private func state(before place: Int64) throws -> ProgramTracker {
        for distance in Self.lookBehind {
            var tracker = head
            tracker.forgetMessage()
            let from = max(0, place - distance)
            try Self.forEachPacket(of: reader, in: from..<place) { packet, bytes, _ in
                tracker.take(packet, bytes)
                return true
            }
            if tracker.message != nil || tracker.messagePID == nil || from == 0 { return tracker }
        }
        // the message at the beginning, where it was read: keys that never change need no other
        return head
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

    /// Descrambles a block where it lies.
    private func clear(_ block: inout [UInt8], at start: Int64, _ descrambler: inout TransportStreamDescrambler) throws {
        let count = block.count
        var rest = 0..<count
        while !rest.isEmpty {
            let outcome: TransportStreamDescrambler.Outcome
            do throws(Malformed) {
                var elements = block.mutableSpan
                var bytes = unsafe elements.mutableBytes
                outcome = try descrambler.descramble(&bytes, in: rest)
            } catch {
                throw Malformed(error.what, at: Int(clamping: start) + error.offset)
            }
            guard case .needsKey(let parity, let message, let offset) = outcome else { return }
            rest = offset..<count
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
