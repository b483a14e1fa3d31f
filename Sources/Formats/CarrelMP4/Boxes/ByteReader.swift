// SPDX-License-Identifier: Apache-2.0

/// Random access to the bytes of a file.
package protocol ByteReader {
    /// Bytes in all. Must not change.
    var length: Int64 { get }

    /// Returns exactly the bytes of `range`, which is within `0..<length`, or throws.
    func read(_ range: Range<Int64>) throws -> [UInt8]
}

/// Bytes in memory as a file.
package struct BytesReader: ByteReader, Sendable {
    private let bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    package var length: Int64 { Int64(bytes.count) }

    package func read(_ range: Range<Int64>) -> [UInt8] {
        Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    }
}
