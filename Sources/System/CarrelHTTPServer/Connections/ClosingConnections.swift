// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelBytes
internal import CarrelThreads
import Glibc
import Synchronization

/// Connections that we have answered and closed while their client still sends.
///
/// The kernel resets a connection that is closed with bytes unread, and the client loses the answer. So a copy of the descriptor
/// stays open and received bytes are discarded, until the client closes too, for a bounded time and number of bytes.
final class ClosingConnections: Sendable {
    private struct Entry {
        let number: UInt64
        let end: Int64
        var bytesLeft: Int
    }

    private struct State {
        /// The entries by descriptor.
        var entries: [Int32: Entry] = [:]
        /// The entries in order of arrival, in which they also expire; some may already be removed.
        var order: [(descriptor: Int32, number: UInt64)] = []
        /// The elements of `order` that are done with.
        var passed = 0
        var number: UInt64 = 0

        /// The descriptor of the entry that came first; nil without entries.
        mutating func first() -> Int32? {
            while passed < order.count {
                let (descriptor, number) = order[passed]
                if entries[descriptor]?.number == number { return descriptor }
                passed += 1
                if passed > 1024, passed > order.count / 2 {
                    order.removeFirst(passed)
                    passed = 0
                }
            }
            return nil
        }
    }

    /// Connections at a time. One more ends the first, whose client had the longest time to read.
    static let most = 1024
    /// Milliseconds for each.
    private static let patience: Int64 = 5000
    /// Bytes for each.
    private static let room = 16 << 20

    private let epoll: Int32
    private let wake: Int32
    private let isStopped = Atomic(false)
    private let state = Locked(State())

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
        for descriptor in state.withLock({ Array($0.entries.keys) }) { close(descriptor) }
        close(wake)
        close(epoll)
    }

    /// Keeps a connection from being reset when its descriptor is closed.
    func take(_ descriptor: Int32) {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return }
        let oldest = state.withLock { state in
            let oldest = state.entries.count < Self.most ? nil : state.first()
            state.number += 1
            let entry = Entry(number: state.number, end: Monotonic.milliseconds() + Self.patience, bytesLeft: Self.room)
            state.entries[copy] = entry
            state.order.append((copy, entry.number))
            return oldest
        }
        if let oldest { end(oldest) }
        if clinux_epoll_add(epoll, copy, 1, UInt64(copy)) != 0 { end(copy) }
    }

    /// The number of connections.
    var count: Int { state.withLock { $0.entries.count } }

    /// Starts the thread that reads.
    func start(_ threads: ThreadStarter) throws(HTTPServerError) {
        try threads.start(required: "http-closing") { [self] in
            var tags = [UInt64](repeating: 0, count: 64)
            var scratch = [UInt8](repeating: 0, count: 64 * 1024)
            while !isStopped.load(ordering: .sequentiallyConsistent) {
                let eventCount = unsafe clinux_epoll_wait(epoll, &tags, 64, count == 0 ? 1000 : 250)
                for tag in tags.prefix(Int(max(0, eventCount))) where tag != UInt64.max { read(Int32(tag), &scratch) }
                let now = Monotonic.milliseconds()
                while let descriptor = state.withLock({ state in
                    state.first().flatMap { (state.entries[$0]?.end ?? now) <= now ? $0 : nil }
                }) { end(descriptor) }
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
            let bytesLeft = state.withLock { state in
                state.entries[descriptor]?.bytesLeft -= count
                return state.entries[descriptor]?.bytesLeft ?? 0
            }
            if bytesLeft <= 0 { end(descriptor) }
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            end(descriptor)
        }
    }

    private func end(_ descriptor: Int32) {
        guard state.withLock({ $0.entries.removeValue(forKey: descriptor) != nil }) else { return }
        clinux_epoll_remove(epoll, descriptor)
        close(descriptor)
    }
}
