// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// Distinguishes the connections of this process and its descendants from others. Each connection is looked up once.
final class OwnProcesses: Sendable {
    /// Verdicts by the socket's cookie.
    private let verdicts = Locked<[UInt64: Bool]>([:])
    /// The verdicts that are kept; one more evicts all of them.
    private let limit: Int
    /// Made for the first lookup.
    private let thread = Locked<BlockingThreadPool?>(nil)

    init(limit: Int) {
        self.limit = limit
    }

    /// Whether a peer is this process or descends from it.
    func include(_ peer: LoopbackPeer) async -> Bool {
        if let verdict = verdicts.withLock({ $0[peer.cookie] }) { return verdict }
        let pool = thread.withLock { thread in
            let pool = thread ?? BlockingThreadPool(name: "loopback-peers", count: 1)
            thread = pool
            return pool
        }
        guard let isOwn = try? await pool.runUnlessCancelled({ peer.isHeldByOwnProcesses() }) else { return false }
        verdicts.withLock { verdicts in
            if verdicts.count >= limit { verdicts.removeAll() }
            verdicts[peer.cookie] = isOwn
        }
        return isOwn
    }
}
