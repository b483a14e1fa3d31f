// SPDX-License-Identifier: Apache-2.0

import CZip
import CarrelBytes

/// Reads one entry of an archive from its beginning to its end, within the archive's limits.
@safe
package final class ArchiveReader {
    /// The entry being read.
    package let entry: ArchiveEntry
    /// Bytes read so far.
    package private(set) var count: Int64 = 0

    private let archive: Archive
    private let handle: OpaquePointer
    private var isAtEnd = false

    /// Uncompressed size from which the compression ratio is checked.
    private static let ratioFrom: Int64 = 1 << 20

    init(_ archive: Archive, _ entry: ArchiveEntry, _ handle: OpaquePointer) {
        self.archive = archive
        self.entry = entry
        unsafe self.handle = handle
    }

    deinit {
        unsafe zip_fclose(handle)
    }

    /// Appends the next bytes of the entry, at most as many as there is room for; none at the end, after its checksum was
    /// verified.
    ///
    /// - Parameter out: the destination.
    /// - Throws: `archive.bomb` if the entry or the archive exceeds the limits; `archive.damaged` if the compressed bytes or the
    ///   checksum are wrong, or the entry's size differs from the directory.
    package func read(into out: inout OutputRawSpan) throws(ArchiveError) {
        guard !isAtEnd, out.freeCapacity > 0 else { return }
        let readCount = unsafe out.withUnsafeMutableBytes { buffer, filled in
            guard let start = buffer.baseAddress else { return 0 }
            let readCount = unsafe Int(zip_fread(handle, start + filled, zip_uint64_t(buffer.count - filled)))
            filled += max(0, readCount)
            return readCount
        }
        if readCount < 0 {
            let words = unsafe String(cString: zip_error_strerror(zip_file_get_error(handle)))
            throw ArchiveError(.damaged, "entry \(ArchiveName.printable(entry.rawName)) cannot be read: \(words)")
        }
        count += Int64(readCount)
        archive.allowance -= Int64(readCount)
        if readCount == 0 { isAtEnd = true }
        try check()
    }

    /// Returns the next bytes of the entry, at most `limit`; none at the end, after its checksum was verified.
    ///
    /// - Parameter limit: at least 1.
    /// - Returns: the bytes.
    /// - Throws: as `read(into:)`.
    package func read(atMost limit: Int) throws(ArchiveError) -> [UInt8] {
        try [UInt8](rawCapacity: max(1, limit)) { (out) throws(ArchiveError) in try read(into: &out) }
    }

    private func check() throws(ArchiveError) {
        let displayName = ArchiveName.printable(entry.rawName)
        guard archive.allowance >= 0 else {
            throw ArchiveError(.bomb, "archive gives more than \(archive.limits.totalBytes) bytes (in entry \(displayName))")
        }
        if count > Self.ratioFrom, count / archive.limits.ratio > entry.packedSize {
            throw ArchiveError(.bomb, "entry \(displayName) grows to more than \(archive.limits.ratio) times its packed size")
        }
        if isAtEnd ? count != entry.size : count > entry.size {
            throw ArchiveError(.damaged, "entry \(displayName) has another size than it says")
        }
    }
}

extension Archive {
    /// Opens an entry to be read from its beginning.
    ///
    /// - Parameter entry: one of this archive.
    /// - Returns: what reads it.
    /// - Throws: `archive.encrypted`, `archive.unsupported` for a compression other than stored and deflated, `archive.damaged`.
    package func open(_ entry: ArchiveEntry) throws(ArchiveError) -> ArchiveReader {
        let displayName = ArchiveName.printable(entry.rawName)
        // entries before it may be left out
        let index = max(0, entry.index - leftOut.count)
        guard entries.count > index, entries[index...].prefix(leftOut.count + 1).contains(entry) else {
            throw ArchiveError(.damaged, "entry \(displayName) is not of this archive")
        }
        if entry.isEncrypted { throw ArchiveError(.encrypted, "entry \(displayName) needs a password") }
        guard methods[entry.index] == 0 || methods[entry.index] == 8 else {
            throw ArchiveError(.unsupported, "entry \(displayName) is compressed in a way that is not supported")
        }
        guard let file = unsafe zip_fopen_index(handle, zip_uint64_t(entry.index), 0) else {
            throw unsafe ArchiveError(.damaged, "entry \(displayName) cannot be read: \(String(cString: zip_strerror(handle)))")
        }
        return unsafe ArchiveReader(self, entry, file)
    }
}
