// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelMP4
import CarrelThreads
import Glibc

/// A resource for what reads and waits. Only on threads that may wait: never on those that run tasks.
struct BlockingReader: ByteReader, Sendable {
    private let resource: any Resource
    let length: Int64

    /// - Parameters:
    ///   - resource: the bytes.
    ///   - length: the number of bytes.
    init(_ resource: any Resource, length: Int64) {
        self.resource = resource
        self.length = length
    }

    func read(_ range: Range<Int64>) throws -> [UInt8] {
        let event = clinux_eventfd()
        guard event >= 0 else { throw ResourceError(.unavailable, "there are too many open files") }
        defer { close(event) }
        let outcome = Locked<Result<[UInt8], ResourceError>?>(nil)
        let resource = resource
        Task {
            let result: Result<[UInt8], ResourceError>
            do throws(ResourceError) { result = .success(try await resource.read(range)) } catch { result = .failure(error) }
            outcome.withLock { $0 = result }
            clinux_eventfd_signal(event)
        }
        var waiting = pollfd(fd: event, events: Int16(POLLIN), revents: 0)
        while unsafe poll(&waiting, 1, -1) < 1 {}
        guard let result = outcome.withLock({ $0 }) else { throw ResourceError(.unavailable, "reading failed") }
        return try result.get()
    }
}
