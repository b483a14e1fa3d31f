// SPDX-License-Identifier: Apache-2.0

import CarrelFiles
import Glibc

/// Inter-process locks with a time limit.
package enum VaultLock {
    /// Locks an open file exclusively (flock(2)); closing it ends the lock.
    ///
    /// - Parameters:
    ///   - descriptor: the descriptor of the file.
    ///   - patience: how long another process may hold the lock.
    /// - Throws: `vault.unavailable`.
    package static func take(_ descriptor: Int32, patience: Duration) throws(VaultError) {
        let deadline = ContinuousClock.now + patience
        var pause: UInt32 = 500
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EINTR || errno == EWOULDBLOCK else {
                throw VaultError(.unavailable, "the vault cannot be locked: \(systemReason())")
            }
            guard ContinuousClock.now < deadline else {
                throw VaultError(.unavailable, "another process holds the vault's lock", recommendation: "end the other process")
            }
            usleep(pause)
            pause = min(pause * 2, 20_000)
        }
    }
}
