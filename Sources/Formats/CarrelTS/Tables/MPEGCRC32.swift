// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The checksum of sections: polynomial 0x04c11db7, not reflected, all ones at the start (ISO/IEC 13818-1 annex A).
enum MPEGCRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        var remainder = UInt32(index) << 24
        for _ in 0..<8 { remainder = remainder & 0x8000_0000 == 0 ? remainder << 1 : remainder << 1 ^ 0x04c1_1db7 }
        return remainder
    }

    /// The checksum of the bytes; zero if they end in their own.
    static func checksum(_ bytes: RawSpan) -> UInt32 {
        var remainder: UInt32 = 0xffff_ffff
        for i in 0..<bytes.byteCount { remainder = remainder << 8 ^ table[Int(remainder >> 24) ^ Int(bytes.u8(at: i))] }
        return remainder
    }
}
