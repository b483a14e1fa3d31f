import CLinux
internal import CarrelThreads
import Glibc
import Synchronization

/// Connections that are answered and closed on our side while their client still sends.
///
/// The kernel resets a connection that is closed with bytes unread, and the client loses the answer. So a copy of the descriptor stays
/// open and what comes is thrown away, until the client closes too, for a bounded time and number of bytes.
final class ClosingConnections: Sendable {
    private struct Entry {
        let end: Int64
        var bytesLeft: Int
    }

    /// Connections at a time; more are closed as they are.
    private static let most = 128
    /// Milliseconds for each.
    private static let patience: Int64 = 5000
    /// Bytes for each.
    private static let room = 16 << 20

    private let epoll: Int32
    private let wake: Int32
    private let isStopped = Atomic(false)
    /// By descriptor.
    private let entries = Locked<[Int32: Entry]>([:])

    init() throws(HTTPServerError) {
        epoll = clinux_epoll()
        guard epoll >= 0 else { throw HTTPServerError(.resources, "the system refused an epoll (error \(-epoll))") }
        wake = clinux_eventfd()
        guard wake >= 0, clinux_epoll_add(epoll, wake, 1, UInt64.max) == 0 else {
            close(epoll)
            throw HTTPServerError(.resources, "the system refused an eventfd (error \(errno))")
        }
    }

    deinit {
        for descriptor in entries.withLock({ Array($0.keys) }) { close(descriptor) }
        close(wake)
        close(epoll)
    }

    /// Keeps a connection from being reset when its descriptor is closed.
    func take(_ descriptor: Int32) {
        guard entries.withLock({ $0.count < Self.most }) else { return }
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return }
        entries.withLock { $0[copy] = Entry(end: Monotonic.milliseconds() + Self.patience, bytesLeft: Self.room) }
        if clinux_epoll_add(epoll, copy, 1, UInt64(copy)) != 0 { end(copy) }
    }

    /// Starts the thread that reads.
    func start(_ threads: ThreadStarter) throws(HTTPServerError) {
        try threads.start(required: "http-closing") { [self] in
            var tags = [UInt64](repeating: 0, count: 64)
            var scratch = [UInt8](repeating: 0, count: 64 * 1024)
            while !isStopped.load(ordering: .sequentiallyConsistent) {
                let found = unsafe clinux_epoll_wait(epoll, &tags, 64, entries.withLock { $0.isEmpty } ? 1000 : 250)
                for tag in tags.prefix(Int(max(0, found))) where tag != UInt64.max { read(Int32(tag), &scratch) }
                let now = Monotonic.milliseconds()
                for (descriptor, entry) in entries.withLock({ $0 }) where entry.end <= now || entry.bytesLeft <= 0 {
                    end(descriptor)
                }
            }
        }
    }

    func stop() {
        isStopped.store(true, ordering: .sequentiallyConsistent)
        clinux_eventfd_signal(wake)
    }

    private func read(_ descriptor: Int32, _ scratch: inout [UInt8]) {
        let count = unsafe scratch.withUnsafeMutableBytes {
            unsafe recv(descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
        }
        if count > 0 {
            entries.withLock { $0[descriptor]?.bytesLeft -= count }
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            end(descriptor)
        }
    }

    private func end(_ descriptor: Int32) {
        guard entries.withLock({ $0.removeValue(forKey: descriptor) != nil }) else { return }
        clinux_epoll_remove(epoll, descriptor)
        close(descriptor)
    }
}
