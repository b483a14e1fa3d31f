import CarrelBytes
import CarrelFiles
import Glibc

/// A file that appears whole or not at all: it is written beside its place and renamed.
package final class OutputFile: MediaSink {
    /// Its place.
    package let path: String
    private let fresh: String
    private var descriptor: Int32
    private var buffer: [UInt8] = []

    private static let bufferLength = 256 << 10

    /// Begins a file.
    ///
    /// - Parameters:
    ///   - path: its place; an existing file stays until `commit`.
    ///   - permissions: those of the file; nil for the usual ones of a new file.
    /// - Throws: `unwritable` when nothing can be written there.
    package init(_ path: String, permissions: UInt32? = nil) throws(MediaError) {
        var status = stat()
        if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw MediaError(.unwritable, "\(path) is not a file")
        }
        let fresh = "\(path).carrel-\(getpid())"
        let descriptor = unsafe open(
            fresh,
            O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
            permissions == nil ? 0o644 : 0o600
        )
        guard descriptor >= 0 else { throw MediaError(.unwritable, "\(path) cannot be written: \(systemReason())") }
        if let permissions { _ = fchmod(descriptor, permissions) }
        self.path = path
        self.fresh = fresh
        self.descriptor = descriptor
    }

    deinit {
        guard descriptor >= 0 else { return }
        close(descriptor)
        unsafe unlink(fresh)
    }

    package func write(_ bytes: RawSpan) throws {
        if bytes.byteCount >= Self.bufferLength {
            try flush()
            try put(bytes)
        } else {
            buffer.append(copying: bytes)
            if buffer.count >= Self.bufferLength { try flush() }
        }
    }

    package func overwrite(_ bytes: RawSpan, at offset: Int64) throws {
        try flush()
        try put(bytes, at: offset)
    }

    private func flush() throws {
        guard !buffer.isEmpty else { return }
        var held: [UInt8] = []
        swap(&held, &buffer)
        try put(held.rawSpan)
        held.removeAll(keepingCapacity: true)
        buffer = held
    }

    private func put(_ bytes: RawSpan, at offset: Int64? = nil) throws(MediaError) {
        let isWritten = unsafe bytes.withUnsafeBytes { source in
            var done = 0
            while done < source.count {
                let start = unsafe source.baseAddress.map { unsafe $0 + done }
                let count =
                    if let offset {
                        unsafe pwrite(descriptor, start, source.count - done, off_t(offset) + off_t(done))
                    } else {
                        unsafe Glibc.write(descriptor, start, source.count - done)
                    }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                done += count
            }
            return true
        }
        guard isWritten else { throw MediaError(.unwritable, "\(path) cannot be written: \(systemReason())") }
    }

    /// Gives the file its name.
    ///
    /// - Returns: its bytes.
    /// - Throws: `unwritable`; then there is no file, or the one from before.
    @discardableResult
    package func commit() throws -> Int64 {
        try flush()
        let length = lseek(descriptor, 0, SEEK_END)
        guard fsync(descriptor) == 0, unsafe rename(fresh, path) == 0 else {
            throw MediaError(.unwritable, "\(path) cannot be written: \(systemReason())")
        }
        close(descriptor)
        descriptor = -1
        try? DurableFile.syncFolder(of: path)
        return Int64(length)
    }
}
