// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Part of a stream in memory, at its place in the stream.
struct PlacedBytes: ByteReader, Sendable {
    /// The offset of the first byte.
    let start: Int64
    let bytes: [UInt8]

    var length: Int64 { start + Int64(bytes.count) }

    func read(_ range: Range<Int64>) throws -> [UInt8] {
        guard range.lowerBound >= start else {
            throw Malformed("a fragment points at bytes that have gone by", at: Int(clamping: range.lowerBound))
        }
        return Array(bytes[Int(range.lowerBound - start)..<Int(range.upperBound - start)])
    }
}
