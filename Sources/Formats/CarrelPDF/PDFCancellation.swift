// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Ends the reading of a document from another thread.
package final class PDFCancellation: Sendable {
    /// Readable after cancellation. Negative if there are too many open files: then nothing can be cancelled.
    let descriptor = clinux_eventfd()

    package init() {}

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Kills the reading process, if there is one, and prevents further ones. Does not wait.
    package func cancel() {
        if descriptor >= 0 { clinux_eventfd_signal(descriptor) }
    }

    /// Whether it was cancelled.
    var isCancelled: Bool {
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&state, 1, 0) == 1 && state.revents & Int16(POLLIN) != 0
    }
}
