// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Atomic replacement of files: after a crash or a power cut either the old or the new file exists, never a part.
package enum DurableFile {
    /// The way of making the file's name durable, by syncing its folder.
    package enum FolderSync: Sendable {
        /// Not synced: after a power cut the old file may be back.
        case none
        /// Synced if the file system supports it.
        case attempted
        /// Synced, or the call fails.
        case required
    }

    /// Writes a new file of mode 0600 next to the old one, syncs it, and renames it. Concurrent calls for one file, also from
    /// other processes, wait for each other.
    ///
    /// - Parameters:
    ///   - path: the file. A crash leaves at most the file `PATH.carrel-new` next to it, which the next call reuses.
    ///   - bytes: the content.
    ///   - keepsExisting: whether an existing file stays, such as one that another process created meanwhile.
    ///   - folderSync: the way of making the name durable.
    /// - Throws: ``FileError`` `file.write` or `file.sync`.
    package static func replace(
        _ path: String,
        with bytes: [UInt8],
        keepsExisting: Bool = false,
        folderSync: FolderSync = .required
    ) throws(FileError) {
        let fresh = "\(path).carrel-new"
        let descriptor = try openAlone(fresh)
        // closing it ends the lock
        defer { close(descriptor) }
        let isWritten = write(bytes, to: descriptor) && fsync(descriptor) == 0
        var number = errno
        guard isWritten else {
            unsafe unlink(fresh)
            throw FileError(.write, fresh, number)
        }
        guard keepsExisting else {
            do throws(FileError) { return try rename(fresh, to: path, folderSync: folderSync) } catch {
                if error.code == .write { unsafe unlink(fresh) }
                throw error
            }
        }
        // rename() would replace the file
        let isPlaced = unsafe link(fresh, path) == 0
        number = errno
        unsafe unlink(fresh)
        guard isPlaced || number == EEXIST else { throw FileError(.write, path, number) }
        try sync(path, folderSync)
    }

    /// Creates a file of mode 0600, and syncs it.
    ///
    /// - Parameters:
    ///   - path: the new file.
    ///   - bytes: the content.
    /// - Throws: ``FileError`` `file.write` if the file exists, which is then unchanged, or the content cannot be written.
    package static func create(_ path: String, with bytes: [UInt8]) throws(FileError) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileError(.write, path) }
        defer { close(descriptor) }
        guard write(bytes, to: descriptor) && fsync(descriptor) == 0 else {
            let number = errno
            unsafe unlink(path)
            throw FileError(.write, path, number)
        }
        try? syncFolder(of: path)
    }

    /// Gives a file another name, in place of the file that has it, and makes the name durable.
    ///
    /// - Parameters:
    ///   - path: a file in the same file system, whose content is synced.
    ///   - target: the new name.
    ///   - folderSync: how the name is made durable.
    /// - Throws: ``FileError`` `file.write`: nothing changed then; `file.sync`: the file has its new name.
    package static func rename(_ path: String, to target: String, folderSync: FolderSync = .required) throws(FileError) {
        guard unsafe Glibc.rename(path, target) == 0 else { throw FileError(.write, target) }
        try sync(target, folderSync)
    }

    private static func sync(_ path: String, _ folderSync: FolderSync) throws(FileError) {
        switch folderSync {
        case .none: break
        case .attempted: try? syncFolder(of: path)
        case .required: try syncFolder(of: path)
        }
    }

    /// Syncs the folder that holds a file, so that the file's name survives a power cut.
    ///
    /// - Throws: ``FileError`` `file.sync`.
    package static func syncFolder(of path: String) throws(FileError) {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError(.sync, path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw FileError(.sync, path) }
    }

    /// Creates an empty file of mode 0600, or empties the remains of a crash, and locks it.
    private static func openAlone(_ path: String) throws(FileError) -> Int32 {
        while true {
            let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { throw FileError(.write, path) }
            do throws(FileError) {
                if try isEmptied(descriptor, path) { return descriptor }
                close(descriptor)
            } catch {
                close(descriptor)
                throw error
            }
        }
    }

    /// Waits for the lock of an open file and empties it.
    ///
    /// - Returns: false if the path leads to another file, or to none, by then.
    private static func isEmptied(_ descriptor: Int32, _ path: String) throws(FileError) -> Bool {
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw FileError(.write, path) }
        }
        var openFile = stat()
        var namedFile = stat()
        guard unsafe fstat(descriptor, &openFile) == 0 else { throw FileError(.write, path) }
        // the call before may have given this file its name, or removed it
        guard unsafe lstat(path, &namedFile) == 0, openFile.st_dev == namedFile.st_dev, openFile.st_ino == namedFile.st_ino else {
            return false
        }
        guard openFile.st_nlink == 1, openFile.st_uid == geteuid() else {
            // a crash after link() left two names of the file in use, which must not be emptied; and another user's file is not
            // private
            guard unsafe unlink(path) == 0 else { throw FileError(.write, path) }
            return false
        }
        guard fchmod(descriptor, 0o600) == 0, ftruncate(descriptor, 0) == 0 else { throw FileError(.write, path) }
        return true
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var offset = 0
        while offset < bytes.count {
            let count = unsafe bytes[offset...].withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count == 0 { errno = EIO }
            guard count > 0 else { return false }
            offset += count
        }
        return true
    }
}
