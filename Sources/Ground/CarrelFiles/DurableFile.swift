// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Files that are replaced as a whole: after a crash or a power cut there is the old file or the new one, never a part.
package enum DurableFile {
    /// How the file's name is made durable, by syncing the folder that holds it.
    package enum FolderSync: Sendable {
        /// Not synced: after a power cut the old file may be back.
        case none
        /// Synced where the file system can.
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
    ///   - folderSync: how the name is made durable.
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
        // link() refuses to replace a file; rename() replaces it.
        let isPlaced = keepsExisting ? unsafe link(fresh, path) == 0 : unsafe rename(fresh, path) == 0
        number = errno
        if keepsExisting || !isPlaced { unsafe unlink(fresh) }
        guard isPlaced || (keepsExisting && number == EEXIST) else { throw FileError(.write, path, number) }
        switch folderSync {
        case .none: break
        case .attempted: try? syncFolder(of: path)
        case .required: try syncFolder(of: path)
        }
    }

    /// Writes a file of mode 0600 where there is none, and syncs it.
    ///
    /// - Parameters:
    ///   - path: the new file.
    ///   - bytes: the content.
    /// - Throws: ``FileError`` `file.write` if there is a file already, which stays, or the content cannot be written.
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

    /// Makes an empty file of mode 0600, or empties the one that a crash left, and locks it.
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
        var opened = stat()
        var named = stat()
        guard unsafe fstat(descriptor, &opened) == 0 else { throw FileError(.write, path) }
        // the call before may have given this file its name, or removed it
        guard unsafe lstat(path, &named) == 0, opened.st_dev == named.st_dev, opened.st_ino == named.st_ino else { return false }
        guard opened.st_nlink == 1, opened.st_uid == geteuid() else {
            // a crash after link() left two names of the file in use, which must not be emptied; and another user's file is not
            // private
            guard unsafe unlink(path) == 0 else { throw FileError(.write, path) }
            return false
        }
        guard fchmod(descriptor, 0o600) == 0, ftruncate(descriptor, 0) == 0 else { throw FileError(.write, path) }
        return true
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes[written...].withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count == 0 { errno = EIO }
            guard count > 0 else { return false }
            written += count
        }
        return true
    }
}
