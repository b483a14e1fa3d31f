// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import Glibc

/// A regular file open for reading at any offset, by any number of threads; closed with the value.
@safe
package final class RegularFile: Sendable {
    /// The identity of a file and of its content: equal if the file is the same and nothing changed it.
    package struct Version: Sendable, Hashable {
        fileprivate let device: UInt64
        fileprivate let inode: UInt64
        fileprivate let size: Int64
        fileprivate let modified: [Int]

        fileprivate init(_ status: stat) {
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
            size = Int64(status.st_size)
            modified = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
        }

        fileprivate func isSameFile(as other: Version) -> Bool { device == other.device && inode == other.inode }
    }

    /// The open file, valid as long as the value lives.
    package let descriptor: Int32
    /// The path that the file was opened by, for errors.
    private let path: String
    /// The file and its content when it was opened.
    package let version: Version
    /// Bytes, when it was opened.
    package var size: Int64 { version.size }
    /// When the content last changed, when it was opened.
    package var modified: Instant {
        Instant(milliseconds: Int64(version.modified[0]) * 1000 + Int64(version.modified[1]) / 1_000_000)
    }

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - path: a regular file. Opening a named pipe does not wait for its writer.
    ///   - isWritten: whether the descriptor is for writing too.
    ///   - followsLinks: false to refuse a symbolic link.
    /// - Throws: ``FileError`` `file.read` if it cannot be opened, `file.kind` unless it is a regular file.
    package convenience init(_ path: String, isWritten: Bool = false, followsLinks: Bool = true) throws(FileError) {
        let flags = (isWritten ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY | (followsLinks ? 0 : O_NOFOLLOW)
        var descriptor = unsafe open(path, flags | O_NONBLOCK)
        var status = stat()
        // another process has a lease on the file: without O_NONBLOCK, the kernel waits until it is given back (fcntl(2), F_SETLEASE)
        if descriptor < 0, errno == EWOULDBLOCK, unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
            descriptor = unsafe open(path, flags)
        }
        guard descriptor >= 0 else { throw FileError(.read, path) }
        try self.init(adopting: descriptor, path: path)
    }

    /// Takes over an open file.
    ///
    /// - Parameters:
    ///   - descriptor: open for reading; closed even if this throws.
    ///   - path: a name for errors.
    /// - Throws: ``FileError`` `file.kind` unless it is a regular file.
    package init(adopting descriptor: Int32, path: String = "") throws(FileError) {
        var status = stat()
        let isKnown = unsafe fstat(descriptor, &status) == 0
        guard isKnown, status.st_mode & S_IFMT == S_IFREG else {
            let error = FileError(.kind, path, isKnown ? EINVAL : errno)
            close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        self.path = path
        version = Version(status)
    }

    deinit {
        close(descriptor)
    }

    /// Returns the size of the file now.
    ///
    /// - Throws: ``FileError`` `file.read`.
    package func currentSize() throws(FileError) -> Int64 {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw FileError(.read, path) }
        return Int64(status.st_size)
    }

    /// Whether neither the size nor the time of the last change differs from when the file was opened.
    package var isUnchanged: Bool {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && Version(status) == version
    }

    /// Whether a path leads to this file, changed or not.
    package func isSame(as path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && Version(status).isSameFile(as: version)
    }

    /// Reads bytes into memory. Blocks on the disk.
    ///
    /// - Parameters:
    ///   - offset: the place of the first byte.
    ///   - buffer: what is filled.
    /// - Returns: the bytes read: fewer than the buffer holds only at the end of the file.
    /// - Throws: ``FileError`` `file.read`.
    package func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(FileError) -> Int {
        guard let start = buffer.baseAddress else { return 0 }
        var filled = 0
        while filled < buffer.count {
            let count = unsafe pread(descriptor, start + filled, buffer.count - filled, off_t(offset) + off_t(filled))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileError(.read, path) }
            if count == 0 { break }
            filled += count
        }
        return filled
    }

    /// Appends the bytes from `offset` on to the free part of `output`, fewer only at the end of the file.
    ///
    /// - Parameters:
    ///   - offset: the place of the first byte.
    ///   - limit: bytes at most.
    ///   - output: gets the bytes.
    /// - Returns: the bytes read.
    /// - Throws: ``FileError`` `file.read`.
    @discardableResult
    package func read(at offset: Int64, upTo limit: Int = .max, into output: inout OutputRawSpan) throws(FileError) -> Int {
        try unsafe output.withUnsafeMutableBytes { (buffer, filled) throws(FileError) in
            let end = filled + min(limit, buffer.count - filled)
            let count = try unsafe read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<end]))
            filled += count
            return count
        }
    }

    /// Returns the bytes of a range, fewer only at the end of the file.
    ///
    /// - Throws: ``FileError`` `file.read`.
    package func bytes(_ range: Range<Int64>) throws(FileError) -> [UInt8] {
        try [UInt8](rawCapacity: range.count) { (out) throws(FileError) in
            try read(at: range.lowerBound, upTo: range.count, into: &out)
        }
    }
}
