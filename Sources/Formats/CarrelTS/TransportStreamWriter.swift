// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import Glibc

/// Writes one segment of a transport stream with one audio stream: first the tables, then PES packets in order.
///
/// The output is deterministic. Continuity counters continue from segment to segment, although each segment is made
/// independently: the tables' counters follow from the segment's number, the audio counter is a parameter.
package struct TransportStreamWriter: Sendable {
    private let streamType: AudioStreamType
    private let sampleRate: Int
    private let samplesPerFrame: Int
    private let tableCounter: UInt8
    private var audioCounter: UInt32

    /// - Parameters:
    ///   - streamType: the type of the audio stream.
    ///   - sampleRate: samples per second.
    ///   - samplesPerFrame: samples per channel in one frame.
    ///   - segment: the segment's number, from zero.
    ///   - audioPackets: audio packets in all segments before this one; only the low four bits are used.
    package init(streamType: AudioStreamType, sampleRate: Int, samplesPerFrame: Int, segment: Int, audioPackets: Int) {
        self.streamType = streamType
        self.sampleRate = sampleRate
        self.samplesPerFrame = samplesPerFrame
        tableCounter = UInt8(truncatingIfNeeded: segment & 15)
        audioCounter = UInt32(truncatingIfNeeded: audioPackets & 15)
    }

    /// Appends the program association and program map packets: `TransportStream.tablesLength` bytes, which must be free.
    package func writeTables(into out: inout OutputRawSpan) {
        let packets = ProgramTables.of(streamType).packets
        precondition(out.freeCapacity >= TransportStream.tablesLength, "the output is too small")
        unsafe out.withUnsafeMutableBytes { buffer, initialized in
            unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[initialized...]).copyBytes(from: packets)
            for table in 0..<2 { unsafe buffer[initialized + table * TransportStream.packetLength + 3] |= tableCounter }
            initialized += TransportStream.tablesLength
        }
    }

    /// Appends one PES packet.
    ///
    /// - Parameters:
    ///   - frames: whole frames, back to back; at most 65,527 bytes.
    ///   - frameCount: their number.
    ///   - firstSample: the title's sample at which they start.
    ///   - out: gets `packets × 188` bytes, which must be free; see `PESGrouping.packetCount` for the number of packets.
    /// - Returns: the number of transport packets written.
    @discardableResult
    package mutating func writePES(_ frames: RawSpan, frameCount: Int, firstSample: Int64, into out: inout OutputRawSpan) -> Int {
        let samples = frameCount * samplesPerFrame
        let clockCount = PESLayout.clockCount(samples: samples, sampleRate: sampleRate)
        let packetCount = PESLayout.packetCount(dataLength: frames.byteCount, clockCount: clockCount)
        precondition(frameCount > 0 && frames.byteCount >= packetCount, "there are no frames")
        precondition(frames.byteCount <= 65_527, "a PES packet is too long")
        precondition(out.freeCapacity >= packetCount * TransportStream.packetLength, "the output is too small")

        let timestamp = MediaTime.timestamp(ofSample: firstSample, sampleRate: sampleRate)
        let header = Self.pesHeader(dataLength: frames.byteCount, timestamp: timestamp)
        let firstClock = timestamp &- MediaTime.origin
        // rounded up, so that the gap before the next PES packet's clock is no longer than the others
        let clockStep = (samples * MediaTime.ticksPerSecond - 1) / (sampleRate * clockCount) + 1
        var counter = audioCounter
        unsafe frames.withUnsafeBytes { source in
            unsafe out.withUnsafeMutableBytes { buffer, initialized in
                guard var from = source.baseAddress, let start = buffer.baseAddress else { return }
                var to = unsafe start + initialized
                var remaining = source.count
                var packet = 0
                var clock = 0  // clock references written
                var clockPacket = 0  // the packet of the next one
                while packet < packetCount {
                    // a packet with a clock reference, or the last one, which may need stuffing
                    let isFirst = packet == 0
                    var space = PESLayout.packetCapacity - (isFirst ? PESLayout.pesHeaderLength : 0)
                    var reference: UInt64?
                    if packet == clockPacket {
                        reference = (firstClock &+ UInt64(clock &* clockStep)) & (MediaTime.modulus - 1)
                        space -= PESLayout.clockFieldLength
                        clock += 1
                        clockPacket = clock < clockCount ? clock * packetCount / clockCount : packetCount
                    }
                    // a byte is kept for each packet to come, so that none is without payload
                    let count = min(space, remaining - (packetCount - 1 - packet))
                    let stuffing = space - count
                    let hasField = reference != nil || stuffing > 0
                    let word = (isFirst ? 0x4741_0010 : 0x4701_0010) | (hasField ? 0x20 : 0) | counter
                    unsafe to.storeBytes(of: word.bigEndian, as: UInt32.self)
                    if hasField {
                        unsafe Self.writeAdaptationField(to + 4, reference, stuffing: stuffing, starts: isFirst)
                    }
                    let payload = TransportStream.packetLength - count
                    if isFirst {
                        unsafe (to + payload - 14).storeBytes(of: header.0.bigEndian, as: UInt64.self)
                        unsafe (to + payload - 8).storeBytes(of: header.1.bigEndian, as: UInt64.self)
                    }
                    unsafe Self.copy(from, to + payload, count)
                    unsafe from += count
                    remaining &-= count
                    counter = (counter &+ 1) & 15
                    packet &+= 1
                    unsafe to += TransportStream.packetLength

                    // packets that hold nothing but frames
                    let stop = min(clockPacket, packetCount &- 1)
                    while packet < stop {
                        unsafe to.storeBytes(of: (0x4701_0010 | counter).bigEndian, as: UInt32.self)
                        unsafe Self.copy(from, to + 4, PESLayout.packetCapacity)
                        unsafe from += PESLayout.packetCapacity
                        remaining &-= PESLayout.packetCapacity
                        counter = (counter &+ 1) & 15
                        packet &+= 1
                        unsafe to += TransportStream.packetLength
                    }
                }
                precondition(remaining == 0, "the frames were not written whole")
                initialized += packetCount * TransportStream.packetLength
            }
        }
        audioCounter = counter
        return packetCount
    }

    /// The 14 bytes of a PES header as two words that overlap by two bytes: the first 8 bytes, and the last 8.
    private static func pesHeader(dataLength: Int, timestamp: UInt64) -> (UInt64, UInt64) {
        let length = UInt64(8 + dataLength)
        // start code, audio stream 0, length; alignment: a frame begins right after the header; a timestamp of 5 bytes follows
        let first: UInt64 = 0x0000_01c0 << 32 | length << 16 | 0x8480
        let stamp: UInt64 =
            0x21_0001_0001 | (timestamp >> 30 & 7) << 33 | (timestamp >> 15 & 0x7fff) << 17 | (timestamp & 0x7fff) << 1
        return (first, 0x8480_05 << 40 | stamp)
    }

    /// Writes an adaptation field with the given stuffing and, unless it is nil, a clock reference (§2.4.3.5).
    private static func writeAdaptationField(
        _ to: UnsafeMutableRawPointer,
        _ reference: UInt64?,
        stuffing: Int,
        starts: Bool
    ) {
        let fixed = reference == nil ? 0 : PESLayout.clockFieldLength
        let length = fixed + stuffing
        unsafe to.storeBytes(of: UInt8(length - 1), as: UInt8.self)
        guard length > 1 else { return }
        guard let reference else {
            unsafe (to + 1).storeBytes(of: 0, as: UInt8.self)
            unsafe memset(to + 2, 0xff, length - 2)
            return
        }
        // random access at the start of frames, clock; base of 33 bits, 6 reserved bits, extension 0
        let flags: UInt64 = starts ? 0x50 : 0x10
        let field = UInt64(length - 1) << 56 | flags << 48 | reference << 15 | 0x7e00
        unsafe to.storeBytes(of: field.bigEndian, as: UInt64.self)
        if stuffing > 0 { unsafe memset(to + 8, 0xff, stuffing) }
    }

    /// Copies up to 192 bytes, without a call when they are many: three blocks of 64, the last of which may overlap.
    @inline(__always)
    private static func copy(_ from: UnsafeRawPointer, _ to: UnsafeMutableRawPointer, _ count: Int) {
        guard count >= 128 else {
            unsafe to.copyMemory(from: from, byteCount: count)
            return
        }
        let first = unsafe from.loadUnaligned(as: SIMD64<UInt8>.self)
        let second = unsafe (from + 64).loadUnaligned(as: SIMD64<UInt8>.self)
        let last = unsafe (from + (count &- 64)).loadUnaligned(as: SIMD64<UInt8>.self)
        unsafe to.storeBytes(of: first, as: SIMD64<UInt8>.self)
        unsafe (to + 64).storeBytes(of: second, as: SIMD64<UInt8>.self)
        unsafe (to + (count &- 64)).storeBytes(of: last, as: SIMD64<UInt8>.self)
    }
}
