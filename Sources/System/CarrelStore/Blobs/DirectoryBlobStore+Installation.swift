// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelBytes
import Glibc

extension DirectoryBlobStore {
    /// Longest id that the file may hold, in bytes.
    private static let installationLimit = 200

    private var installationPath: String { "\(path)/installation" }

    /// The id of the installation that the store belongs to, from its file `installation`.
    ///
    /// - Returns: nil if the store belongs to none yet.
    /// - Throws: `store.corrupt` if the file holds no id; `store.unavailable` when it cannot be read.
    package func installation() throws(StoreError) -> String? {
        let descriptor = unsafe Glibc.open(installationPath, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw StoreError(errno: errno, "\(installationPath) cannot be read")
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Self.installationLimit + 2)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw StoreError(errno: errno, "\(installationPath) cannot be read") }
        let line = bytes.prefix(count).prefix { $0 != UInt8(ascii: "\n") }
        guard !line.isEmpty, line.count <= Self.installationLimit, line.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw StoreError(.corrupt, "\(installationPath) does not hold the id of an installation")
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// A way to name the file unless the name is taken. File systems without hard links, such as exFAT and some network shares,
    /// use the second; the third is for file systems that support neither.
    enum Placing: CaseIterable, Sendable {
        case link, renameNew
        /// A plain rename by the holder of a lock.
        case lockedRename
    }

    /// Assigns the store to an installation, unless it already belongs to one.
    ///
    /// - Parameter id: visible ASCII, up to 200 characters.
    /// - Returns: the store's resulting id: the first of several processes wins.
    /// - Throws: `store.full` or `store.unavailable` if the file cannot be written.
    package func join(installation id: String) throws(StoreError) -> String {
        try join(installation: id, by: Placing.allCases)
    }

    /// Makes the store belong to an installation, in the first of some ways that the file system takes.
    func join(installation id: String, by ways: [Placing]) throws(StoreError) -> String {
        while try !place(Array("\(id)\n".utf8), by: ways) {}
        return try installation() ?? id
    }

    /// Moves a new file into place, unless it exists. Returns false if another process removed the new file as a dead process's,
    /// before it was locked.
    private func place(_ line: [UInt8], by ways: [Placing]) throws(StoreError) -> Bool {
        let temporary = "\(partials)/installation-\(getpid())-\(UInt64.random(in: .min ... .max))"
        let descriptor = unsafe Glibc.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreError(errno: errno, "\(temporary) cannot be written") }
        defer {
            unsafe unlink(temporary)
            close(descriptor)
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { throw StoreError(errno: errno, "\(temporary) cannot be locked") }
            return false
        }
        let isWritten = unsafe line.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) } == line.count
        guard isWritten, fsync(descriptor) == 0 else { throw StoreError(errno: errno, "\(temporary) cannot be written") }
        var failure = EINVAL
        for way in ways {
            failure = try move(temporary, by: way)
            if ![EPERM, EOPNOTSUPP, ENOSYS, EINVAL].contains(failure) { break }  // else another way may do
        }
        if failure == ENOENT { return false }
        guard failure == 0 || failure == EEXIST else { throw StoreError(errno: failure, "\(installationPath) cannot be written") }
        try syncFolder(of: installationPath)
        return true
    }

    /// Gives the file its name. Returns 0, or why not: EEXIST where another has it.
    private func move(_ temporary: String, by way: Placing) throws(StoreError) -> Int32 {
        switch way {
        case .link: return unsafe link(temporary, installationPath) == 0 ? 0 : errno
        case .renameNew: return unsafe clinux_rename_new(temporary, installationPath) == 0 ? 0 : errno
        case .lockedRename:
            // The folder stays whatever happens, so that all processes lock the same.
            let folder = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard folder >= 0 else { throw StoreError(errno: errno, "\(path) cannot be opened") }
            defer { close(folder) }
            while flock(folder, LOCK_EX) != 0 {
                guard errno == EINTR else { throw StoreError(errno: errno, "\(path) cannot be locked") }
            }
            if unsafe access(installationPath, F_OK) == 0 { return EEXIST }
            return unsafe rename(temporary, installationPath) == 0 ? 0 : errno
        }
    }

    /// Whether the store has no blob, but for the trash.
    package var isEmpty: Bool {
        get throws { try !contains { _ in true } }
    }

    /// Whether the store has a blob that fits.
    package func contains(where fits: (BlobID) throws -> Bool) throws -> Bool {
        for shelf in try names(in: path) where shelf.utf8.count == 2 {
            for name in try names(in: "\(path)/\(shelf)") {
                if let id = BlobID(name), try fits(id) { return true }
            }
        }
        return false
    }
}
