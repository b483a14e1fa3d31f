import CarrelBytes
import CarrelCrypto
import CarrelStore
import CarrelThreads

/// Forgets a person (GDPR article 17): who they were, what they heard, what they wrote. What has to stay says no more than that
/// there was somebody; ``PersonalData`` lists what, and why.
package struct Erasure: Sendable {
    let database: any Database
    let clock: any WallClock
    let orders: Orders
    let upstream: UpstreamSubjects
    /// How many erasures the database's files may still hold. A crash may have left some, so the first is there from the start.
    private let progress = Locked((erased: 1, expunged: 0))

    init(database: any Database, clock: any WallClock, orders: Orders, upstream: UpstreamSubjects) {
        self.database = database
        self.clock = clock
        self.orders = orders
        self.upstream = upstream
    }

    /// Erases an account in one transaction, for good, and then from the database's log and free pages.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - name: its name, typed again, where somebody has to be sure; nil where they are.
    ///   - actor: who asks.
    /// - Throws: ``ServerError`` `notFound` when there is no such account, or it was erased before; `invalid` when the name is
    ///   another one; `conflict` while it is staff.
    package func erase(_ id: String, named name: String? = nil, by actor: Actor) async throws {
        let now = clock.now
        let (entry, pseudonym) = (actor.entry("account.erase", on: id, at: now), "erased-\(Random.uuid())")
        let ended = try await database.write { transaction -> [String] in
            guard let account = try AccountStore.account(id: id, in: transaction) else { throw AccountDesk.unknown }
            if let name, name != account.name { throw ServerError(.invalid, "this is not the account's name") }
            guard try StaffStore.role(of: id, in: transaction)?.isStaff != true else {
                throw ServerError(.conflict, "this account is staff: an owner has to end that first")
            }
            let ended = try PersonalDataStore.erase(id, pseudonym: pseudonym, at: now, in: transaction)
            for subject in try upstream.all(named: account.name, in: transaction) {
                try UpstreamStore.delete(subject, in: transaction)
            }
            try AuditStore.append(entry, in: transaction)
            return ended
        }
        for order in ended { orders.noteChange(of: order) }
        await expunge()
    }

    /// Removes what was erased from the database's files, where that is not done yet. Housekeeping calls it again and again, because a
    /// reader of an older snapshot keeps the log as it is.
    func finish() async {
        let (erased, expunged) = progress.withLock { $0 }
        if expunged < erased { await expunge(erased) }
    }

    private func expunge() async {
        await expunge(
            progress.withLock {
                $0.erased += 1; return $0.erased
            }
        )
    }

    private func expunge(_ erased: Int) async {
        guard (try? await database.expunge()) == true else { return }
        progress.withLock { $0.expunged = max($0.expunged, erased) }
    }

    /// Forgets what systems upstream said of somebody, who need have no account here.
    ///
    /// - Parameters:
    ///   - name: what they sign in with.
    ///   - actor: who asks.
    /// - Returns: how many systems had said something.
    /// - Throws: when the database does not answer.
    package func forgetUpstream(named name: String, by actor: Actor) async throws -> Int {
        let now = clock.now
        let count = try await database.write { [upstream] transaction in
            let known = try upstream.all(named: name, in: transaction).filter {
                try UpstreamStore.export(of: $0, in: transaction) != nil
            }
            for subject in known { try UpstreamStore.delete(subject, in: transaction) }
            let entry = actor.entry("upstream.forget", on: known.first ?? "", at: now, reason: String(known.count))
            try AuditStore.append(entry, in: transaction)
            return known.count
        }
        await expunge()
        return count
    }
}

extension PersonalDataStore {
    /// Deletes and ends what is the account's, and takes its name away.
    ///
    /// - Returns: the orders that ended.
    fileprivate static func erase(
        _ account: String,
        pseudonym: String,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> [String] {
        let ended = try OrderStore.live(ofAccount: account, at: now, in: transaction)
        for statement in [revokeOrders, endSubscriptions, endPurchases] {
            _ = try transaction.run(statement, [.text(account), .instant(now)])
        }
        let deletions = [
            deleteIntervals, deleteBookmarks, deleteIdentities, deleteStoreTransactions, deleteStorePurchases, deleteDevices,
        ]
        for statement in deletions { _ = try transaction.run(statement, [.text(account)]) }
        try SessionStore.deleteAll(ofAccount: account, in: transaction)
        try AppPasswordStore.deleteAll(ofAccount: account, in: transaction)
        try RevocationStore.revoke(.account(account), at: now, in: transaction)
        _ = try transaction.run(forgetAccount, [.text(account), .text(pseudonym), .instant(now)])
        return ended
    }
}
