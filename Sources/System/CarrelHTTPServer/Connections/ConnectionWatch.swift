// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelBytes
internal import CarrelThreads
import Glibc
import Synchronization

/// The thread that sees clients hang up, and that sweeps deadlines.
final class ConnectionWatch: Sendable {
    private let epoll: Int32
    private let wake: Int32
    private let isStopped = Atomic(false)
    private let registry: ConnectionRegistry

    init(_ registry: ConnectionRegistry) throws(HTTPServerError) {
        self.registry = registry
        epoll = clinux_epoll()
        guard epoll >= 0 else { throw HTTPServerError(.resources, "the system refused an epoll (error \(-epoll))") }
        wake = clinux_eventfd()
        guard wake >= 0, clinux_epoll_add(epoll, wake, 1, 0) == 0 else {
            close(epoll)
            throw HTTPServerError(.resources, "the system refused an eventfd (error \(errno))")
        }
    }

    deinit {
        close(wake)
        close(epoll)
    }

    /// Starts the thread; `cut` receives the number of connections closed by a sweep.
    func start(
        interval: Int64,
        stalledWriter: Int64,
        header: Int64,
        readRate: Int64,
        _ threads: ThreadStarter,
        cut: @escaping @Sendable (Int) -> Void
    ) throws(HTTPServerError) {
        try threads.start(required: "http-watch") { [self] in
            var tags = [UInt64](repeating: 0, count: 64)
            var next = Monotonic.milliseconds() + interval
            while !isStopped.load(ordering: .sequentiallyConsistent) {
                let timeout = max(0, next - Monotonic.milliseconds())
                let eventCount = unsafe clinux_epoll_wait(epoll, &tags, 64, Int32(timeout))
                for tag in tags.prefix(Int(eventCount)) where tag != 0 { registry.hangUp(tag) }
                let now = Monotonic.milliseconds()
                if now >= next {
                    let count = registry.sweep(
                        now: now,
                        stalledWriter: stalledWriter,
                        header: header,
                        readRate: readRate
                    )
                    if count > 0 { cut(count) }
                    next = now + interval
                }
            }
        }
    }

    func stop() {
        isStopped.store(true, ordering: .sequentiallyConsistent)
        clinux_eventfd_signal(wake)
    }

    /// Watches for the peer hanging up until the socket is closed.
    func add(_ connection: Connection) {
        _ = clinux_epoll_add(epoll, connection.descriptor, 0, connection.id)
    }
}
