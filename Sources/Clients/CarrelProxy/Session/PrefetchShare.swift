// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// The segments that all sessions of a proxy prefetch. Each holds at most 1 MiB: the first bytes of video and audio, and what the
/// client buffers before it applies back-pressure to the origin.
final class PrefetchShare: Sendable {
    /// The slot of one segment, which is freed on release.
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

    /// A place for a segment; nil if all are taken.
    func take() -> Place? {
        let isFree = free.withLock { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
        return isFree ? Place(self) : nil
    }
}
