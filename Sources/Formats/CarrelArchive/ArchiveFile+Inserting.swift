// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFiles
import Glibc

extension ArchiveFile {
    /// Inserts an entry into an archive, or replaces the entry of the same name.
    ///
    /// - Parameters:
    ///   - path: the archive, which is changed in place: its mode and its owner stay. An archive with leading bytes that its
    ///     offsets do not count is copied, and the copy replaces it.
    ///   - limit: maximum number of entries.
    ///   - isReplaced: whether an existing entry, by its name, is equivalent for a reader to the new one, by the new one's name.
    ///   - choose: returns the name of the entry and its content with its checksum, for the existing names.
    /// - Throws: the reason why the archive is refused; `archive.unreadable` if it cannot be written.
    package static func insert(
        into path: String,
        limit: Int,
        isReplaced: (_ other: [UInt8], _ name: String) -> Bool,
        _ choose: ([[UInt8]]) -> (name: String, content: [UInt8], checksum: UInt32)
    ) throws(ArchiveError) {
        // the copy of an archive that a symbolic link leads to takes the archive's place, not the link's
        guard let target = unsafe realpath(path, nil) else { throw writeFailure() }
        defer { unsafe free(target) }
        try unsafe insert(at: String(cString: target), limit: limit, isReplaced: isReplaced, choose)
    }

    private static func insert(
        at path: String,
        limit: Int,
        isReplaced: (_ other: [UInt8], _ name: String) -> Bool,
        _ choose: ([[UInt8]]) -> (name: String, content: [UInt8], checksum: UInt32)
    ) throws(ArchiveError) {
        let file = try openLocked(path)
        let entry = choose(try CentralDirectory(file, limit: limit).records.map(\.rawName))
        let insertion = try EntryInsertion(
            file,
            name: entry.name,
            content: entry.content,
            checksum: entry.checksum,
            limit: limit
        ) { isReplaced($0, entry.name) }
        guard !insertion.isSafeInPlace else { return try file.perform(insertion) }
        let copy = try file.copy(beside: path)
        do throws(ArchiveError) {
            try copy.file.perform(insertion)
        } catch {
            unsafe unlink(copy.path)
            throw error
        }
        do throws(FileError) { try DurableFile.rename(copy.path, to: path) } catch {
            if error.code == .write { unsafe unlink(copy.path) }
            throw writeFailure(error.number)
        }
    }

    /// Opens the archive for one writer at a time, in its state when the lock is obtained: another writer may have extended it,
    /// or replaced it by a copy.
    private static func openLocked(_ path: String) throws(ArchiveError) -> ArchiveFile {
        for _ in 0..<100 {
            let file = try ArchiveFile(path: path, isWritten: true)
            while flock(file.descriptor, LOCK_EX) != 0 { guard errno == EINTR else { throw writeFailure() } }
            try file.measure()
            var (openFile, namedFile) = (stat(), stat())
            guard unsafe fstat(file.descriptor, &openFile) == 0 else { throw writeFailure() }
            if unsafe stat(path, &namedFile) == 0, openFile.st_dev == namedFile.st_dev, openFile.st_ino == namedFile.st_ino {
                return file
            }
        }
        throw ArchiveError(.unreadable, "archive cannot be written: others go on replacing it")
    }

    /// The folder of an absolute path, with the slash.
    private static func folder(of path: String) -> Substring { path[...(path.lastIndex(of: "/") ?? path.startIndex)] }

    private static func writeFailure(_ number: Int32 = errno) -> ArchiveError {
        unsafe ArchiveError(.unreadable, "archive cannot be written: \(String(cString: strerror(number)))")
    }

    private func perform(_ insertion: EntryInsertion) throws(ArchiveError) {
        for step in insertion.steps {
            try write(step.bytes, at: step.offset)
            guard fsync(descriptor) == 0 else { throw Self.writeFailure() }
        }
    }

    func write(_ bytes: [UInt8], at offset: Int64) throws(ArchiveError) {
        var writtenCount = 0
        while writtenCount < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe pwrite(
                    descriptor,
                    bytes.baseAddress?.advanced(by: writtenCount),
                    bytes.count - writtenCount,
                    off_t(offset) + writtenCount
                )
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.writeFailure() }
            writtenCount += count
        }
    }

    /// A copy with the same mode and owner, in the same folder.
    private func copy(beside path: String) throws(ArchiveError) -> (file: ArchiveFile, path: String) {
        // a name that no other process uses, and that is never too long
        let name = "\(Self.folder(of: path)).carrel-\(String(UInt64.random(in: .min ... .max), radix: 16))"
        let descriptor = unsafe open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.writeFailure() }
        guard let file = try? RegularFile(adopting: descriptor) else {
            let error = Self.writeFailure()
            unsafe unlink(name)
            throw error
        }
        let copy = ArchiveFile(file)
        do throws(ArchiveError) {
            for start in stride(from: 0, to: length, by: 1 << 20) {
                try copy.write(try read(start..<min(length, start + 1 << 20)), at: start)
            }
            try copy.measure()
            var status = stat()
            guard unsafe fstat(self.descriptor, &status) == 0,
                fchown(descriptor, status.st_uid, status.st_gid) == 0 || status.st_uid == geteuid(),
                fchmod(descriptor, status.st_mode & 0o7777) == 0
            else { throw Self.writeFailure() }
        } catch {
            unsafe unlink(name)
            throw error
        }
        return (copy, name)
    }
}
