import CarrelBytes
import CarrelFiles
import Glibc

/// A file that appears whole or not at all: it is written beside its place and renamed.
///
/// A device, a named pipe and standard output are written as the bytes come, in order alone: what was written stays there.
package final class OutputFile: MediaSink {
    /// Its place; `-` for standard output.
    package let path: String
    /// The file beside its place; nil where bytes go to the place itself.
    private let fresh: String?
    private var descriptor: Int32
    private var buffer: [UInt8] = []
    /// Bytes written in order.
    private var count: Int64 = 0

    private static let bufferLength = 256 << 10
    /// Names of standard output.
    private static let standardOutput: Set<String> = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]

    /// Begins a file.
    ///
    /// - Parameters:
    ///   - path: its place; an existing file stays until `commit`. `-` is standard output. A named pipe waits for its reader.
    ///   - permissions: those of the file; nil for the usual ones of a new file.
    /// - Throws: `unwritable` when nothing can be written there.
    package init(_ path: String, permissions: UInt32? = nil) throws(MediaError) {
        self.path = path
        var status = stat()
        if Self.isStandardOutput(path) {
            descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
            fresh = nil
        } else if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            guard [S_IFCHR, S_IFIFO].contains(status.st_mode & S_IFMT) else {
                throw MediaError(.unwritable, "\(path) is not a file")
            }
            descriptor = unsafe open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC)
            fresh = nil
        } else {
            let fresh = "\(path).carrel-\(getpid())"
            self.fresh = fresh
            descriptor = unsafe open(
                fresh,
                O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                permissions == nil ? 0o644 : 0o600
            )
            if descriptor >= 0, let permissions { _ = fchmod(descriptor, permissions) }
        }
        guard descriptor >= 0 else { throw MediaError(.unwritable, "\(path) cannot be written: \(systemReason())") }
    }

    /// Whether a path leads to standard output.
    package static func isStandardOutput(_ path: String) -> Bool { standardOutput.contains(path) }

    /// Whether bytes can only be appended.
    package var isSequential: Bool { fresh == nil }

    deinit {
        guard descriptor >= 0 else { return }
        close(descriptor)
        if let fresh { unsafe unlink(fresh) }
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
        guard !isSequential else { throw Self.needsFile(path) }
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
        if offset == nil { count += Int64(bytes.byteCount) }
    }

    /// The refusal of an output whose earlier bytes change while it is written.
    private static func needsFile(_ path: String) -> MediaError {
        let name = isStandardOutput(path) ? "standard output" : path
        return MediaError(
            .unwritable,
            "\(name) cannot take this output, whose parts are not written in order: write it to a file"
        )
    }

    /// Gives the file its name; ends what is written in order.
    ///
    /// - Returns: its bytes.
    /// - Throws: `unwritable`; then there is no file, or the one from before.
    @discardableResult
    package func commit() throws -> Int64 {
        try flush()
        guard let fresh else {
            let isClosed = close(descriptor) == 0
            descriptor = -1
            guard isClosed else { throw MediaError(.unwritable, "\(path) cannot be written: \(systemReason())") }
            return count
        }
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
