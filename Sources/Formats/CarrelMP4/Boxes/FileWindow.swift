// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// A buffered range of a file that moves with the reads, so that small reads are cheap and memory is bounded.
package struct FileWindow {
    /// The file.
    package let reader: any ByteReader
    /// Size of a read in bytes, and the maximum size that can be requested.
    package let capacity: Int
    private(set) var start: Int64 = 0
    private var bytes: [UInt8] = []

    /// - Parameters:
    ///   - reader: the file.
    ///   - capacity: size of a read in bytes, and the maximum size that can be requested.
    package init(_ reader: any ByteReader, capacity: Int = 4096) {
        self.reader = reader
        self.capacity = capacity
    }

    /// Loads `count` bytes at `offset`, and returns their index in memory.
    private mutating func index(_ offset: Int64, _ count: Int, _ what: StaticString) throws -> Int {
        guard offset >= 0, count <= capacity, reader.length - offset >= count else {
            throw Malformed("\(what) lies past the end of the file", at: Int(max(0, offset)))
        }
        if offset >= start, offset + Int64(count) <= start + Int64(bytes.count) { return Int(offset - start) }
        bytes = try reader.readAll(offset..<min(reader.length, offset + Int64(capacity)))
        start = offset
        return 0
    }

    /// The byte at an offset of the file.
    package mutating func u8(at offset: Int64, _ what: StaticString) throws -> UInt8 {
        let i = try index(offset, 1, what)
        return bytes.rawSpan.u8(at: i)
    }

    /// The big-endian number of two bytes at an offset of the file.
    package mutating func u16(at offset: Int64, _ what: StaticString) throws -> UInt16 {
        let i = try index(offset, 2, what)
        return bytes.rawSpan.u16(at: i)
    }

    /// The big-endian number of four bytes at an offset of the file.
    package mutating func u32(at offset: Int64, _ what: StaticString) throws -> UInt32 {
        let i = try index(offset, 4, what)
        return bytes.rawSpan.u32(at: i)
    }

    /// The big-endian number of eight bytes at an offset of the file.
    package mutating func u64(at offset: Int64, _ what: StaticString) throws -> UInt64 {
        let i = try index(offset, 8, what)
        return bytes.rawSpan.u64(at: i)
    }
}

extension ByteReader {
    /// The bytes of `range`, and not one fewer.
    package func readAll(_ range: Range<Int64>) throws -> [UInt8] {
        let bytes = try read(range)
        guard bytes.count == range.count else { throw Malformed("file ended early", at: Int(range.lowerBound) + bytes.count) }
        return bytes
    }
}
