// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reads what a child process writes into a pipe.
package enum PipeReader {
    /// Reads a pipe until every writer has closed it.
    ///
    /// - Parameters:
    ///   - descriptor: the reading end.
    ///   - limit: bytes at most.
    ///   - deadline: when to give up.
    ///   - cancellation: a descriptor that becomes readable when nothing is wanted any more; nil for none.
    /// - Returns: the bytes; nil if there are more than `limit`, when the deadline passed, when it was cancelled, or when reading
    ///   failed.
    package static func readAll(
        _ descriptor: Int32,
        upTo limit: Int,
        until deadline: ContinuousClock.Instant,
        cancellation: Int32? = nil
    ) -> [UInt8]? {
        var all: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let milliseconds = ContinuousClock.now.duration(to: deadline) / .milliseconds(1)
            // poll(2) skips a number below zero.
            var descriptors = [descriptor, cancellation ?? -1].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            let ready = unsafe poll(&descriptors, 2, Int32(max(0, min(milliseconds, 1e6))))
            if ready < 0, errno == EINTR { continue }
            guard ready > 0, descriptors[1].revents == 0 else { return nil }
            let count = unsafe piece.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { return all }
            if count < 0, errno == EINTR { continue }
            guard count > 0, all.count + count <= limit else { return nil }
            all += piece[..<count]
        }
    }
}
