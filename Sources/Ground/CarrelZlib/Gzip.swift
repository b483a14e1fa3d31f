// SPDX-License-Identifier: Apache-2.0

import CZlib

/// Compression into one gzip member (RFC 1952).
package enum Gzip {
    /// - Parameters:
    ///   - bytes: the bytes to compress.
    ///   - level: from 1 (fast) to 9.
    /// - Returns: nil if it would not be smaller.
    package static func compress(_ bytes: [UInt8], level: Int32 = 4) -> [UInt8]? {
        let out = unsafe [UInt8](unsafeUninitializedCapacity: bytes.count) { out, count in
            unsafe bytes.withUnsafeBufferPointer { bytes in
                guard let from = bytes.baseAddress, let to = out.baseAddress else { return }
                count = Int(unsafe czlib_gzip(from, UInt(bytes.count), to, UInt(bytes.count), level))
            }
        }
        return out.isEmpty ? nil : out
    }
}
