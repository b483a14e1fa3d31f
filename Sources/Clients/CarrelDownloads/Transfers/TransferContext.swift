// SPDX-License-Identifier: Apache-2.0

import CarrelHTTPClient
import CarrelThreads

/// Threads and limits that all transfers of a queue share.
struct TransferContext: Sendable {
    /// Runs the tasks of transfers, which wait for the disk.
    let executor = BlockingExecutor(name: "download", count: 4)
    /// Threads that sync and read files.
    let disk = BlockingThreadPool(name: "download-disk", count: 2)
    let slots: ConnectionSlots
    /// The rate of all transfers together.
    let bandwidth = BandwidthLimit()

    init(_ limits: DownloadQueueLimits) {
        slots = ConnectionSlots(total: limits.transfers.connections ?? Self.connections, perHost: limits.connectionsPerHost)
        bandwidth.bytesPerSecond = limits.transfers.bytesPerSecond
    }

    /// Connections of all transfers if no limit is set.
    private static let connections = 16

    func update(_ limits: DownloadQueueLimits) {
        slots.setLimits(total: limits.transfers.connections ?? Self.connections, perHost: limits.connectionsPerHost)
        if bandwidth.bytesPerSecond != limits.transfers.bytesPerSecond {
            bandwidth.bytesPerSecond = limits.transfers.bytesPerSecond
        }
    }
}

/// The limits of one item's transfers, which change while they run.
final class ItemLimits: Sendable {
    /// Transfers of an item at a time, at most.
    static let workers = 16
    private static let connections = 8

    let bandwidth = BandwidthLimit()
    private let count = Locked(ItemLimits.connections)

    init(_ limits: DownloadLimits) { update(limits) }

    func update(_ limits: DownloadLimits) {
        if bandwidth.bytesPerSecond != limits.bytesPerSecond { bandwidth.bytesPerSecond = limits.bytesPerSecond }
        count.withLock { $0 = min(limits.connections ?? Self.connections, Self.workers) }
    }

    /// Connections at a time.
    var connections: Int { count.withLock { $0 } }
}
