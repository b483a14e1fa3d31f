// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// An event that wakes a thread that waits for a file.
final class StopEvent: Sendable {
    private let descriptor: Int32

    /// Returns nil if the process has too many open files.
    init?() {
        descriptor = clinux_eventfd()
        guard descriptor >= 0 else { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    func signal() { clinux_eventfd_signal(descriptor) }

    /// Waits for the event or for a readable file.
    ///
    /// - Parameters:
    ///   - file: the file; nil to wait for the event alone.
    ///   - limit: the longest wait; nil for none.
    /// - Returns: whether the event was signaled.
    func wait(orReadable file: Int32?, _ limit: Duration? = nil) -> Bool {
        var requests = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
        if let file { requests.append(pollfd(fd: file, events: Int16(POLLIN), revents: 0)) }
        let milliseconds = limit.map { Int32(clamping: Int64(($0 / .milliseconds(1)).rounded(.up))) } ?? -1
        let count = unsafe poll(&requests, nfds_t(requests.count), milliseconds)
        return count > 0 && requests[0].revents != 0
    }
}
