// SPDX-License-Identifier: Apache-2.0

import CarrelFiles
import Glibc

/// A lock with a single holder across processes and within one; the system releases it when its process ends.
package final class FileLock: Sendable {
    private let descriptor: Int32

    /// Locks a file, which is created if missing and never deleted. Throws ``ServerError`` `conflict` with `taken` when
    /// another process has the lock, `home` when the file cannot be used.
    package init(_ path: String, taken: String) throws(ServerError) {
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw ServerError(.home, "cannot use \(path): \(systemReason())") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let failure = errno
            close(descriptor)
            throw failure == EWOULDBLOCK
                ? ServerError(.conflict, taken) : ServerError(.home, "cannot lock \(path): \(systemReason(failure))")
        }
    }

    /// Writes a note for other processes into the file, such as the holder's address. Write errors are ignored.
    package func note(_ text: String) {
        let bytes = Array(text.utf8)
        guard ftruncate(descriptor, 0) == 0 else { return }
        _ = unsafe bytes.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    deinit {
        close(descriptor)
    }
}
