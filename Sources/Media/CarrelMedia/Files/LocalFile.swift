// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFiles
import CarrelMP4
import Glibc

/// A file on this machine, read in ranges. Reading blocks: never on threads that run tasks.
package final class LocalFile: ByteReader, Sendable {
    private let descriptor: Int32
    /// Its path.
    package let path: String
    /// Bytes in all, when it was opened.
    package let length: Int64
    private let device: UInt64
    private let number: UInt64

    /// Opens a file.
    ///
    /// - Parameter path: a regular file.
    /// - Throws: `unavailable` when it cannot be read.
    package init(_ path: String) throws(MediaError) {
        // not waiting for a writer of a named pipe
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw MediaError(.unavailable, "\(path) cannot be read: \(systemReason())") }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw MediaError(.unavailable, "\(path) is not a file")
        }
        self.descriptor = descriptor
        self.path = path
        length = Int64(status.st_size)
        device = UInt64(status.st_dev)
        number = UInt64(status.st_ino)
    }

    deinit {
        close(descriptor)
    }

    package func read(_ range: Range<Int64>) throws -> [UInt8] {
        var failure: Int32 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            while count < range.count {
                let done = unsafe pread(descriptor, start + count, range.count - count, off_t(range.lowerBound) + off_t(count))
                if done < 0, errno == EINTR { continue }
                if done < 0 { failure = errno }
                guard done > 0 else { return }
                count += done
            }
        }
        guard failure == 0 else { throw MediaError(.unavailable, "\(path) cannot be read: \(systemReason(failure))") }
        return bytes
    }

    /// Whether a path leads to this file.
    package func isSame(as path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return false }
        return UInt64(status.st_dev) == device && UInt64(status.st_ino) == number
    }
}
