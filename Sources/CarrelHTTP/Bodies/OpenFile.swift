import Glibc

/// A regular file open for reading; closed when the last holder lets go of it.
public final class OpenFile: Sendable {
    /// The descriptor, valid as long as the value lives.
    public let fd: Int32
    /// Bytes, when it was opened.
    public let size: Int64

    /// Opens the regular file at `path`; throws 404 when there is none.
    public init(path: String) throws(HTTPError) {
        let fd = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard fd >= 0 else {
            let missing = errno == ENOENT || errno == ENOTDIR
            throw missing
                ? HTTPError(.notFound, "http.notFound", "there is no such file")
                : HTTPError(.internalServerError, "http.file", "the file cannot be opened (error \(errno))")
        }
        var info = stat()
        guard unsafe fstat(fd, &info) == 0, info.st_mode & S_IFMT == S_IFREG else {
            close(fd)
            throw HTTPError(.notFound, "http.notFound", "there is no such file")
        }
        self.fd = fd
        size = Int64(info.st_size)
    }

    deinit {
        close(fd)
    }

    /// Reads a range into memory; throws when the file has become shorter.
    func read(_ range: Range<Int64>) throws(HTTPError) -> [UInt8] {
        let fd = fd
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            while count < range.count {
                let got = unsafe pread(
                    fd,
                    buffer.baseAddress.map { unsafe $0 + count },
                    range.count - count,
                    off_t(range.lowerBound) + off_t(count)
                )
                if got < 0, errno == EINTR { continue }
                guard got > 0 else { return }
                count += got
            }
        }
        guard bytes.count == range.count else {
            throw HTTPError(.internalServerError, "http.file", "the file is shorter than it was")
        }
        return bytes
    }
}
