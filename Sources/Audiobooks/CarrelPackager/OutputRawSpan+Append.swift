// SPDX-License-Identifier: Apache-2.0

extension OutputRawSpan {
    /// Appends all of `bytes`, which must have room.
    mutating func append(copying bytes: RawSpan) {
        precondition(bytes.byteCount <= freeCapacity, "the output has no room")
        unsafe withUnsafeMutableBytes { buffer, filled in
            unsafe bytes.withUnsafeBytes { bytes in
                guard let from = bytes.baseAddress, let to = buffer.baseAddress else { return }
                unsafe (to + filled).copyMemory(from: from, byteCount: bytes.count)
                filled += bytes.count
            }
        }
    }

    /// Overwrites appended bytes at each place with `bytes` (16 to 32).
    mutating func replace(_ offsets: ArraySlice<UInt32>, shiftedBy shift: Int, with bytes: RawSpan) {
        precondition((16...32).contains(bytes.byteCount), "bytes that two halves of 16 do not cover")
        let count = byteCount
        let lastOffset = bytes.byteCount - 16
        unsafe withUnsafeMutableBytes { buffer, _ in
            unsafe bytes.withUnsafeBytes { bytes in
                guard let from = bytes.baseAddress, let to = buffer.baseAddress else { return }
                let first = unsafe from.loadUnaligned(as: SIMD16<UInt8>.self)
                let last = unsafe (from + lastOffset).loadUnaligned(as: SIMD16<UInt8>.self)
                for position in offsets {
                    let offset = Int(position) + shift
                    precondition(offset >= 0 && offset + lastOffset + 16 <= count, "nothing to replace there")
                    unsafe (to + offset).storeBytes(of: first, as: SIMD16<UInt8>.self)
                    unsafe (to + offset + lastOffset).storeBytes(of: last, as: SIMD16<UInt8>.self)
                }
            }
        }
    }
}
