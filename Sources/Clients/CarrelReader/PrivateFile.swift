// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFiles
import Glibc

/// A file that only its owner can read, with atomic replacement: it has either its old or its new content.
package struct PrivateFile: Sendable {
    package let path: String
    /// Bytes at most.
    package let limit: Int
    /// The file's purpose, for errors: such as "file with the subscription".
    package let name: String

    package init(path: String, limit: Int, name: String) {
        self.path = path
        self.limit = limit
        self.name = name
    }

    /// The bytes; nil if there is no file.
    package func load() throws(ReaderError) -> [UInt8]? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("read")
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while bytes.count <= limit {
            var found = 0
            let piece = unsafe [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
                found = unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                count = max(0, found)
            }
            if found < 0, errno == EINTR { continue }
            guard found >= 0 else { throw failure("read") }
            if found == 0 { return bytes }
            bytes += piece
        }
        throw ReaderError(.store, "the \(name) is too long")
    }

    /// Tells one content of the file from the next, without reading it.
    package struct Mark: Sendable, Equatable {
        fileprivate var inode: UInt64
        fileprivate var seconds: Int
        fileprivate var nanoseconds: Int
        fileprivate var length: Int
    }

    /// The mark of the present content; nil if there is no file.
    package var mark: Mark? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return Mark(
            inode: UInt64(status.st_ino),
            seconds: status.st_mtim.tv_sec,
            nanoseconds: status.st_mtim.tv_nsec,
            length: Int(status.st_size)
        )
    }

    /// Runs a closure under the file's lock, alone among all callers of the same path, in this process or another.
    package func locked<Value>(_ body: () throws -> Value) throws -> Value {
        let descriptor = unsafe open("\(path).lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("locked") }
        // closing it ends the lock
        defer { close(descriptor) }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw failure("locked") }
        }
        return try body()
    }

    /// Writes and syncs a temporary file, then renames it over the old one.
    package func save(_ bytes: [UInt8]) throws(ReaderError) {
        guard bytes.count <= limit else { throw ReaderError(.store, "the \(name) would be too long") }
        do {
            try DurableFile.replace(path, with: bytes, folderSync: .attempted)
        } catch {
            throw ReaderError(.store, "the \(name) cannot be written: \(error.reason)")
        }
    }

    /// Removes the file, if it exists.
    package func remove() throws(ReaderError) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw failure("removed") }
    }

    private func failure(_ verb: String) -> ReaderError {
        ReaderError(.store, "the \(name) cannot be \(verb): \(systemReason())")
    }
}
