// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelBytes
import Glibc

/// Blobs as files in one folder: `ab/abcd…`, of mode 0600, in folders of mode 0700.
///
/// A blob is written under another name, synced, and renamed, so a name always stands for the whole content. Several
/// processes may use one folder.
package final class DirectoryBlobStore: BlobStore {
    /// The folder.
    package let path: String

    /// Opens or creates the folder, and removes partial files of dead processes.
    ///
    /// - Parameter path: the folder; its parent must exist.
    /// - Throws: `store.unavailable` if it cannot be used.
    package init(path: String) throws(StoreError) {
        self.path = path
        try makeFolder(path)
        try makeFolder(partials)
        removePartials()
    }

    package func writer() throws(StoreError) -> any BlobWriter {
        try DirectoryBlobWriter(in: partials, keep: keep)
    }

    package func open(_ id: BlobID) throws(StoreError) -> OpenBlob {
        let descriptor = unsafe Glibc.open(path(of: id), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StoreError(errno: errno, "the blob cannot be opened") }
        return try OpenBlob(adopting: descriptor)
    }

    package func contains(_ id: BlobID) throws(StoreError) -> Bool {
        if unsafe access(path(of: id), F_OK) == 0 { return true }
        guard errno == ENOENT else { throw StoreError(errno: errno, "the blob cannot be looked for") }
        return false
    }

    @discardableResult
    package func delete(_ id: BlobID) throws(StoreError) -> Bool {
        if unsafe unlink(path(of: id)) != 0 {
            guard errno == ENOENT else { throw StoreError(errno: errno, "the blob cannot be deleted") }
            return false
        }
        try syncFolder(of: path(of: id))
        return true
    }

    package func each(_ body: (BlobID) throws -> Void) throws {
        for shelf in try names(in: path) where shelf.utf8.count == 2 {
            for name in try names(in: "\(path)/\(shelf)") {
                if let id = BlobID(name) { try body(id) }
            }
        }
    }

    /// The path of the blob of this name, if it exists.
    package func path(of id: BlobID) -> String { "\(path)/\(id.text.prefix(2))/\(id.text)" }

    var partials: String { "\(path)/partial" }

    /// Gives the finished file at `partial` its name for good. Existing content is replaced by the same.
    func keep(_ partial: String, as id: BlobID) throws(StoreError) {
        let target = path(of: id)
        try makeFolder("\(path)/\(id.text.prefix(2))")
        try rename(partial, to: target, orSay: "the blob cannot be given its name")
    }

    func makeFolder(_ path: String) throws(StoreError) {
        if unsafe mkdir(path, 0o700) == 0 {
            try syncFolder(of: path)
        } else if errno != EEXIST {
            throw StoreError(errno: errno, "the folder of the blobs cannot be made")
        }
    }

    /// Removes the unlocked partial files: their writers are gone.
    private func removePartials() {
        for name in (try? names(in: partials)) ?? [] {
            let partial = "\(partials)/\(name)"
            let descriptor = unsafe Glibc.open(partial, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { _ = unsafe unlink(partial) }
            close(descriptor)
        }
    }

    func names(in folder: String) throws(StoreError) -> [String] {
        guard let stream = unsafe opendir(folder) else { throw StoreError(errno: errno, "the blobs cannot be listed") }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { start in
                unsafe start.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
