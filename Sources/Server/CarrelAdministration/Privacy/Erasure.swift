// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
package import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHome
import CarrelStore

/// Erases a person (GDPR article 17): their identity, their listening, their texts. Rows that must stay refer to an anonymous
/// account; ``PersonalData`` lists them, with the reason.
package struct Erasure: Sendable {
    let database: any Database
    let clock: any WallClock
    let lifecycle: AccountLifecycle
    let expunging: Expunging

    /// Erases an account in one transaction, for good, and then from the database's log and free pages.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - name: the account's name as confirmation; nil to skip it.
    ///   - actor: the actor for the audit log.
    /// - Throws: ``ServerError`` `notFound` for an account that does not exist or was erased before; `invalid` for another name;
    ///   `conflict` for an account with a staff role.
    package func erase(_ id: String, named name: String? = nil, by actor: AuditActor) async throws {
        let now = clock.now
        let lifecycle = lifecycle
        try await lifecycle.write(in: database) { transaction, changes in
            guard let account = try Accounts.find(id: id, in: transaction) else { throw Account.unknown }
            if let name, name != account.name { throw ServerError(.invalid, "this is not the account's name") }
            guard try StaffStore.role(of: id, in: transaction)?.isStaff != true else {
                throw ServerError(.conflict, "this account has a staff role: an owner must remove the role first")
            }
            let others = try lifecycle.accounts(besides: id, in: transaction).compactMap {
                try Accounts.find(id: $0, in: transaction)
            }
            for account in [account] + others {
                try changes.note(.erased(name: account.name), of: account.id, by: actor, at: now, in: transaction)
                try AccountStore.erase(account.id, pseudonym: "erased-\(Random.uuid())", at: now, in: transaction)
                try AuditStore.append(actor.entry("account.erase", on: account.id, at: now), in: transaction)
            }
        }
        await expunging.run()
    }
}
