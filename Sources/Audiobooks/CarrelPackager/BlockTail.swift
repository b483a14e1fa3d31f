// SPDX-License-Identifier: Apache-2.0

/// The end of a cipher block that had no room in the output, kept for the next read.
struct BlockTail: ~Copyable {
    /// Bytes of an AES block.
    static let blockSize = 16

    private var bytes = [16 of UInt8](repeating: 0)
    private var first = 0
    private var end = 0

    /// Replaces the bytes, all of which were moved, with what `body` appends: a block at most.
    mutating func fill<Failure: Error>(_ body: (inout OutputRawSpan) throws(Failure) -> Void) throws(Failure) {
        precondition(first == end, "the last block was not moved")
        var span = bytes.mutableSpan
        end = try unsafe span.withUnsafeMutableBytes { (buffer) throws(Failure) in
            var out = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
            try body(&out)
            return unsafe out.finalize(for: buffer)
        }
        first = 0
    }

    /// Appends as much to `out` as fits.
    mutating func move(into out: inout OutputRawSpan) {
        let count = min(end - first, out.freeCapacity)
        for i in first..<first + count { out.append(bytes[i]) }
        first += count
    }
}
