// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// The segments that all sessions of a proxy hold open ahead of their players. Each holds 1 MiB at most: the first bytes of pictures and of
/// audio, and what the client takes behind them before it makes the origin wait.
final class PrefetchShare: Sendable {
    /// The place of one segment, given back when it is released.
    final class Place: Sendable {
        private let share: PrefetchShare

        fileprivate init(_ share: PrefetchShare) {
            self.share = share
        }

        deinit {
            share.free.withLock { $0 += 1 }
        }
    }

    private let free: Locked<Int>

    /// - Parameter limit: segments at a time.
    init(limit: Int) {
        free = Locked(limit)
    }

    /// A place for a segment; nil when all are taken.
    func take() -> Place? {
        let isFree = free.withLock { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
        return isFree ? Place(self) : nil
    }
}
