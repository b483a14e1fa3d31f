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

    /// Puts `bytes` over those that were appended at `offset`.
    mutating func replace(at offset: Int, with bytes: RawSpan) {
        precondition(offset >= 0 && offset + bytes.byteCount <= byteCount, "nothing to replace there")
        unsafe withUnsafeMutableBytes { buffer, _ in
            unsafe bytes.withUnsafeBytes { bytes in
                guard let from = bytes.baseAddress, let to = buffer.baseAddress else { return }
                unsafe (to + offset).copyMemory(from: from, byteCount: bytes.count)
            }
        }
    }
}
