// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
import CarrelCatalog
import CarrelCrypto
package import CarrelHome
package import CarrelStore
import CarrelThreads

/// The secrets that sign tickets: stored in the database under the master key, cached here, replaced by a rotation.
///
/// Every node of a database reads them again once a minute. A new secret starts signing two minutes after its creation, with the
/// first window of tickets that opens then: by then every node knows it, and no playlist changes before its window ends. Earlier
/// secrets remain valid for verification until the last ticket that they may have signed has expired.
package final class TicketKeyring: Sendable {
    /// The time for which secrets are valid after a successful read of the database.
    static let life = Duration.seconds(60)
    /// Additional time for which requests use them while another request reloads them.
    static let grace = Duration.seconds(5)
    /// From the making of a secret to the first window that it signs.
    static let notice = Duration.seconds(120)

    private struct State {
        var tickets: Tickets
        /// When the last successful read began.
        var readAt: Instant
        /// Whether a request is reading them again.
        var isReading = false
        /// The number of local changes, so that a state read before a change does not replace a state read after it.
        var changes: UInt64 = 0
    }

    private let database: any Database
    private let master: MasterKeyring.Shared
    private let clock: any WallClock
    private let state: Locked<State>

    /// Reads the secrets of a database; the first is made at first use.
    package init(database: any Database, master: MasterKeyring.Shared, clock: any WallClock) async throws {
        self.database = database
        self.master = master
        self.clock = clock
        let now = clock.now
        try await SigningSecret.makeFirst(.ticket, master, in: database, at: now)
        let secrets = try await Self.read(database, master)
        state = Locked(State(tickets: Tickets(secrets: secrets), readAt: now))
    }

    /// The current keys that sign and verify tickets.
    package func tickets(at now: Instant) async throws -> Tickets {
        let known = state.withLock { state -> Tickets? in
            let age = now - state.readAt
            if age >= .zero, age < Self.life + (state.isReading ? Self.grace : .zero) { return state.tickets }
            state.isReading = true
            return nil
        }
        if let known { return known }
        // A failed read does not extend the validity of the secrets, so that a replaced secret is not used longer.
        defer { state.withLock { $0.isReading = false } }
        return try await reload(at: now)
    }

    /// Adds a secret that signs from now on.
    ///
    /// - Parameters:
    ///   - atOnce: whether to delete every other secret, which revokes all issued tickets: in this process immediately, in others
    ///     on the same database within a minute.
    ///   - actor: the actor for the audit log.
    /// - Returns: the new secret's id and time.
    /// - Throws: ``ServerError`` `conflict` if every id is taken by a secret that may still be needed.
    package func rotate(atOnce: Bool, by actor: AuditActor) async throws -> SigningSecret.Rotation {
        let now = clock.now
        let from = atOnce ? now : now + Self.notice
        let wrapped = try master.current.wrap(SigningSecret.makeStored(signsFrom: from))
        let master = master
        let entry = actor.entry("ticket-key.rotate", on: "", at: now, reason: atOnce ? "at-once" : "")
        let made = try await database.write { transaction -> SigningSecret.Rotation in
            try AuditStore.append(entry, in: transaction)
            let known = try SigningSecret.all(.ticket, master, in: transaction)
            return try SigningSecret.replace(
                with: wrapped,
                signsFrom: from,
                .ticket,
                known: known,
                dead: atOnce ? known : [],
                full: "255 ticket secrets are in use: restart the server to delete expired ones",
                in: transaction
            )
        }
        _ = try await reload(at: now, afterChange: true)
        return made
    }

    /// Deletes the secrets whose last ticket has expired. Called by a server, which knows the lifetime of its tickets.
    ///
    /// - Parameter life: the configured lifetime of tickets in milliseconds; tickets of long titles live longer.
    /// - Returns: the number of deleted secrets.
    /// - Throws: the database's error, or ``ServerError`` `masterKey`.
    @discardableResult
    package func forgetDead(life: Int64) async throws -> Int {
        let now = clock.now
        let master = master
        let find: @Sendable (any Transaction) throws -> [UInt8] = { try Self.dead(at: now, life: life, master, in: $0) }
        // A start with nothing to forget writes nothing: a server serves from a full disk too.
        guard try await !database.read(find).isEmpty else { return 0 }
        let count = try await database.write { transaction -> Int in
            let dead = try find(transaction)
            for id in dead { try SecretStore.delete(SecretStore.name(.ticket, id), in: transaction) }
            return dead.count
        }
        _ = try await reload(at: now, afterChange: true)
        return count
    }

    private static func dead(
        at now: Instant,
        life: Int64,
        _ master: MasterKeyring.Shared,
        in transaction: any Transaction
    ) throws -> [UInt8] {
        let longest = max(life, try TitleStore.longest(in: transaction) * 2 + 60_000)
        let secrets = try SigningSecret.all(.ticket, master, in: transaction)
        // A secret's last window opened before its successor's time, and other nodes hear of that a minute late.
        let held = Tickets.Window.length(life: longest) + longest + 120_000
        return SigningSecret.dead(secrets, after: .milliseconds(held), at: now).map(\.id)
    }

    private func reload(at now: Instant, afterChange: Bool = false) async throws -> Tickets {
        let changes = state.withLock { state in
            if afterChange { state.changes += 1 }
            return state.changes
        }
        let tickets = Tickets(secrets: try await Self.read(database, master))
        return state.withLock { state in
            if state.changes == changes { (state.tickets, state.readAt) = (tickets, now) }
            return state.tickets
        }
    }

    private static func read(_ database: any Database, _ master: MasterKeyring.Shared) async throws -> [SigningSecret] {
        try await database.read { try SigningSecret.all(.ticket, master, in: $0) }
    }
}
