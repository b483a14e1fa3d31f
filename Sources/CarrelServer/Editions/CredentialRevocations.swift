import CarrelBytes
import CarrelStore
import CarrelThreads

/// Until when whose credentials are void, in memory: a check does not ask the database, but once a second what is new there.
final class CredentialRevocations: Sendable {
    private struct State {
        /// By the tag that is in credentials.
        var until: [UInt64: Instant] = [:]
        var readAt: Instant?
        /// The newest revocation that was read.
        var newest = Instant(milliseconds: Int64.min / 2)
    }

    private let database: any Database
    private let clock: any WallClock
    private let credentials: EditionCredentials
    private let state = Locked(State())

    /// How long what was read is believed.
    private static let life = Duration.seconds(1)
    /// The clocks of processes on one database differ, and transactions take a while.
    private static let overlap = Duration.seconds(60)

    init(database: any Database, clock: any WallClock, credentials: EditionCredentials) {
        self.database = database
        self.clock = clock
        self.credentials = credentials
    }

    /// Whether genuine credentials are void.
    func isRevoked(_ verified: EditionCredentials.Verified) async throws -> Bool {
        try await refresh()
        // Credentials say the second in which they were made: in doubt they are void.
        return state.withLock { $0.until[verified.tag].map { verified.issuedAt <= $0 } ?? false }
    }

    private func refresh() async throws {
        let now = clock.now
        let from = state.withLock { state -> Instant? in
            if let readAt = state.readAt, now >= readAt, now - readAt < Self.life { return nil }
            return state.newest - Self.overlap
        }
        guard let from else { return }
        let revoked = try await database.readBriefly { try RevocationStore.revoked(since: from, in: $0) }
        let tagged = revoked.map { (credentials.tags(of: $0.account), $0.at) }
        state.withLock { state in
            for (tags, at) in tagged {
                for tag in tags { state.until[tag] = max(at, state.until[tag] ?? at) }
                state.newest = max(state.newest, at)
            }
            state.readAt = now
        }
    }
}
