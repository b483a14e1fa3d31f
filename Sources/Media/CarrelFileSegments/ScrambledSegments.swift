// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelMP4
package import CarrelMedia
import CarrelTS
import CarrelThreads

/// Divides a transport stream, scrambled (DVB-CISSA) or clear, into segments that are written independently in the clear; local
/// or remote.
///
/// A segment begins with a random access point, which the clear headers of packets declare. Segment boundaries are taken from an
/// index, if there is one. A short stream is scanned for them. In a long stream they are offsets computed from its duration or
/// bit rate: each segment begins with the next random access point, and the times are estimates. The keys of a segment follow
/// from the preceding key message, which repeats.
package struct ScrambledSegments: Sendable {
    /// One segment.
    package struct Segment: Sendable, Hashable {
        /// When it begins, in 90 kHz ticks from the beginning of the stream.
        package var startTime: Int64
        /// When it ends.
        package var endTime: Int64
        /// Its bytes; if boundaries are estimated, the offsets at which the search for random access points begins.
        package var range: Range<Int64>

        /// When it begins.
        package var start: Duration { Duration(ticks: startTime) }
        /// How long it lasts.
        package var duration: Duration { Duration(ticks: endTime - startTime) }
    }

    /// How the cuts were found.
    package enum Cuts: Sendable, Hashable {
        /// From the caller's index.
        case indexed
        /// From a scan of the whole stream.
        case scanned
        /// From the duration or the bit rate.
        case estimated
    }

    /// In the order of the stream; 32,768 at most.
    package let segments: [Segment]
    /// How the cuts were found.
    package let cuts: Cuts

    let reader: any ByteReader & Sendable
    let keys: KeyDesk
    /// The program at the beginning of the stream.
    let head: ProgramTracker

    /// Default maximum size of a stream that is scanned for exact boundaries.
    package static let scanLimit: Int64 = 64 << 20
    /// Default bit rate in bits per second.
    package static let bitrate = 3_000_000
    /// Size of the range at the beginning that must contain the tables.
    private static let headLimit: Int64 = 1 << 20
    static let packetLength = Int64(TransportStream.packetLength)
    /// Bytes that are read together.
    static let blockLength = 1024 * packetLength

    /// Probes a stream and divides it into segments.
    ///
    /// - Parameters:
    ///   - reader: the stream. Reading blocks.
    ///   - keys: the key source, called when a segment is written.
    ///   - target: the approximate duration of segments.
    ///   - index: the segment boundaries; nil without an index.
    ///   - duration: the duration of the stream, if known.
    ///   - bitrate: bits per second, for a stream without a known duration; 0 means 3,000,000.
    ///   - clock: the clock by which keys expire.
    ///   - scanLimit: maximum size in bytes of a stream that is scanned for boundaries.
    /// - Throws: `unsupported` if there are too many segments; `Malformed` if it is not a transport stream, has no program in its
    ///   first MiB, or has another length than its index declares; the errors of the reader.
    package init(
        _ reader: any ByteReader & Sendable,
        keys: some ContentKeySource,
        target: Duration,
        index: ScrambledIndex? = nil,
        duration: Duration? = nil,
        bitrate: Int = 0,
        clock: any WallClock = SystemClock(),
        scanLimit: Int64 = ScrambledSegments.scanLimit
    ) throws {
        self.reader = reader
        self.keys = KeyDesk(keys, clock)
        guard try ScrambledStream.isTransportStream(reader) else { throw Malformed("this is not a transport stream", at: 0) }
        let length = reader.length / Self.packetLength * Self.packetLength
        var head = ProgramTracker()
        try Self.forEachPacket(of: reader, in: 0..<min(length, Self.headLimit)) { packet, bytes, _ in
            head.take(packet, bytes)
            // the first message too: if none repeats, it is the one in force
            return head.map == nil || head.messagePID != nil && head.message == nil
        }
        guard head.map != nil else { throw Malformed("no program is found at the beginning of the stream", at: 0) }
        self.head = head
        if let index {
            cuts = .indexed
            segments = try Self.cut(index, length, target)
        } else if length <= scanLimit {
            cuts = .scanned
            segments = try Self.scan(reader, length, head, target)
        } else {
            cuts = .estimated
            segments = try Self.estimate(length, target, duration, bitrate > 0 ? bitrate : Self.bitrate)
        }
        guard !segments.isEmpty else { throw MediaError(.unsupported, "nothing in the stream can be decoded alone") }
    }

    /// How long all segments last.
    package var duration: Duration { Duration(ticks: segments.last?.endTime ?? 0) }

    /// Bits a second: the most of a segment that lasts half as long as the longest, or longer; and the average.
    package var bandwidth: (peak: Int, average: Int) {
        func rate(_ bytes: Int64, _ ticks: Int64) -> Int {
            ticks > 0 ? Int(min(Double(bytes) * 720_000 / Double(ticks), 1e15)) : 0
        }
        let longest = segments.reduce(0) { max($0, $1.endTime - $1.startTime) }
        let average = rate(
            segments.reduce(0) { $0 + Int64($1.range.count) },
            (segments.last?.endTime ?? 0) - (segments.first?.startTime ?? 0)
        )
        let peak = segments.lazy.filter { $0.endTime - $0.startTime >= longest / 2 }
            .map { rate(Int64($0.range.count), $0.endTime - $0.startTime) }.max()
        return (max(peak ?? 0, average), average)
    }

    // MARK: - Cuts

    private static func cut(_ index: ScrambledIndex, _ length: Int64, _ target: Duration) throws -> [Segment] {
        guard let last = index.entries.last, last.offset <= length else {
            throw Malformed("the index goes on past the end of the stream", at: Int(clamping: length))
        }
        var cuts = SegmentCuts(interval: target.ticks)
        var segments: [Segment] = []
        for (number, entry) in index.entries.dropLast().enumerated() {
            let next = index.entries[number + 1]
            if cuts.isCut(at: entry.time, allowed: true) {
                try add(Segment(startTime: entry.time, endTime: next.time, range: entry.offset..<next.offset), to: &segments)
            } else if let last = segments.last {
                segments[segments.count - 1].endTime = next.time
                segments[segments.count - 1].range = last.range.lowerBound..<next.offset
            }
        }
        return segments
    }

    private static func add(_ segment: Segment, to segments: inout [Segment]) throws(MediaError) {
        guard segments.count < SegmentCuts.limit else {
            throw MediaError(.unsupported, "the stream has more than \(SegmentCuts.limit) segments of this duration")
        }
        segments.append(segment)
    }

    private static func scan(
        _ reader: any ByteReader & Sendable,
        _ length: Int64,
        _ head: ProgramTracker,
        _ target: Duration
    ) throws -> [Segment] {
        var tracker = head
        var cuts = SegmentCuts(interval: target.ticks)
        var segments: [Segment] = []
        var clock = StreamClock()
        var failure: (any Error)?
        try forEachPacket(of: reader, in: 0..<length) { packet, bytes, offset in
            if let reference = packet.clock, packet.pid == tracker.map?.clockPID { clock.take(reference) }
            tracker.take(packet, bytes)
            if tracker.isRandomAccess(packet), cuts.isCut(at: clock.time, allowed: true) {
                if !segments.isEmpty {
                    segments[segments.count - 1].endTime = clock.time
                    segments[segments.count - 1].range = segments[segments.count - 1].range.lowerBound..<offset
                }
                // the bytes before the first one contain the tables
                let start = segments.isEmpty ? 0 : offset
                do {
                    try add(Segment(startTime: clock.time, endTime: clock.time, range: start..<length), to: &segments)
                } catch {
                    failure = error
                    return false
                }
            }
            return true
        }
        if let failure { throw failure }
        if !segments.isEmpty { segments[segments.count - 1].endTime = max(clock.time, segments[segments.count - 1].startTime) }
        return segments
    }

    private static func estimate(_ length: Int64, _ target: Duration, _ duration: Duration?, _ bitrate: Int) throws -> [Segment] {
        let total = max(1, duration?.ticks ?? Int64(min(Double(length) * 720_000 / Double(bitrate), 0x1p40)))
        let count = max(1, (total + target.ticks - 1) / target.ticks)
        guard count <= SegmentCuts.limit else {
            throw MediaError(.unsupported, "the stream has more than \(SegmentCuts.limit) segments of this duration")
        }
        let packets = length / packetLength
        func offset(_ number: Int64) -> Int64 {
            number == count ? length : Int64(Double(packets) * Double(number) / Double(count)) * packetLength
        }
        func time(_ number: Int64) -> Int64 { number == count ? total : Int64(Double(total) * Double(number) / Double(count)) }
        return (0..<count).map { number in
            Segment(startTime: time(number), endTime: time(number + 1), range: offset(number)..<offset(number + 1))
        }
    }

    // MARK: - Packets

    /// Calls `body` with each packet of a range, its bytes and its offset, until it returns false.
    static func forEachPacket(
        of reader: any ByteReader,
        in range: Range<Int64>,
        _ body: (TransportPacket, RawSpan, Int64) -> Bool
    ) throws {
        var at = range.lowerBound
        while at < range.upperBound {
            let block = try reader.readAll(at..<min(range.upperBound, at + blockLength))
            let span = block.rawSpan
            var offset = 0
            while block.count - offset >= TransportStream.packetLength {
                guard let packet = TransportPacket.parse(span, at: offset) else {
                    throw Malformed("sync byte of a packet is missing", at: Int(clamping: at) + offset)
                }
                let bytes = span.extracting(offset..<offset + TransportStream.packetLength)
                guard body(packet, bytes, at + Int64(offset)) else { return }
                offset += TransportStream.packetLength
            }
            at += Int64(block.count)
        }
    }

    /// The program clock, which wraps at 2^33, as an increasing time since its first reference.
    private struct StreamClock {
        private var last: UInt64?
        private(set) var time: Int64 = 0

        /// Takes a clock reference.
        ///
        /// - Parameter reference: ticks of 27 MHz.
        mutating func take(_ reference: UInt64) {
            let ticks = reference / 300 & (MediaTime.modulus - 1)
            if let last {
                let step = (ticks &- last) & (MediaTime.modulus - 1)
                // a jump, back or by more than an hour, is a new clock
                if step < 3600 * 90_000 { time &+= Int64(step) }
            }
            last = ticks
        }
    }
}
