// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import Glibc

/// A destination of text.
package protocol TextSink: Sendable {
    /// Writes all the bytes, or throws.
    func write(_ bytes: [UInt8]) throws(SinkFailure)
}

/// The system refused to take text.
package struct SinkFailure: Error, Equatable {
    /// `EPIPE`, `ENOSPC`, …
    package let errno: Int32
}

/// An open file, not owned.
package struct FileSink: TextSink {
    let descriptor: Int32

    package init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    package func write(_ bytes: [UInt8]) throws(SinkFailure) {
        var offset = 0
        while offset < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress?.advanced(by: offset), $0.count - offset)
            }
            if count >= 0 {
                offset += count
            } else if errno == EAGAIN {  // a terminal that another program made non-blocking
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                unsafe poll(&waiting, 1, -1)
            } else if errno != EINTR {
                throw SinkFailure(errno: errno)
            }
        }
    }
}

/// Stores output, for tests of commands.
package final class MemorySink: TextSink {
    private let content = Locked<[UInt8]>([])

    package init() {}

    package func write(_ bytes: [UInt8]) throws(SinkFailure) {
        content.withLock { $0 += bytes }
    }

    /// Everything written so far.
    package var text: String { String(decoding: content.withLock { $0 }, as: UTF8.self) }
}
