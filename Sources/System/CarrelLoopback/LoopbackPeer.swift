// SPDX-License-Identifier: Apache-2.0

import CLinux

/// The socket at the other end of a connection over loopback, as the kernel knows it.
package struct LoopbackPeer: Sendable, Hashable {
    /// The user whose process made the socket.
    package let user: UInt32
    /// The number of the socket, unique until the machine restarts.
    package let cookie: UInt64
    /// The number of the socket in `/proc/PID/fd`.
    let inode: UInt32

    /// Whether this process, or one that descends from it, holds the socket. It reads `/proc`, so it blocks: about 2 ms for each
    /// hundred processes of the machine.
    ///
    /// - Returns: false also for a process whose parent has ended, and if this user may not list its descriptors.
    package func isHeldByOwnProcesses() -> Bool { clinux_own_processes_hold(inode) == 1 }
}
