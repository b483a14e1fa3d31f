// SPDX-License-Identifier: Apache-2.0

import CZip
import CarrelBytes
import Glibc

/// An untrusted ZIP archive, opened for reading.
///
/// Every name is checked when it is opened. Calls block on the disk, and belong on threads of their own (`BlockingThreadPool`);
/// a value is used by one thread at a time.
@safe
package final class Archive {
    /// Its files, folders and links, in the order of its directory.
    package let entries: [ArchiveEntry]
    /// Omitted entries, whose names lead out of the destination folder: never in ``entries``, and not readable.
    package let leftOut: [OmittedArchiveEntry]

    let limits: ArchiveLimits
    /// Bytes that may still come out of it.
    var allowance: Int64
    let handle: OpaquePointer
    let methods: [UInt16]

    /// Opens an archive and reads its directory.
    ///
    /// - Parameters:
    ///   - path: a regular file.
    ///   - limits: the resource limits.
    ///   - leavesOut: whether entries with names that lead out of the folder are omitted; otherwise they refuse the archive.
    /// - Throws: `ArchiveError` if the archive is refused, before anything is unpacked.
    package init(path: String, limits: ArchiveLimits, leavingOutEscapes leavesOut: Bool = false) throws(ArchiveError) {
        let file = try ArchiveFile(path: path)
        let directory = try CentralDirectory(file, limit: limits.entries)
        try directory.checkPlaces(file)
        let handle = unsafe try Self.open(file)
        do throws(ArchiveError) {
            (entries, leftOut) = unsafe try Self.list(handle, directory, leavesOut)
        } catch {
            unsafe zip_discard(handle)
            throw error
        }
        unsafe self.handle = handle
        methods = directory.records.map(\.method)
        self.limits = limits
        allowance = limits.totalBytes
    }

    deinit {
        unsafe zip_discard(handle)
    }

    /// A libzip handle over the same open file.
    private static func open(_ file: ArchiveFile) throws(ArchiveError) -> OpaquePointer {
        let copy = fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0, let stream = unsafe fdopen(copy, "rb") else {
            if copy >= 0 { close(copy) }
            throw ArchiveError(.unreadable, "archive cannot be read")
        }
        var error = unsafe zip_error_t()
        unsafe zip_error_init(&error)
        defer { unsafe zip_error_fini(&error) }
        guard let source = unsafe zip_source_filep_create(stream, 0, -1, &error) else {
            unsafe fclose(stream)
            throw ArchiveError(.unreadable, "archive cannot be read")
        }
        guard let handle = unsafe zip_open_from_source(source, ZIP_RDONLY, &error) else {
            unsafe zip_source_free(source)
            throw unsafe ArchiveError(.damaged, "archive cannot be opened: \(String(cString: zip_error_strerror(&error)))")
        }
        return unsafe handle
    }

    /// The entries as both readers of the directory see them, each with a safe, unique name.
    private static func list(
        _ handle: OpaquePointer,
        _ directory: CentralDirectory,
        _ leavesOut: Bool
    ) throws(ArchiveError) -> (entries: [ArchiveEntry], leftOut: [OmittedArchiveEntry]) {
        guard unsafe zip_get_num_entries(handle, 0) == directory.records.count else {
            throw ArchiveError(.damaged, "archive has two directories")
        }
        var entries: [ArchiveEntry] = []
        var leftOut: [OmittedArchiveEntry] = []
        var names: Set<String> = []
        for (index, record) in directory.records.enumerated() {
            let displayName = ArchiveName.printable(record.rawName)
            if leavesOut, let fault = ArchiveName.escape(record.rawName) {
                leftOut.append(OmittedArchiveEntry(record.rawName, "name \(displayName) of entry \(index) \(fault)"))
                continue
            }
            if let fault = ArchiveName.fault(record.rawName) {
                throw ArchiveError(.unsafeName, "name \(displayName) of entry \(index) \(fault)")
            }
            var status = unsafe zip_stat_t()
            let number = zip_uint64_t(index)
            guard unsafe zip_stat_index(handle, number, zip_flags_t(ZIP_FL_ENC_RAW), &status) == 0, let raw = unsafe status.name,
                unsafe strlen(raw) == record.rawName.count, unsafe memcmp(raw, record.rawName, record.rawName.count) == 0,
                unsafe status.size == record.size, unsafe status.comp_size == record.packedSize
            else { throw ArchiveError(.damaged, "entry \(displayName) is not the same in two readings of the directory") }
            guard let text = unsafe zip_get_name(handle, number, zip_flags_t(ZIP_FL_ENC_GUESS)) else {
                throw ArchiveError(.damaged, "entry \(displayName) has no name")
            }
            // a byte with the value of a backslash is a backslash in both encodings that libzip supports
            let name = unsafe String(decoding: ArchiveName.withSlashes(Array(String(cString: text).utf8)), as: UTF8.self)
            // the same file on a disk that ignores the slash
            guard names.insert(name.hasSuffix("/") ? String(name.dropLast()) : name).inserted else {
                throw ArchiveError(.duplicateName, "two entries are called \(displayName)")
            }
            let isLink = record.system == 3 && record.externalAttributes >> 16 & 0xf000 == 0xa000
            entries.append(
                ArchiveEntry(
                    index: index,
                    rawName: record.rawName,
                    name: name,
                    size: record.size,
                    packedSize: record.packedSize,
                    isEncrypted: record.flags & 1 != 0,
                    isSymbolicLink: isLink
                )
            )
        }
        return (entries, leftOut)
    }
}
