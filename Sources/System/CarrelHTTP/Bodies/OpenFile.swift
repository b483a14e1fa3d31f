// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import Glibc

/// A regular file open for reading; closed when the last holder lets go of it.
public final class OpenFile: Sendable {
    /// The descriptor, valid as long as the value lives.
    public let fd: Int32
    /// Bytes, when it was opened.
    public let size: Int64
    /// When its content last changed, when it was opened.
    public let modified: Instant

    /// Opens the regular file at `path`; throws 404 when there is none.
    ///
    /// - Parameter path: the file's path.
    /// - Throws: ``HTTPError`` with status 404, or 500 if the file cannot be opened.
    public convenience init(path: String) throws(HTTPError) {
        let fd = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard fd >= 0 else {
            let missing = errno == ENOENT || errno == ENOTDIR
            throw missing
                ? HTTPError(.notFound, "http.notFound", "there is no such file")
                : HTTPError(.internalServerError, "http.file", "the file cannot be opened (error \(errno))")
        }
        try self.init(adopting: fd)
    }

    /// The same file as an open descriptor, which stays its owner's.
    ///
    /// - Parameter descriptor: the descriptor to duplicate.
    /// - Throws: ``HTTPError`` with status 500 if it cannot be duplicated, or 404 if it is not a regular file.
    public convenience init(duplicating descriptor: Int32) throws(HTTPError) {
        let fd = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard fd >= 0 else { throw HTTPError(.internalServerError, "http.file", "the file cannot be opened (error \(errno))") }
        try self.init(adopting: fd)
    }

    private init(adopting fd: Int32) throws(HTTPError) {
        var info = stat()
        guard unsafe fstat(fd, &info) == 0, info.st_mode & S_IFMT == S_IFREG else {
            close(fd)
            throw HTTPError(.notFound, "http.notFound", "there is no such file")
        }
        self.fd = fd
        size = Int64(info.st_size)
        modified = Instant(milliseconds: Int64(info.st_mtim.tv_sec) * 1000 + Int64(info.st_mtim.tv_nsec) / 1_000_000)
    }

    /// Bytes that the file has now; it may have become shorter.
    public var sizeNow: Int64 {
        var info = stat()
        return unsafe fstat(fd, &info) == 0 ? Int64(info.st_size) : 0
    }

    deinit {
        close(fd)
    }

    /// Appends bytes of the range while there is room; throws when the file has become shorter.
    ///
    /// - Parameters:
    ///   - range: the bytes to read.
    ///   - out: the room for the bytes.
    /// - Throws: ``HTTPError`` with status 500.
    public func read(_ range: Range<Int64>, into out: inout OutputRawSpan) throws(HTTPError) {
        let wanted = Int(min(range.upperBound - range.lowerBound, Int64(out.freeCapacity)))
        var got = 0
        var error: Int32 = 0
        unsafe out.withUnsafeMutableBytes { buffer, count in
            while got < wanted {
                let n = unsafe pread(
                    fd,
                    buffer.baseAddress.map { unsafe $0 + count },
                    wanted - got,
                    off_t(range.lowerBound) + off_t(got)
                )
                if n < 0, errno == EINTR { continue }
                if n < 0 { error = errno }
                guard n > 0 else { return }
                got += n
                count += n
            }
        }
        guard error == 0 else { throw HTTPError(.internalServerError, "http.file", "the file cannot be read (error \(error))") }
        guard got == wanted else { throw HTTPError(.internalServerError, "http.file", "the file is shorter than it was") }
    }

    /// Reads a range into memory; throws when the file has become shorter.
    ///
    /// - Parameter range: the bytes to read.
    /// - Returns: the bytes.
    /// - Throws: ``HTTPError`` with status 500.
    public func read(_ range: Range<Int64>) throws(HTTPError) -> [UInt8] {
        try [UInt8](rawCapacity: range.count) { (out) throws(HTTPError) in try read(range, into: &out) }
    }
}
