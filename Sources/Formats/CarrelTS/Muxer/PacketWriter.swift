// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import Glibc

/// Writes the bytes of one PES packet into transport packets.
struct PacketWriter {
    /// The adaptation field of the first packet.
    struct Field {
        /// The clock reference in 90 kHz ticks; nil for none.
        var clock: UInt64?
        var isRandomAccess = false
        var isDiscontinuous = false

        var length: Int { clock != nil ? 8 : isRandomAccess || isDiscontinuous ? 2 : 0 }

        var flags: UInt8 { (isDiscontinuous ? 0x80 : 0) | (isRandomAccess ? 0x40 : 0) | (clock != nil ? 0x10 : 0) }
    }

    private static let packetLength = TransportStream.packetLength
    private static let capacity = 184

    /// The number of packets for a number of bytes after a field in the first packet.
    static func packetCount(_ bytes: Int, field: Field) -> Int {
        max(1, (bytes + field.length + capacity - 1) / capacity)
    }

    /// Writes packets.
    ///
    /// - Parameters:
    ///   - lead: the PES header, and bytes before the body; not empty.
    ///   - body: the remaining bytes.
    ///   - pid: the packet identifier.
    ///   - counter: the counter of the first packet; on return, of the next one.
    ///   - field: the adaptation field of the first packet.
    ///   - packets: the number of packets: at least `packetCount`, at most the number of bytes.
    ///   - start: room for the packets.
    static func write(
        lead: UnsafeRawBufferPointer,
        body: UnsafeRawBufferPointer,
        pid: UInt16,
        counter: inout UInt8,
        field: Field,
        packets: Int,
        to start: UnsafeMutableRawPointer
    ) {
        let word: UInt32 = 0x4700_0010 | UInt32(pid) << 8
        var to = unsafe start
        var lead = unsafe lead
        var from = unsafe body.baseAddress ?? UnsafeRawPointer(start)
        var remaining = body.count
        var count = UInt32(counter)
        var packet = 0
        while packet < packets {
            let fixed = packet == 0 ? field.length : 0
            let later = packets &- 1 &- packet
            // a byte is kept for each packet to come
            let payload = min(capacity - fixed, lead.count + remaining - later)
            let stuffing = capacity - fixed - payload
            let hasField = fixed + stuffing > 0
            let first = word | (packet == 0 ? 0x0040_0000 : 0) | (hasField ? 0x20 : 0) | count
            unsafe to.storeBytes(of: first.bigEndian, as: UInt32.self)
            if hasField { unsafe writeField(to + 4, packet == 0 ? field : Field(), length: fixed + stuffing) }
            let target = unsafe to + (packetLength - payload)
            let part = min(lead.count, payload)
            if part > 0, let base = lead.baseAddress {
                unsafe target.copyMemory(from: base, byteCount: part)
                unsafe lead = UnsafeRawBufferPointer(rebasing: lead[part...])
            }
            if payload > part {
                unsafe (target + part).copyMemory(from: from, byteCount: payload - part)
                unsafe from += payload - part
                remaining -= payload - part
            }
            count = (count &+ 1) & 15
            packet &+= 1
            unsafe to += packetLength

            // packets that hold nothing but the body; all that come are full unless bytes are spread
            guard unsafe lead.isEmpty, remaining >= capacity * (packets - packet - 1) else { continue }
            let stop = packet + remaining / capacity
            while packet < stop {
                unsafe to.storeBytes(of: (word | count).bigEndian, as: UInt32.self)
                unsafe copy(from, to + 4)
                unsafe from += capacity
                count = (count &+ 1) & 15
                packet &+= 1
                unsafe to += packetLength
            }
            remaining %= capacity
        }
        precondition(unsafe remaining == 0 && lead.isEmpty, "the unit was not written whole")
        counter = UInt8(count)
    }

    /// Writes an adaptation field of `length` bytes, its length byte included.
    static func writeField(_ to: UnsafeMutableRawPointer, _ field: Field, length: Int) {
        unsafe to.storeBytes(of: UInt8(length - 1), as: UInt8.self)
        guard length > 1 else { return }
        if let clock = field.clock {
            let word = UInt64(length - 1) << 56 | UInt64(field.flags) << 48 | (clock & (MediaTime.modulus - 1)) << 15 | 0x7e00
            unsafe to.storeBytes(of: word.bigEndian, as: UInt64.self)
            if length > 8 { unsafe memset(to + 8, 0xff, length - 8) }
        } else {
            unsafe (to + 1).storeBytes(of: field.flags, as: UInt8.self)
            if length > 2 { unsafe memset(to + 2, 0xff, length - 2) }
        }
    }

    /// Copies 184 bytes in three blocks, the last of which overlaps its predecessor.
    @inline(__always)
    private static func copy(_ from: UnsafeRawPointer, _ to: UnsafeMutableRawPointer) {
        let first = unsafe from.loadUnaligned(as: SIMD64<UInt8>.self)
        let second = unsafe (from + 64).loadUnaligned(as: SIMD64<UInt8>.self)
        let last = unsafe (from + 120).loadUnaligned(as: SIMD64<UInt8>.self)
        unsafe to.storeBytes(of: first, as: SIMD64<UInt8>.self)
        unsafe (to + 64).storeBytes(of: second, as: SIMD64<UInt8>.self)
        unsafe (to + 120).storeBytes(of: last, as: SIMD64<UInt8>.self)
    }
}
