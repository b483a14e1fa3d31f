package import CarrelBytes
package import CarrelStore

/// Removes what nothing asks for any more: sessions and links that have expired, counters of attempts to sign in, networks that
/// nobody signs in from, sign-ins at a provider that were used up, what systems upstream said long ago. No request waits for it: it runs on its own, a little at a time.
package struct Housekeeping: Sendable {
    let database: any Database
    let clock: any WallClock
    let erasure: Erasure?

    /// So often it is done.
    package static let interval = Duration.seconds(10)
    /// Rows that one transaction removes.
    private static let batch = 500
    /// Counters of each kind that are kept at most, however many clients guess.
    package static let counterLimit = 100_000

    private let counterLimit: Int

    /// - Parameters:
    ///   - database: where it is kept.
    ///   - clock: tells what is over.
    ///   - erasure: what was erased leaves the database's files with this.
    ///   - counterLimit: how many counters of each kind are kept.
    package init(
        database: any Database,
        clock: any WallClock,
        erasure: Erasure? = nil,
        counterLimit: Int = Self.counterLimit
    ) {
        self.database = database
        self.clock = clock
        self.erasure = erasure
        self.counterLimit = counterLimit
    }

    /// Removes all that is over.
    ///
    /// - Returns: how many rows that were.
    /// - Throws: when the database does not answer; what was removed by then is removed.
    @discardableResult
    package func run() async throws -> Int {
        let now = clock.now
        var count = try await inBatches { try SessionStore.deleteExpired(at: now, limit: $0, in: $1) }
        count += try await inBatches { try ThrottleStore.removeExpired(at: now, limit: $0, in: $1) }
        count += try await inBatches {
            try ThrottleStore.removeNetworks(before: now - SignInThrottle.successMemory, limit: $0, in: $1)
        }
        count += try await inBatches { try SignOnStore.removeUsed(at: now, limit: $0, in: $1) }
        count += try await inBatches { try StaffStore.removeOldLinks(at: now, limit: $0, in: $1) }
        count += try await inBatches { try UpstreamStore.removeOldTokens(at: now, limit: $0, in: $1) }
        count += try await inBatches { try UpstreamStore.removeOldAccounts(at: now, limit: $0, in: $1) }
        count += try await inBatches { try UpstreamStore.removeOldGrants(at: now, limit: $0, in: $1) }
        for (kind, number) in try await database.read({ try ThrottleStore.counts(in: $0) }) {
            var surplus = number - counterLimit
            while surplus > 0 {
                let part = min(surplus, Self.batch)
                count += try await database.write { try ThrottleStore.removeFirst(part, of: kind, in: $0) }
                surplus -= part
            }
        }
        await erasure?.finish()
        return count
    }

    /// Goes on until a transaction finds less than it might have removed.
    private func inBatches(_ remove: @escaping @Sendable (Int, any Transaction) throws -> Int) async throws -> Int {
        var count = 0
        while true {
            let removed = try await database.write { try remove(Self.batch, $0) }
            count += removed
            if removed < Self.batch { return count }
        }
    }
}
