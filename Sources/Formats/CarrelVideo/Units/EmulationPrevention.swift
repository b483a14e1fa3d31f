// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The bytes 03 that keep a NAL unit free of start codes (ISO/IEC 14496-10 §7.4.1, 23008-2 §7.4.2).
package enum EmulationPrevention {
    /// Appends a unit without its emulation prevention bytes.
    ///
    /// - Parameters:
    ///   - unit: a whole NAL unit, header included.
    ///   - out: gets at most as many bytes as the unit has.
    package static func append(removedFrom unit: RawSpan, to out: inout [UInt8]) {
        var copiedEnd = 0
        var at = 0
        while let pair = ZeroPair.first(in: unit, from: at), pair + 2 < unit.byteCount {
            guard unit.u8(at: pair + 2) == 3 else {
                at = pair + 1
                continue
            }
            out.append(copying: unit.extracting(copiedEnd..<pair + 2))
            copiedEnd = pair + 3
            at = copiedEnd
        }
        out.append(copying: unit.extracting(copiedEnd..<unit.byteCount))
    }

    /// Counts violations of emulation prevention that no encoder bug explains: 02 after two zero bytes, or 03 after them followed
    /// by more than 03.
    ///
    /// - Parameter bytes: some bytes of one unit.
    /// - Returns: 0 for a unit of any encoder; 1 in 8 MiB for random bytes.
    package static func violations(in bytes: RawSpan) -> Int {
        var count = 0
        var at = 0
        while let pair = ZeroPair.first(in: bytes, from: at), pair + 3 < bytes.byteCount {
            let third = bytes.u8(at: pair + 2)
            if third == 2 || third == 3 && bytes.u8(at: pair + 3) > 3 { count += 1 }
            at = pair + 1
        }
        return count
    }

    /// Appends a unit with a byte 03 before each byte below 4 that follows two zero bytes.
    ///
    /// - Parameters:
    ///   - unit: a whole NAL unit, header included.
    ///   - out: gets at most half as many bytes again as the unit has.
    package static func append(insertedInto unit: RawSpan, to out: inout [UInt8]) {
        var copiedEnd = 0
        var at = 0
        while let pair = ZeroPair.first(in: unit, from: at), pair + 2 < unit.byteCount {
            guard unit.u8(at: pair + 2) <= 3 else {
                at = pair + 3
                continue
            }
            out.append(copying: unit.extracting(copiedEnd..<pair + 2))
            out.append(3)
            copiedEnd = pair + 2
            at = copiedEnd
        }
        out.append(copying: unit.extracting(copiedEnd..<unit.byteCount))
        // a unit must not end in a zero byte
        if unit.byteCount > 0, unit.u8(at: unit.byteCount - 1) == 0 { out.append(3) }
    }
}
