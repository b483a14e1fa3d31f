// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The lock of the one process that transfers; it ends with the value, and with the process.
final class TransferLock: Sendable {
    private let descriptor: Int32

    /// Nil if another process, or another queue of this process, has the lock.
    ///
    /// - Throws: `download.disk`, `download.disk-full`.
    init?(_ folder: DownloadFolder) throws(DownloadError) {
        descriptor = unsafe open(Self.path(folder), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw DownloadFolder.failure("open", Self.path(folder)) }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
        guard errno == EWOULDBLOCK else { throw DownloadFolder.failure("lock", Self.path(folder)) }
        return nil
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    private static func path(_ folder: DownloadFolder) -> String { "\(folder.path)/.lock" }

    /// Whether a process transfers now.
    static func isHeld(_ folder: DownloadFolder) -> Bool {
        let descriptor = unsafe open(path(folder), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }
}
