// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelAudit
package import CarrelBytes
import CarrelEntitlements
package import CarrelHome
package import CarrelReceipts
package import CarrelStore
package import CarrelThreads
import CarrelWebAPI

/// Purchases in an app store: signed transactions are verified, assigned to the first account that presents them, and turned into
/// subscriptions and purchases. Every change is in the audit log.
package struct Receipts: Sendable {
    let database: any Database
    let clock: any WallClock
    package let settings: ReceiptSettings
    let lifecycle: AccountLifecycle
    /// Certificates and signatures are checked here.
    package let threads = BlockingThreadPool(name: "receipts", count: 1, limit: 16)

    package init(database: any Database, clock: any WallClock, settings: ReceiptSettings, lifecycle: AccountLifecycle) {
        self.database = database
        self.clock = clock
        self.settings = settings
        self.lifecycle = lifecycle
    }

    /// The tag of credentials of a purchase without an account.
    static func tag(of said: StoreTransaction) -> String { "app-store/\(said.environment.rawValue)/\(said.originalID)" }

    /// Maximum number of transactions per request.
    static let maxCount = 100

    /// The outcome of one signed transaction.
    package enum Outcome: Sendable, Equatable {
        /// The account has it now; the grant is nil if the store has taken it back.
        case taken(StoreTransaction, StoreProducts.Grant?)
        case refused(ReceiptError)
    }

    /// A checked transaction text.
    package typealias Checked = Result<StoreTransaction, ReceiptError>

    package static let off = ServerError(.notFound, "no app store is configured (receipts.roots, receipts.bundle-ids)")

    /// Checks signatures, certificates, app and environment of each.
    package func check(_ texts: [String]) async throws -> [Checked] {
        guard let verifier = settings.verifier else { throw Self.off }
        let now = clock.now
        return try await checking {
            texts.map { text in
                do throws(ReceiptError) {
                    return .success(try verifier.transaction(text, at: now))
                } catch {
                    return .failure(error)
                }
            }
        }
    }

    /// Checks an app's receipt (PKCS #7): the purchases in the app, or the reason why none counts.
    package func check(receipt bytes: [UInt8]) async throws -> [Checked] {
        guard let verifier = settings.verifier else { throw Self.off }
        let now = clock.now
        return try await checking {
            do throws(ReceiptError) {
                return try verifier.receipt(bytes, at: now).map { .success($0) }
            } catch {
                return [.failure(error)]
            }
        }
    }

    /// Runs a check, but not for a client that has gone.
    ///
    /// - Throws: 503 `receipts.busy` when too many wait.
    private func checking<Result: Sendable>(_ check: @escaping @Sendable () throws -> Result) async throws -> Result {
        do {
            return try await threads.runUnlessCancelled(check)
        } catch is QueueFull {
            throw RuleError(
                .unavailable,
                "receipts.busy",
                "too many receipts are being checked: try again",
                retryAfter: 5
            )
        }
    }

    /// Adds purchases to an account; each is added or refused separately.
    ///
    /// - Throws: ``ServerError`` `invalid` for too many of them, `notFound` if no store is configured.
    package func take(_ texts: [String], for account: Account, by actor: AuditActor) async throws -> [Outcome] {
        guard 1...Self.maxCount ~= texts.count else {
            throw ServerError(.invalid, "send 1 to \(Self.maxCount) signed transactions in one request")
        }
        let (checked, now) = (try await check(texts), clock.now)
        return try await lifecycle.write(in: database) { transaction, changes in
            try checked.map { checked in
                switch checked {
                case .failure(let error): return .refused(error)
                case .success(let said): return try take(said, for: account, by: actor, at: now, changes, in: transaction)
                }
            }
        }
    }

    private func take(
        _ said: StoreTransaction,
        for account: Account,
        by actor: AuditActor,
        at now: Instant,
        _ changes: AccountChanges,
        in transaction: any Transaction
    ) throws -> Outcome {
        let grant: StoreProducts.Grant?
        do throws(ReceiptError) {
            grant = try settings.products.grant(of: said)
        } catch {
            return .refused(error)
        }
        if let problem = try problem(with: grant, in: transaction) { return .refused(problem) }
        let (isOwn, isNew) = try ReceiptStore.claim(said, for: account.id, at: now, in: transaction)
        let reason = "\(said.environment.rawValue)/\(said.originalID)"
        guard isOwn else {
            let entry = actor.entry("receipt.add", on: account.id, at: now, outcome: .refused, reason: "taken \(reason)")
            try AuditStore.append(entry, in: transaction)
            return .refused(ReceiptError(.taken, "another account has this purchase"))
        }
        let news = try ReceiptStore.keep(said, in: transaction)
        if isNew {
            for known in try ReceiptStore.transactions(said.environment, original: said.originalID, in: transaction) {
                try apply(known, .first, to: account.id, by: actor, at: now, changes, in: transaction)
            }
        } else {
            try apply(said, news, to: account.id, by: actor, at: now, changes, in: transaction)
        }
        if isNew || news != .none {
            try AuditStore.append(actor.entry("receipt.add", on: account.id, at: now, reason: reason), in: transaction)
        }
        // What the store said later than this counts.
        let last = try ReceiptStore.known(said, in: transaction) ?? said
        return .taken(last, try? settings.products.grant(of: last))
    }

    /// The reason why a grant is impossible; nil if it is possible.
    func problem(with grant: StoreProducts.Grant?, in transaction: any Transaction) throws -> ReceiptError? {
        guard case .plan(let name) = grant?.thing, try SubscriptionStore.plan(named: name, in: transaction) == nil else {
            return nil
        }
        return ReceiptError(.unmapped, "there is no plan '\(name)'")
    }

    /// Grants an account the transaction's plan or product, or ends the grant.
    private func apply(
        _ said: StoreTransaction,
        _ news: ReceiptStore.News,
        to account: String,
        by actor: AuditActor,
        at now: Instant,
        _ changes: AccountChanges,
        in transaction: any Transaction
    ) throws {
        guard news != .none else { return }
        if let grant = try? settings.products.grant(of: said), try problem(with: grant, in: transaction) == nil {
            try ReceiptStore.put(grant, of: said, to: account, at: now, in: transaction)
        } else {
            try ReceiptStore.drop(said, in: transaction)
        }
        // Credentials issued under other dates must be requested again.
        if news == .changed { try changes.note(.holdingsReduced, of: account, by: actor, at: now, in: transaction) }
    }

    /// Processes a notification of the store: renewal, refund, upgrade.
    ///
    /// - Throws: `ReceiptError` for a notification that is not signed by the store, or not for this app.
    func notify(_ text: String, requestID: String) async throws {
        guard let verifier = settings.verifier else { throw Self.off }
        let now = clock.now
        let notification = try await checking { try verifier.notification(text, at: now) }
        guard let said = notification.transaction else { return }
        let actor = AuditActor("app-store", requestID: requestID)
        try await lifecycle.write(in: database) { transaction, changes in
            let news = try ReceiptStore.keep(said, in: transaction)
            guard news != .none else { return }
            let owner = try ReceiptStore.owner(of: said, in: transaction)
            if let owner { try apply(said, news, to: owner.id, by: actor, at: now, changes, in: transaction) }
            // Who has no account was given credentials without our having heard of the purchase.
            if said.revokedAt != nil || said.isUpgraded {
                try RevocationStore.revoke(.account(Self.tag(of: said)), at: now, in: transaction)
            }
            let subject = owner?.id ?? Self.tag(of: said)
            try AuditStore.append(actor.entry("receipt.change", on: subject, at: now, reason: notification.type), in: transaction)
        }
    }

    /// The stored transactions of an account, oldest first.
    package func list(of account: Account) async throws -> [Outcome] {
        let known = try await database.read { try ReceiptStore.transactions(of: account.id, in: $0) }
        return known.map { .taken($0, try? settings.products.grant(of: $0)) }
    }

    /// Removes a purchase from an account, so that another account can add it.
    package func release(
        _ environment: StoreEnvironment,
        _ originalID: String,
        of account: Account,
        by actor: AuditActor
    ) async throws {
        let now = clock.now
        let entry = actor.entry(
            "receipt.release",
            on: account.id,
            at: now,
            reason: "\(environment.rawValue)/\(originalID)"
        )
        try await lifecycle.write(in: database) { transaction, changes in
            guard try ReceiptStore.release(environment, originalID, of: account.id, in: transaction) else {
                throw ServerError(.notFound, "the account has no such purchase")
            }
            for said in try ReceiptStore.transactions(environment, original: originalID, in: transaction) {
                try ReceiptStore.drop(said, in: transaction)
            }
            try changes.note(.holdingsReduced, of: account.id, by: actor, at: now, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
    }
}
