// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Writes boxes into memory (ISO/IEC 14496-12 §4.2).
package struct BoxWriter: Sendable {
    /// Everything written.
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Writes a box around the output of `body`.
    ///
    /// - Parameters:
    ///   - type: its type.
    ///   - body: writes the content.
    /// - Throws: the errors of `body`.
    package mutating func box<Failure: Error>(
        _ type: FourCC,
        _ body: (inout BoxWriter) throws(Failure) -> Void
    ) throws(Failure) {
        let start = bytes.count
        u32(0)
        u32(type.word)
        try body(&self)
        patch(UInt32(clamping: bytes.count - start), at: start)
    }

    /// Writes a full box: one with a version and flags (§4.2).
    ///
    /// - Parameters:
    ///   - type: its type.
    ///   - version: its version.
    ///   - flags: 24 bits.
    ///   - body: writes the content after the flags.
    /// - Throws: the errors of `body`.
    package mutating func fullBox<Failure: Error>(
        _ type: FourCC,
        version: UInt8 = 0,
        flags: UInt32 = 0,
        _ body: (inout BoxWriter) throws(Failure) -> Void
    ) throws(Failure) {
        try box(type) { writer throws(Failure) in
            writer.u32(UInt32(version) << 24 | flags & 0xff_ffff)
            try body(&writer)
        }
    }

    package mutating func u8(_ value: UInt8) { bytes.append(value) }
    package mutating func u16(_ value: UInt16) { bytes.append(bigEndian: value) }
    package mutating func u24(_ value: UInt32) {
        bytes.append(UInt8(truncatingIfNeeded: value >> 16))
        u16(UInt16(truncatingIfNeeded: value))
    }
    package mutating func u32(_ value: UInt32) { bytes.append(bigEndian: value) }
    package mutating func u64(_ value: UInt64) { bytes.append(bigEndian: value) }
    package mutating func fourCC(_ value: FourCC) { u32(value.word) }
    package mutating func zeros(_ count: Int) { bytes.append(contentsOf: repeatElement(0, count: count)) }
    package mutating func append(_ more: [UInt8]) { bytes += more }
    package mutating func append(copying span: RawSpan) { bytes.append(copying: span) }

    /// Writes over a number of four bytes, such as an offset that was not known before.
    package mutating func patch(_ value: UInt32, at offset: Int) {
        for byte in 0..<4 { bytes[offset + byte] = UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * byte)) }
    }
}
