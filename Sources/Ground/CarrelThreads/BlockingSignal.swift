// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Wakes a thread that waits: a signal that comes before the wait is not lost.
package final class BlockingSignal: Sendable {
    private let descriptor: Int32

    /// Nil if there are too many open files.
    package init?() {
        descriptor = clinux_eventfd()
        guard descriptor >= 0 else { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Wakes the waiting thread, or the next one that waits.
    package func signal() { clinux_eventfd_signal(descriptor) }

    /// Waits for a signal. Blocks: never on threads that run tasks.
    package func wait() {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while unsafe poll(&request, 1, -1) < 1 {}
        clinux_eventfd_clear(descriptor)
    }
}
