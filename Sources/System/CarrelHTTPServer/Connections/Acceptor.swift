// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelBytes
internal import CarrelThreads
import Glibc
import Synchronization

/// The thread that accepts connections and deals them out in turn, so that no worker has them all.
final class Acceptor: Sendable {
    private let sockets: Locked<[ListeningSocket]>
    private let epoll: Int32
    private let wake: Int32
    private let isStopped = Atomic(false)
    private let progress = Locked(Progress.running)

    private enum Progress: Sendable {
        case running
        /// ``stop()`` waits for the thread.
        case awaited(CheckedContinuation<Void, Never>)
        case ended
    }

    init(_ sockets: [ListeningSocket]) throws(HTTPServerError) {
        self.sockets = Locked(sockets)
        epoll = clinux_epoll()
        wake = clinux_eventfd()
        var isReady = epoll >= 0 && wake >= 0 && clinux_epoll_add(epoll, wake, 1, UInt64.max) == 0
        for (i, socket) in sockets.enumerated() where isReady {
            isReady = clinux_epoll_add(epoll, socket.descriptor, 1, UInt64(i)) == 0
        }
        guard isReady else { throw HTTPServerError(.resources, "the system refused descriptors (error \(errno))") }
    }

    deinit {
        close(wake)
        close(epoll)
    }

    /// Starts the thread; `take` receives each accepted socket and is responsible for closing it.
    func start(
        _ threads: ThreadStarter,
        _ take: @escaping @Sendable (Int32, ListeningSocket) -> Void
    ) throws(HTTPServerError) {
        let sockets = sockets.withLock { $0 }
        try threads.start(required: "http-accept") { [self] in
            var tags = [UInt64](repeating: 0, count: 64)
            while !isStopped.load(ordering: .sequentiallyConsistent) {
                let eventCount = unsafe clinux_epoll_wait(epoll, &tags, 64, -1)
                for tag in tags.prefix(Int(eventCount)) where tag < UInt64(sockets.count) {
                    accept(from: sockets[Int(tag)], take)
                }
            }
            let continuation = progress.withLock { progress -> CheckedContinuation<Void, Never>? in
                defer { progress = .ended }
                if case .awaited(let continuation) = progress { return continuation }
                return nil
            }
            continuation?.resume()
        }
    }

    private func accept(from socket: ListeningSocket, _ take: (Int32, ListeningSocket) -> Void) {
        // Not forever from one socket: the other sockets and the stop signal get their turn.
        for _ in 0..<256 {
            let descriptor = clinux_accept(socket.descriptor)
            if descriptor >= 0 {
                if socket.admits(descriptor) { take(descriptor, socket) } else { close(descriptor) }
                continue
            }
            switch -descriptor {
            case EINTR, ECONNABORTED: continue
            case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                usleep(50_000)  // nothing to take it with; others may end
                return
            default: return
            }
        }
    }

    /// Accepts nothing more and closes the listening sockets; returns when the thread has ended.
    func stop() async {
        isStopped.store(true, ordering: .sequentiallyConsistent)
        clinux_eventfd_signal(wake)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isOver = progress.withLock { progress in
                if case .ended = progress { return true }
                progress = .awaited(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
        sockets.withLock { $0 = [] }
    }
}
