// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Reads the fields of a parameter set bit by bit, emulation prevention removed (ISO/IEC 14496-10 §7.2, §9.1).
///
/// Offsets of errors are relative to the bytes without emulation prevention.
struct ParameterBits {
    private let bytes: [UInt8]
    /// Bits read so far.
    private(set) var position = 0

    /// - Parameter unit: a whole NAL unit, header included.
    /// - Throws: if the unit is longer than 64 KiB, which a configuration record could not hold.
    init(_ unit: RawSpan) throws(Malformed) {
        guard unit.byteCount <= 0xffff else { throw Malformed("parameter set is longer than 65,535 bytes", at: 0xffff) }
        var bytes: [UInt8] = []
        EmulationPrevention.append(removedFrom: unit, to: &bytes)
        self.bytes = bytes
    }

    /// The next `count` bits as a number, at most 64.
    mutating func bits(_ count: Int, _ what: StaticString) throws(Malformed) -> UInt64 {
        guard count <= bytes.count * 8 - position else { throw Malformed("\(what) is cut off", at: position / 8) }
        var value: UInt64 = 0
        for _ in 0..<count {
            value = value << 1 | UInt64(bytes[position / 8] >> UInt8(7 - position % 8) & 1)
            position += 1
        }
        return value
    }

    /// The next bit.
    mutating func flag(_ what: StaticString) throws(Malformed) -> Bool { try bits(1, what) == 1 }

    /// The next unsigned Exp-Golomb number, `ue(v)`.
    mutating func unsigned(_ what: StaticString, limit: Int) throws(Malformed) -> Int {
        let start = position
        var zeros = 0
        while try !flag(what) {
            zeros += 1
            guard zeros <= 31 else { throw Malformed("\(what) is longer than 32 bits", at: start / 8) }
        }
        let value = Int((1 << zeros) - 1 + (try bits(zeros, what)))
        guard value <= limit else { throw Malformed("\(what) of \(value) is over \(limit)", at: start / 8) }
        return value
    }

    /// The next signed Exp-Golomb number, `se(v)`.
    mutating func signed(_ what: StaticString) throws(Malformed) -> Int {
        let code = try unsigned(what, limit: 0xffff_ffff)
        return code % 2 == 1 ? (code + 1) / 2 : -(code / 2)
    }
}
