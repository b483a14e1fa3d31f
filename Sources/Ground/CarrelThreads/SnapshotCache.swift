// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// A bounded cache of database content. An entry is fresh for a time to live; values read before a change are not stored after
/// it.
///
/// Every entry costs 1. Inlined at every use, like ``Locked``: a look-up is on the path of every segment.
public final class SnapshotCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline
    struct Entry: Sendable {
        @usableFromInline let value: Value
        @usableFromInline let readAt: Instant

        @inlinable
        init(value: Value, readAt: Instant) {
            self.value = value
            self.readAt = readAt
        }
    }

    @usableFromInline
    struct State: Sendable {
        @usableFromInline var entries: LRUCache<Key, Entry>
        @usableFromInline var changes: UInt64 = 0

        init(limit: Int) {
            entries = LRUCache(limit: limit)
        }
    }

    /// The result of a look-up.
    public struct Found: Sendable {
        /// The value; nil if there is none.
        public let value: Value?
        /// Whether the value is younger than the time to live.
        public let isFresh: Bool
        /// The number of changes; ``SnapshotCache/insert(_:for:readAt:since:)`` compares it.
        @usableFromInline let changes: UInt64

        @inlinable
        init(value: Value?, isFresh: Bool, changes: UInt64) {
            self.value = value
            self.isFresh = isFresh
            self.changes = changes
        }
    }

    @usableFromInline let life: Duration
    @usableFromInline let state: Locked<State>

    /// - Parameters:
    ///   - limit: the maximum number of entries; the least recently used are evicted.
    ///   - life: the time for which an entry is fresh.
    package init(limit: Int, life: Duration) {
        self.life = life
        state = Locked(State(limit: limit))
    }

    /// The value of a key, fresh or stale. To be called before the database is read.
    @inlinable
    public func find(_ key: Key, at now: Instant) -> Found {
        state.withLock { state in
            guard let entry = state.entries[key] else { return Found(value: nil, isFresh: false, changes: state.changes) }
            let isFresh = now >= entry.readAt && now - entry.readAt < life
            return Found(value: entry.value, isFresh: isFresh, changes: state.changes)
        }
    }

    /// Stores a value, unless something changed since the key was looked up.
    @inlinable
    public func insert(_ value: Value, for key: Key, readAt now: Instant, since snapshot: Found) {
        state.withLock { state in
            if state.changes == snapshot.changes { state.entries.insert(Entry(value: value, readAt: now), for: key, cost: 1) }
        }
    }

    /// Evicts a key whose row changed, and refuses values read before now.
    @inlinable
    public func invalidate(_ key: Key) {
        state.withLock { state in
            state.changes += 1
            state.entries.remove(key)
        }
    }

    /// Evicts everything, and refuses values read before now.
    @inlinable
    public func invalidateAll() {
        state.withLock { state in
            state.changes += 1
            state.entries.removeAll()
        }
    }
}
