// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelBytes
import CarrelCrypto
import CarrelFiles
import CarrelThreads
import Glibc

/// The folder of all downloads: packages by their ids, those that are being removed, and those that no row of the journal names.
struct DownloadFolder: Sendable {
    /// The time for which a package without a row of the journal is kept.
    static let orphanTime = Duration.seconds(7 * 86_400)
    private static let removedPrefix = ".removed-"
    private static let restartedPrefix = ".restarted-"
    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
    private static let idLength = 26

    let path: String

    /// Opens the folder of a reader's downloads, or creates it.
    ///
    /// - Parameter reader: the folder of the reader, which is created too.
    /// - Throws: `download.disk`, `download.disk-full`.
    init(reader: String) throws(DownloadError) {
        path = "\(reader)/downloads"
        for folder in [reader, path] {
            guard unsafe mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw Self.failure("create", folder) }
            // the pause of an item is durable only with its folder
            try? DurableFile.syncFolder(of: folder)
        }
    }

    static func failure(_ verb: String, _ path: String) -> DownloadError {
        let number = errno
        let isFull = number == ENOSPC || number == EDQUOT
        let reason = unsafe String(cString: strerror(number)).lowercased()
        return DownloadError(isFull ? .diskFull : .disk, "cannot \(verb) \(path): \(reason)")
    }

    /// A random id.
    static func makeID() -> String {
        String(decoding: Random.bytes(idLength).map { alphabet[Int($0 & 31)] }, as: UTF8.self)
    }

    static func isID(_ name: String) -> Bool { name.utf8.count == idLength && name.utf8.allSatisfy(alphabet.contains) }

    /// The folder of an item's package.
    func package(_ id: String) -> String { "\(path)/\(id)" }

    private var orphans: String { "\(path)/.orphans" }

    /// Bytes that this user can write.
    var freeSpace: Int64 {
        var status = statvfs()
        guard unsafe statvfs(path, &status) == 0 else { return 0 }
        return Int64(clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
    }

    // MARK: - Full disks

    /// Bytes that the journal needs to record a deletion.
    private static let reserveSize: off_t = 512 << 10

    private var reserve: String { "\(path)/.reserve" }

    /// Keeps room on the disk for the journal, so that items can be deleted when the disk is full.
    func makeReserve() {
        var status = stat()
        guard unsafe lstat(reserve, &status) != 0 || status.st_size < Self.reserveSize else { return }
        let descriptor = unsafe open(reserve, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        let isMade = posix_fallocate(descriptor, 0, Self.reserveSize) == 0
        close(descriptor)
        if !isMade { unsafe unlink(reserve) }
    }

    /// Gives the room to the journal.
    ///
    /// - Returns: whether there was any.
    func freeReserve() -> Bool { unsafe unlink(reserve) == 0 }

    // MARK: - Removal

    /// Threads for work that takes as long as the disk does.
    private static let threads = BlockingThreadPool(name: "download-folder", count: 1)

    /// Runs work on folders without holding up tasks.
    ///
    /// - Throws: the error of `work`; `download.busy` if too much of it waits.
    func perform(_ work: @escaping @Sendable (DownloadFolder) throws(DownloadError) -> Void) async throws(DownloadError) {
        do { try await Self.threads.run { try work(self) } } catch {
            throw error as? DownloadError ?? DownloadError(.busy, "too much work waits for the disk")
        }
    }

    /// Removes a package. It first gets a name that tells an interrupted removal from a package that lost files.
    ///
    /// - Throws: `download.disk` if a part of it stays.
    func remove(_ id: String) throws(DownloadError) {
        try take(id, Self.removedPrefix)
        try removeTree(Self.removedPrefix + id)
    }

    /// Removes the files of a package, and keeps the name that tells that it is being removed: on a full disk they make room for the
    /// row that says so.
    ///
    /// - Throws: `download.disk`.
    func clear(_ id: String) throws(DownloadError) {
        try take(id, Self.removedPrefix)
        let folder = "\(path)/\(Self.removedPrefix)\(id)"
        for name in names(in: folder) where name != "." && name != ".." { unsafe clinux_remove_tree("\(folder)/\(name)") }
    }

    /// Removes the files of an item that starts again. An interruption leaves them under a name that does not tell a removal.
    ///
    /// - Throws: `download.disk` if a part of it stays.
    func restart(_ id: String) throws(DownloadError) {
        try take(id, Self.restartedPrefix)
        try removeTree(Self.restartedPrefix + id)
    }

    private func take(_ id: String, _ prefix: String) throws(DownloadError) {
        let target = "\(path)/\(prefix)\(id)"
        // remains of an interruption
        if unsafe access(target, F_OK) == 0, unsafe access(package(id), F_OK) == 0 { unsafe clinux_remove_tree(target) }
        guard unsafe rename(package(id), target) == 0 || errno == ENOENT else { throw Self.failure("remove", package(id)) }
    }

    private func removeTree(_ name: String) throws(DownloadError) {
        let target = "\(path)/\(name)"
        unsafe clinux_remove_tree(target)
        guard unsafe access(target, F_OK) != 0 else { throw DownloadError(.disk, "cannot remove \(target): a file in it stays") }
    }

    /// Ids of packages whose removal began.
    func interruptedRemovals() -> [String] {
        names(in: path).compactMap { name in
            guard name.hasPrefix(Self.removedPrefix) else { return nil }
            let id = String(name.dropFirst(Self.removedPrefix.count))
            return Self.isID(id) ? id : nil
        }
    }

    // MARK: - Orphans

    /// Moves packages that no item has to `.orphans`, moves them back when their item is in the journal again, and removes them after
    /// a week.
    ///
    /// - Parameters:
    ///   - items: the ids in the journal.
    ///   - now: the time.
    /// - Returns: the packages that were removed.
    func sweepOrphans(items: Set<String>, now: Instant) -> [String] {
        var moved: Set<String> = []
        for id in names(in: path) where Self.isID(id) && !items.contains(id) {
            guard unsafe mkdir(orphans, 0o700) == 0 || errno == EEXIST else { return [] }
            // the time since which it is an orphan; without it, it stays where it is
            let seconds = timespec(tv_sec: Int(now.milliseconds / 1000), tv_nsec: 0)
            guard unsafe utimensat(AT_FDCWD, package(id), [seconds, seconds], 0) == 0 else { continue }
            if unsafe rename(package(id), "\(orphans)/\(id)") == 0 { moved.insert(id) }
        }
        var removed: [String] = []
        for id in names(in: orphans) where Self.isID(id) && !moved.contains(id) {
            let orphan = "\(orphans)/\(id)"
            if items.contains(id) {
                if unsafe access(package(id), F_OK) != 0 { unsafe rename(orphan, package(id)) }
                continue
            }
            var status = stat()
            guard unsafe lstat(orphan, &status) == 0 else { continue }
            let since = Instant(milliseconds: Int64(status.st_mtim.tv_sec) * 1000)
            guard now - since > Self.orphanTime else { continue }
            unsafe clinux_remove_tree(orphan)
            removed.append(id)
        }
        return removed
    }

    private func names(in folder: String) -> [String] {
        guard let directory = unsafe opendir(folder) else { return [] }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            names.append(
                unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                    unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
                }
            )
        }
        return names
    }
}
