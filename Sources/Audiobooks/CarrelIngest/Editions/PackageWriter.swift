// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelStore

/// Writes a ZIP archive whose entries are stored without compression (PKWARE APPNOTE 6.3.10 §4.3), so that each is one range of
/// the whole.
///
/// The same entries produce the same bytes: it contains no time of day.
struct PackageWriter {
    private let writer: any BlobWriter
    private var directory: [UInt8] = []
    private var count = 0

    /// Offsets have 32 bits, and the directory needs room too.
    static let byteLimit: Int64 = 4_200_000_000
    static let entryLimit = 60_000

    init(_ writer: any BlobWriter) {
        self.writer = writer
    }

    /// Adds an entry of `size` bytes, which `body` writes piece by piece.
    ///
    /// - Returns: the offset of its bytes in the archive.
    mutating func add(_ name: String, crc: UInt32, size: Int64, _ body: ((RawSpan) throws -> Void) throws -> Void) throws -> Int64
    {
        guard writer.byteCount + size < Self.byteLimit, count < Self.entryLimit else {
            throw IngestError(.archive, name, "makes the edition larger than 4.2 GB")
        }
        let start = UInt32(writer.byteCount)
        let name = Array(name.utf8)
        var header: [UInt8] = []
        header.append(little: UInt32(0x0403_4b50))
        let common = Self.common(crc: crc, size: UInt32(size), nameLength: UInt16(name.count))
        header += common + name
        try writer.append(header.rawSpan)
        let offset = writer.byteCount
        try body { try writer.append($0) }
        guard writer.byteCount - offset == size else {
            throw IngestError(.unreadable, String(decoding: name, as: UTF8.self), "changed while it was read")
        }
        directory.append(little: UInt32(0x0201_4b50))
        directory.append(little: UInt16(3 << 8 | 20))  // made on Unix
        directory += common
        directory.append(little: UInt16(0))  // comment
        directory.append(little: UInt16(0))  // volume
        directory.append(little: UInt16(0))
        directory.append(little: UInt32(0o100644 << 16))
        directory.append(little: start)
        directory += name
        count += 1
        return offset
    }

    /// Version, UTF-8 name, stored, 1980-01-01, checksum, both sizes, length of the name, no extra field.
    private static func common(crc: UInt32, size: UInt32, nameLength: UInt16) -> [UInt8] {
        var bytes: [UInt8] = []
        for field in [UInt16(20), 1 << 11, 0, 0, 0x21] { bytes.append(little: field) }
        for field in [crc, size, size] { bytes.append(little: field) }
        for field in [nameLength, 0] { bytes.append(little: field) }
        return bytes
    }

    /// Writes the directory; the archive is whole.
    consuming func finish() throws -> (blob: BlobID, byteCount: Int64) {
        let start = writer.byteCount
        guard start + Int64(directory.count) < Int64(UInt32.max) else {
            throw IngestError(.archive, "", "is larger than 4.2 GB")
        }
        try writer.append(directory.rawSpan)
        var end: [UInt8] = []
        end.append(little: UInt32(0x0605_4b50))
        for field in [UInt16(0), 0, UInt16(count), UInt16(count)] { end.append(little: field) }
        end.append(little: UInt32(directory.count))
        end.append(little: UInt32(start))
        end.append(little: UInt16(0))
        try writer.append(end.rawSpan)
        let byteCount = writer.byteCount
        return (try writer.finish(), byteCount)
    }
}

extension [UInt8] {
    fileprivate mutating func append(little value: some FixedWidthInteger) {
        for shift in stride(from: 0, to: value.bitWidth, by: 8) { append(UInt8(truncatingIfNeeded: value >> shift)) }
    }
}
