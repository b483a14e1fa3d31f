// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
package import CarrelBytes
package import CarrelStore
import CarrelThreads

/// A cache of recently used sessions with the entitlements of their accounts, which saves a database query.
///
/// If the database reports row changes, changes of this process are evicted before they are acknowledged, and changes of other
/// processes within a second. Otherwise nothing is cached.
package final class EntitlementCache: Sendable {
    /// A counter of changes, so that data read before a change is not cached after it.
    package struct Mark: Sendable {
        fileprivate let changes: UInt64
    }

    private final class Entry: Sendable {
        let hash: SIMD4<UInt64>
        let holdings: EntitlementSnapshot
        let mark: Mark
        /// The slot with the account's last change.
        let place: Int
        let readAt: Instant

        init(_ hash: SIMD4<UInt64>, _ holdings: EntitlementSnapshot, _ mark: Mark, place: Int, readAt: Instant) {
            self.hash = hash
            self.holdings = holdings
            self.mark = mark
            self.place = place
            self.readAt = readAt
        }
    }

    private struct State {
        /// Tags of the tokens' hashes, in sets with the newest first. Empty until an entry is cached. Short, so
        /// that a set is two lines of the processor's cache; the entry itself identifies its token.
        var tags: [UInt16] = []
        var entries: [Entry?] = []
        /// The last change of the accounts of each place.
        var changed: [UInt64] = []
        var allChanged: UInt64 = 0
        var changes: UInt64 = 0
        /// When it was last certain that no other process had changed anything; nil if that is unknown.
        var lookedAt: Instant?
        var isLooking = false
    }

    /// Maximum time for which changes by other processes may be missed.
    static let life = Duration.seconds(1)
    /// Maximum lifetime of an entry, even without reported changes.
    static let longestLife = Duration.seconds(300)
    /// Maximum weight of a cached entry; larger entries take too much memory.
    static let heaviest = 64
    /// Size of a set, so large that sets rarely fill up before the table.
    private static let ways = 64
    private static let sets = 2_048
    /// Maximum number of cached sessions.
    static let limit = ways * sets
    private static let places = 65_536

    private let database: any Database
    private let clock: any WallClock
    private let state = Locked(State())

    package init(database: any Database, clock: any WallClock) {
        self.database = database
        self.clock = clock
    }

    /// Starts observing the database; before, nothing is cached.
    package func begin() async throws {
        let now = clock.now
        let isTold = try await database.watch(
            RowChangeObserver(triggers: Self.triggers) { [weak self] in self?.forget($0) }
        )
        if isTold { state.withLock { $0.lookedAt = now } }
    }

    /// The entry for a token hash, and the mark for storing a missing entry.
    package func find(_ hash: [UInt8], at now: Instant) -> (known: EntitlementSnapshot?, mark: Mark) {
        let (hash, tag, start) = Self.place(of: hash)
        let (known, mark, mustLook) = state.withLock { state -> (EntitlementSnapshot?, Mark, Bool) in
            let mark = Mark(changes: state.changes)
            guard let lookedAt = state.lookedAt else { return (nil, mark, false) }
            let age = now - lookedAt
            // Early enough that no request has to wait for it.
            let mustLook = !state.isLooking && (age < .zero || age >= Self.life / 2)
            if mustLook { state.isLooking = true }
            guard age >= .zero, age < Self.life, !state.tags.isEmpty else { return (nil, mark, mustLook) }
            for slot in start..<start + Self.ways where state.tags[slot] == tag {
                guard let entry = state.entries[slot], entry.hash == hash else { continue }
                // Where nothing at all has changed since, the place need not be looked at, which is seldom in the processor's cache.
                let isCurrent =
                    entry.mark.changes == state.changes
                    || entry.mark.changes >= max(state.changed[entry.place], state.allChanged)
                let isFresh = now >= entry.readAt && now - entry.readAt < Self.longestLife
                return (isCurrent && isFresh ? entry.holdings : nil, mark, mustLook)
            }
            return (nil, mark, mustLook)
        }
        if mustLook { Task { await look() } }
        return (known, mark)
    }

    /// Caches data that was read after `mark` was issued.
    package func remember(_ holdings: EntitlementSnapshot, of hash: [UInt8], since mark: Mark, at now: Instant) {
        guard holdings.weight <= Self.heaviest else { return }
        let (hash, tag, start) = Self.place(of: hash)
        let entry = Entry(hash, holdings, mark, place: Self.place(of: holdings.session.account.id), readAt: now)
        state.withLock { state in
            guard state.lookedAt != nil else { return }
            if state.tags.isEmpty {
                state.tags = [UInt16](repeating: 0, count: Self.limit)
                state.entries = [Entry?](repeating: nil, count: Self.limit)
                state.changed = [UInt64](repeating: 0, count: Self.places)
            }
            let set = start..<start + Self.ways
            // Entries newer than the replaced one, or all but the oldest of the set, move up.
            let place = set.first { state.tags[$0] == tag } ?? set.upperBound - 1
            for slot in (start..<place).reversed() {
                state.tags[slot + 1] = state.tags[slot]
                state.entries[slot + 1] = state.entries[slot]
            }
            state.tags[start] = tag
            state.entries[start] = entry
        }
    }

    /// Evicts the entry of a token hash.
    package func forget(_ hash: [UInt8]) {
        let (_, tag, start) = Self.place(of: hash)
        state.withLock { state in
            guard !state.tags.isEmpty else { return }
            for slot in start..<start + Self.ways where state.tags[slot] == tag { state.entries[slot] = nil }
        }
    }

    private func forget(_ changes: RowChangeObserver.Changes) {
        state.withLock { state in
            state.changes += 1
            switch changes {
            case .any: state.allChanged = state.changes
            case .of(let accounts):
                guard !state.changed.isEmpty else { return state.allChanged = state.changes }
                for account in accounts { state.changed[Self.place(of: account)] = state.changes }
            }
        }
    }

    /// Checks for changes by other processes.
    package func look() async {
        let now = clock.now
        let isDone = (try? await database.detectExternalChanges()) != nil
        state.withLock {
            $0.isLooking = false
            if isDone { $0.lookedAt = now }
        }
    }

    /// A token's hash as numbers, its tag, and the first slot of its set.
    private static func place(of hash: [UInt8]) -> (hash: SIMD4<UInt64>, tag: UInt16, start: Int) {
        precondition(hash.count == 32, "a token's hash is a SHA-256")
        let bytes = hash.rawSpan
        let numbers = SIMD4(bytes.u64(at: 0), bytes.u64(at: 8), bytes.u64(at: 16), bytes.u64(at: 24))
        return (numbers, UInt16(truncatingIfNeeded: numbers[1]), Int(numbers[0] % UInt64(sets)) * ways)
    }

    private static func place(of account: String) -> Int {
        Int(UInt(bitPattern: account.hashValue) % UInt(places))
    }
}

