// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelHTTP
internal import CarrelThreads
import Glibc
import Synchronization

/// The open connections, and the sweep that cuts those that are past a deadline.
final class ConnectionRegistry: Sendable {
    private struct Entry {
        let connection: Connection
        /// The kernel's last count of acknowledged bytes, the time of that count, and the milliseconds left for the client to
        /// read more.
        var progress: UInt64 = 0
        var progressAt: Int64 = 0
        var patience: Int64 = 0
        /// The number of requests before the awaited one, the bytes received when it was first seen, and the time of later bytes.
        var requestCount: UInt32?
        var receivedCount: UInt64 = 0
        var receivedAt: Int64 = 0

        /// Whether the client reads a response too slowly: it has `limit` milliseconds, and regains a second for each `rate`
        /// bytes that it reads. So a paused player survives for that time, and a client that reads occasional bytes not longer.
        mutating func isStalled(now: Int64, limit: Int64, rate: Int64) -> Bool {
            guard connection.phase.load(ordering: .relaxed) == .writing else {
                progressAt = 0
                return false
            }
            let acknowledged = clinux_send_progress(connection.descriptor)
            defer { (progress, progressAt) = (acknowledged, now) }
            guard progressAt > 0, clinux_send_waiting(connection.descriptor) > 0 else {
                patience = limit
                return false
            }
            let isMeasured = if case .network(_, _) = connection.peer { rate > 0 } else { false }
            var gained = acknowledged == progress ? 0 : limit
            if isMeasured, acknowledged >= progress {
                gained = Int64(clamping: min(acknowledged - progress, 1 << 40)) * 1000 / rate
            }
            patience = min(limit, patience - (now - progressAt) + gained)
            return patience <= 0
        }

        /// Whether the next request has been coming for `limit` milliseconds without its line being whole.
        mutating func isDripping(now: Int64, limit: Int64) -> Bool {
            guard connection.phase.load(ordering: .relaxed) == .idle else { return false }
            let (requests, bytes) = (connection.requests.load(ordering: .relaxed), clinux_received(connection.descriptor))
            if requestCount != requests {
                (requestCount, receivedCount, receivedAt) = (requests, bytes, 0)
            } else if bytes != receivedCount, receivedAt == 0 {
                receivedAt = now
            }
            return receivedAt > 0 && now - receivedAt >= limit
        }
    }

    private let entries = Locked<[UInt64: Entry]>([:])

    func add(_ connection: Connection) {
        entries.withLock { $0[connection.id] = Entry(connection: connection) }
    }

    /// After this nothing here touches the connection's socket, so that it can be closed.
    func remove(_ connection: Connection) {
        _ = entries.withLock { $0.removeValue(forKey: connection.id) }
    }

    /// The peer of a connection has hung up, at least for its own part.
    func hangUp(_ id: UInt64) {
        let connection = entries.withLock { entries -> Connection? in
            guard let connection = entries[id]?.connection else { return nil }
            // A nudge also triggers this event again: sent each time, it would loop forever.
            if !connection.hasHungUp.exchange(true, ordering: .sequentiallyConsistent) { Self.nudge(connection) }
            return connection
        }
        connection?.hangUp()
    }

    /// Triggers another edge event for libmicrohttpd, the end of the stream; bytes in the buffer stay there.
    private static func nudge(_ connection: Connection) {
        if connection.awaitsBytes { shutdown(connection.descriptor, Int32(SHUT_RD)) }
    }

    var count: Int { entries.withLock { $0.count } }

    var all: [Connection] { entries.withLock { $0.values.map(\.connection) } }

    /// Closes connections past their deadline, and writers whose client reads too slowly.
    ///
    /// - Parameters:
    ///   - now: milliseconds of ``Monotonic``.
    ///   - stalledWriter: milliseconds for which a client may read nothing.
    ///   - header: milliseconds from the first bytes of a request to its last header field.
    ///   - readRate: the minimum average rate in bytes per second over `stalledWriter`; 0 for no minimum.
    /// - Returns: the number of closed connections.
    func sweep(now: Int64, stalledWriter: Int64, header: Int64, readRate: Int64) -> Int {
        entries.withLock { entries in
            var cut = 0
            for i in entries.values.indices {
                let connection = entries.values[i].connection
                var isOver = connection.deadline.load(ordering: .relaxed) <= now
                if entries.values[i].isStalled(now: now, limit: stalledWriter, rate: readRate) { isOver = true }
                if entries.values[i].isDripping(now: now, limit: header) { isOver = true }
                if connection.hasHungUp.load(ordering: .relaxed) { Self.nudge(connection) }
                if isOver {
                    cut += 1
                    connection.hasHungUp.store(true, ordering: .sequentiallyConsistent)
                    shutdown(connection.descriptor, Int32(SHUT_RDWR))
                }
            }
            return cut
        }
    }

    /// Cuts the connections of these peers, whatever they are about.
    func cut(_ peers: Set<Peer>) {
        let connections = entries.withLock { entries in
            entries.values.map(\.connection).filter { connection in
                guard peers.contains(connection.peer) else { return false }
                shutdown(connection.descriptor, Int32(SHUT_RDWR))
                return true
            }
        }
        for connection in connections { connection.hangUp() }
    }

    /// Cuts the connections that are between requests.
    func cutIdle() {
        entries.withLock { entries in
            for entry in entries.values {
                let phase = entry.connection.phase.load(ordering: .relaxed)
                if phase == .idle || phase == .head { shutdown(entry.connection.descriptor, Int32(SHUT_RDWR)) }
            }
        }
    }
}
