import CarrelFiles
import CarrelMP4
package import CarrelThreads
import Glibc

/// A file on disk that is read by ranges. It is closed when the last reference goes.
package final class LocalFile: ByteReader, Sendable {
    /// Its path.
    package let path: String
    package let length: Int64
    private let descriptor: Int32

    /// Opens a regular file.
    ///
    /// - Parameter path: the file.
    /// - Throws: `media.unavailable` when there is none, or it cannot be read.
    package init(_ path: String) throws(MediaError) {
        // not waiting for a writer of a named pipe
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw MediaError(.unavailable, "cannot open \(path): \(systemReason())") }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw MediaError(.unavailable, "\(path) is not a regular file")
        }
        self.path = path
        self.descriptor = descriptor
        length = Int64(status.st_size)
    }

    deinit { close(descriptor) }

    package func read(_ range: Range<Int64>) throws -> [UInt8] {
        guard range.lowerBound >= 0, range.upperBound <= length else {
            throw MediaError(.unavailable, "\(path): bytes \(range) lie outside the file")
        }
        var number: Int32 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            while count < range.count {
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count..<range.count])
                let got = unsafe pread(descriptor, rest.baseAddress, rest.count, Int(range.lowerBound) + count)
                if got < 0, errno == EINTR { continue }
                if got < 0 { number = errno }
                guard got > 0 else { return }
                count += got
            }
        }
        guard bytes.count == range.count else {
            let reason = number == 0 ? "the file has become shorter" : systemReason(number)
            throw MediaError(.unavailable, "cannot read \(path): \(reason)")
        }
        return bytes
    }
}

/// A file on disk as a source. Reading blocks, and runs on threads of its own.
package final class FileSource: MediaSource {
    private let file: Locked<LocalFile?>
    private let contentType: String?
    private let threads: BlockingThreadPool

    /// - Parameters:
    ///   - file: the file.
    ///   - contentType: its media type.
    ///   - threads: reads it.
    package init(_ file: LocalFile, contentType: String? = nil, threads: BlockingThreadPool) {
        self.file = Locked(file)
        self.contentType = contentType
        self.threads = threads
    }

    private func current() throws(MediaError) -> LocalFile {
        guard let file = file.withLock({ $0 }) else { throw MediaError(.closed, "the stream is closed") }
        return file
    }

    package func open() throws -> MediaSourceInformation {
        MediaSourceInformation(length: try current().length, contentType: contentType)
    }

    package func read(_ range: Range<Int64>) async throws -> [UInt8] {
        let file = try current()
        return try await threads.run { try file.read(range) }
    }

    package func close() { file.withLock { $0 = nil } }
}