extension EntitlementCache {
    /// Note the account whose session ends or changes, and whose plans and purchases change.
    private static let triggers: [StaticString] = [
        """
        CREATE TEMP TRIGGER IF NOT EXISTS session_changed AFTER UPDATE ON main.sessions
        BEGIN SELECT note_change(OLD.account_id); SELECT note_change(NEW.account_id); END
        """,
        """
        CREATE TEMP TRIGGER IF NOT EXISTS session_deleted AFTER DELETE ON main.sessions
        BEGIN SELECT note_change(OLD.account_id); END
        """,
        """
        CREATE TEMP TRIGGER IF NOT EXISTS account_changed AFTER UPDATE ON main.accounts
        BEGIN SELECT note_change(OLD.id); SELECT note_change(NEW.id); END
        """,
        """
        CREATE TEMP TRIGGER IF NOT EXISTS account_deleted AFTER DELETE ON main.accounts
        BEGIN SELECT note_change(OLD.id); END
        """,
        """
        CREATE TEMP TRIGGER IF NOT EXISTS subscription_made AFTER INSERT ON main.subscriptions
        BEGIN SELECT note_change(NEW.account_id); END
        """,
        """
        CREATE TEMP TRIGGER IF NOT EXISTS subscription_changed AFTER UPDATE ON main.subscriptions
        BEGIN SELECT note_change(OLD.account_id); SELECT note_change(NEW.account_id); END
        """,
        """
        CREATE TEMP TRIGGER IF NOT EXISTS subscription_deleted AFTER DELETE ON main.subscriptions
        BEGIN SELECT note_change(OLD.account_id); END
        """,
        """
        CREATE TEMP TRIGGER IF NOT EXISTS purchase_made AFTER INSERT ON main.purchases
        BEGIN SELECT note_change(NEW.account_id); END
        """,
        """
        CREATE TEMP TRIGGER IF NOT EXISTS purchase_changed AFTER UPDATE ON main.purchases
        BEGIN SELECT note_change(OLD.account_id); SELECT note_change(NEW.account_id); END
        """,
        """
        CREATE TEMP TRIGGER IF NOT EXISTS purchase_deleted AFTER DELETE ON main.purchases
        BEGIN SELECT note_change(OLD.account_id); END
        """,
        "CREATE TEMP TRIGGER IF NOT EXISTS plan_changed AFTER UPDATE ON main.plans BEGIN SELECT note_change(NULL); END",
        "CREATE TEMP TRIGGER IF NOT EXISTS plan_product_made AFTER INSERT ON main.plan_products BEGIN SELECT note_change(NULL); END",
        "CREATE TEMP TRIGGER IF NOT EXISTS plan_product_gone AFTER DELETE ON main.plan_products BEGIN SELECT note_change(NULL); END",
    ]
}
