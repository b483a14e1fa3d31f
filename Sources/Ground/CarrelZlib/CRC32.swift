// SPDX-License-Identifier: Apache-2.0

import CZlib

/// The checksum of gzip and ZIP (RFC 1952 §8, PKWARE APPNOTE §4.4.7) of bytes that come in pieces.
package struct CRC32: Sendable {
    /// The checksum of the bytes so far.
    package private(set) var value: UInt32 = 0

    package init() {}

    package mutating func update(_ bytes: RawSpan) {
        // without an address zlib starts again
        guard bytes.byteCount > 0 else { return }
        value = unsafe bytes.withUnsafeBytes { bytes in
            UInt32(
                truncatingIfNeeded: unsafe crc32_z(
                    UInt(value),
                    bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    bytes.count
                )
            )
        }
    }

    /// One step of the shift register, without the inversions before and after: for ciphers based on it.
    package static func step(_ register: UInt32, _ byte: UInt8) -> UInt32 {
        table[Int(UInt8(truncatingIfNeeded: register) ^ byte)] ^ register >> 8
    }

    private static let table: [UInt32] = (0..<256).map { unsafe UInt32(truncatingIfNeeded: get_crc_table()[$0]) }
}
