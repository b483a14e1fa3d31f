// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelHome
import CarrelStore

/// Titles that readers wish for. An example of a capability, which docs/architecture.md goes through in ten steps.
struct Wishes: Sendable {
    let database: any Database
    let clock: any WallClock

    /// Wishes that one account may have.
    static let limit = 100

    func list(of account: String) async throws -> [WishStore.Wish] {
        try await database.read { try WishStore.list(of: account, in: $0) }
    }

    /// Adds a wish; a repeated one changes nothing.
    ///
    /// - Throws: `request.not-found` if there is no such title, `request.invalid` beyond ``limit``.
    func add(_ title: String, to account: String, by actor: AuditActor) async throws {
        let wish = WishStore.Wish(title: title, at: clock.now)
        let entry = actor.entry("wish.add", on: title, at: wish.at)
        try await database.write { transaction in
            guard try TitleStore.title(id: title, in: transaction) != nil else {
                throw ServerError(.notFound, "there is no such title")
            }
            let known = try WishStore.list(of: account, in: transaction)
            guard !known.contains(where: { $0.title == title }) else { return }
            guard known.count < Self.limit else { throw ServerError(.invalid, "an account has at most \(Self.limit) wishes") }
            try WishStore.insert(wish, of: account, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
    }
}

extension Wishes: AccountParticipant {
    func take(
        _ change: AccountChange,
        of account: String,
        by actor: AuditActor,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> [@Sendable () -> Void] {
        if case .erased = change { try WishStore.deleteAll(of: account, in: transaction) }
        return []
    }
}
