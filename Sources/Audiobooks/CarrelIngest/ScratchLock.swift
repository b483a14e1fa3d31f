// SPDX-License-Identifier: Apache-2.0

import CarrelCrypto
import Glibc

/// A file that its process holds a lock on, under a name that no other has.
final class ScratchLock: Sendable {
    let name: String
    private let path: String
    private let descriptor: Int32

    init(in folder: String) throws(IngestError) {
        while true {
            let name = Random.uuid().filter { $0 != "-" }
            let path = "\(folder)/\(name)"
            let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw IngestError(scratch: path) }
            // Between these two calls another process may have removed the file as a dead process's.
            var status = stat()
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, unsafe fstat(descriptor, &status) == 0, status.st_nlink == 1 {
                self.name = name
                self.path = path
                self.descriptor = descriptor
                return
            }
            close(descriptor)
        }
    }

    deinit {
        unsafe unlink(path)
        close(descriptor)
    }

    /// Whether a process holds the lock of a file; removes an unlocked file.
    static func isHeld(_ path: String) -> Bool {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno != ENOENT }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return true }
        unsafe unlink(path)
        return false
    }
}
