// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import Glibc

/// The folder `trash` of a blob store: blobs that a sweep found unused, as `TIME-NAME` with the time of the move in milliseconds
/// since 1970-01-01 UTC.
package enum BlobTrash {
    /// The time that a blob stays in the trash before it is deleted.
    package static let life = Duration.seconds(7 * 24 * 3600)

    static func name(_ id: BlobID, at now: Instant) -> String { "\(now.milliseconds)-\(id.text)" }

    /// The parts of a name in the trash; nil for any other file.
    static func parse(_ name: String) -> (id: BlobID, movedAt: Instant)? {
        let parts = name.split(separator: "-", maxSplits: 1)
        guard parts.count == 2, let time = Int64(parts[0]), let id = BlobID(String(parts[1])) else { return nil }
        return (id, Instant(milliseconds: time))
    }
}

extension DirectoryBlobStore {
    package func census(before: Instant, keeping isUsed: (BlobID) throws -> Bool) throws -> BlobCensus {
        var census = BlobCensus()
        try each { id in
            census.all += 1
            guard try !isUsed(id) else { return }
            var status = stat()
            if unsafe stat(path(of: id), &status) == 0, Self.isOlder(status, than: before) { census.unused += 1 }
        }
        return census
    }

    @discardableResult
    package func sweep(before: Instant, at now: Instant, keeping isUsed: (BlobID) throws -> Bool) throws -> Int {
        try recover(keeping: isUsed)
        try emptyTrash(at: now)
        var count = 0
        try each { id in
            guard try !isUsed(id) else { return }
            var status = stat()
            guard unsafe stat(path(of: id), &status) == 0, Self.isOlder(status, than: before) else { return }
            if count == 0 { try makeFolder(trash) }
            if try moveToTrash(id, ifOlderThan: before, at: now) { count += 1 }
        }
        if count > 0 { try syncFile(trash) }
        return count
    }

    private var trash: String { "\(path)/trash" }

    private static func isOlder(_ status: stat, than before: Instant) -> Bool {
        Int64(status.st_mtim.tv_sec) * 1000 + 999 < before.milliseconds
    }

    /// Moves a blob to the trash, and back where another process has just finished the same content in its place.
    private func moveToTrash(_ id: BlobID, ifOlderThan before: Instant, at now: Instant) throws(StoreError) -> Bool {
        let target = "\(trash)/\(BlobTrash.name(id, at: now))"
        guard unsafe rename(path(of: id), target) == 0 else {
            guard errno == ENOENT else { throw StoreError(errno: errno, "the blob cannot be moved to the trash") }
            return false
        }
        var status = stat()
        guard unsafe stat(target, &status) != 0 || Self.isOlder(status, than: before) else {
            try moveBack(target, id)
            return false
        }
        try syncFolder(of: path(of: id))
        return true
    }

    private func moveBack(_ name: String, _ id: BlobID) throws(StoreError) {
        try makeFolder("\(path)/\(id.text.prefix(2))")
        try rename(name, to: path(of: id), orSay: "the blob cannot be moved back from the trash")
    }

    package func recover(keeping isUsed: (BlobID) throws -> Bool) throws {
        try eachInTrash { id, file, _ in
            if try isUsed(id), try !contains(id) { try moveBack(file, id) }
        }
    }

    /// Deletes the blobs that have been in the trash for their time.
    private func emptyTrash(at now: Instant) throws {
        try eachInTrash { _, file, movedAt in
            guard now - movedAt >= BlobTrash.life, unsafe unlink(file) != 0, errno != ENOENT else { return }
            throw StoreError(errno: errno, "a blob cannot be deleted from the trash")
        }
    }

    private func eachInTrash(_ body: (BlobID, String, Instant) throws -> Void) throws {
        guard unsafe access(trash, F_OK) == 0 else { return }
        for name in try names(in: trash) {
            if let (id, movedAt) = BlobTrash.parse(name) { try body(id, "\(trash)/\(name)", movedAt) }
        }
    }
}
