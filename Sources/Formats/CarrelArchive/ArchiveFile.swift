// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import Glibc

/// An open file that is read by position.
package final class ArchiveFile: ArchiveSource {
    let descriptor: Int32
    package private(set) var length: Int64

    convenience init(path: String, isWritten: Bool = false) throws(ArchiveError) {
        let descriptor = unsafe open(path, (isWritten ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw Self.refused() }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw ArchiveError(.unreadable, "archive is not a regular file")
        }
        self.init(descriptor: descriptor, length: Int64(status.st_size))
    }

    /// Takes over an open file.
    init(descriptor: Int32, length: Int64) {
        self.descriptor = descriptor
        self.length = length
    }

    deinit {
        close(descriptor)
    }

    /// Looks again how long the file is.
    ///
    /// - Throws: `archive.unreadable`.
    func measure() throws(ArchiveError) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw Self.refused() }
        length = Int64(status.st_size)
    }

    package func read(_ range: Range<Int64>) throws(ArchiveError) -> [UInt8] {
        guard range.lowerBound >= 0, range.upperBound <= length else { throw ArchiveError(.damaged, "archive is cut off") }
        var bytes = [UInt8](repeating: 0, count: range.count)
        var done = 0
        while done < bytes.count {
            let got = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe pread(
                    descriptor,
                    buffer.baseAddress?.advanced(by: done),
                    buffer.count - done,
                    off_t(range.lowerBound) + done
                )
            }
            if got < 0, errno == EINTR { continue }
            if got < 0 { throw Self.refused() }
            if got == 0 { throw ArchiveError(.damaged, "archive is cut off") }
            done += got
        }
        return bytes
    }

    private static func refused() -> ArchiveError {
        unsafe ArchiveError(.unreadable, "archive cannot be read: \(String(cString: strerror(errno)))")
    }
}
