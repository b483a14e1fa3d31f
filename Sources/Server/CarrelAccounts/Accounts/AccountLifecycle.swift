// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
package import CarrelStore
import CarrelThreads

/// A change of an account that other capabilities act on.
package enum AccountChange: Sendable {
    case suspended
    case resumed
    /// Its password was replaced or removed.
    case passwordReplaced
    /// A token of a session was used again long after its renewal; with the devices of that session.
    case sessionStolen(family: String, devices: Set<String>)
    case devicesRevoked
    /// An entitlement ended before its time.
    case holdingsReduced
    /// The account receives a staff role. The identity that has just signed in stays.
    case promoted(keeping: (issuer: String, subject: String)?)
    /// The person is erased; the account still has its name.
    case erased(name: String)

    /// Whether credentials that were issued before end with it.
    var revokesCredentials: Bool {
        switch self {
        case .resumed, .promoted: false
        case .suspended, .passwordReplaced, .sessionStolen, .devicesRevoked, .holdingsReduced, .erased: true
        }
    }
}

/// A capability that acts on changes of accounts.
package protocol AccountParticipant: Sendable {
    /// Reacts to a change in its transaction, on the participant's own tables.
    ///
    /// - Parameters:
    ///   - change: the change.
    ///   - account: the account's id.
    ///   - actor: the audit log's actor.
    ///   - now: the time of the change.
    ///   - transaction: the transaction of the change.
    /// - Returns: work to do after the commit, before the response; it must not fail.
    /// - Throws: an error that rolls the change back.
    func take(
        _ change: AccountChange,
        of account: String,
        by actor: AuditActor,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> [@Sendable () -> Void]

    /// Further accounts of the same person, such as the accounts of devices before they were linked.
    ///
    /// - Parameters:
    ///   - account: the account's id.
    ///   - transaction: the transaction.
    /// - Returns: the accounts' ids.
    /// - Throws: the database's error.
    func accounts(besides account: String, in transaction: any Transaction) throws -> [String]
}

extension AccountParticipant {
    package func accounts(besides account: String, in transaction: any Transaction) throws -> [String] { [] }
}

/// Notifies the participants of every change of an account, in its transaction.
package final class AccountLifecycle: Sendable {
    private let participants = Locked<[any AccountParticipant]>([])

    package init() {}

    /// Adds a participant, which must not hold the lifecycle itself. Participants act in the order in which they joined.
    package func join(_ participant: any AccountParticipant) {
        participants.withLock { $0.append(participant) }
    }

    /// Further accounts of the same person, which are exported and erased with the account.
    ///
    /// - Parameters:
    ///   - account: the account's id.
    ///   - transaction: the transaction.
    /// - Returns: the accounts' ids.
    /// - Throws: the database's error.
    package func accounts(besides account: String, in transaction: any Transaction) throws -> [String] {
        try participants.withLock(\.self).flatMap { try $0.accounts(besides: account, in: transaction) }
    }

    /// Runs a transaction that changes accounts, and after its commit the participants' work.
    ///
    /// - Parameters:
    ///   - database: the database.
    ///   - body: the transaction; it reports every change of an account. It may run more than once.
    /// - Returns: what `body` returns.
    /// - Throws: errors of `body` and the database; nothing has changed then.
    @discardableResult
    package func write<Result: Sendable>(
        in database: any Database,
        _ body: @escaping @Sendable (any Transaction, AccountChanges) throws -> Result
    ) async throws -> Result {
        let participants = participants.withLock(\.self)
        let (result, work) = try await database.write { transaction in
            let changes = AccountChanges(participants)
            return (try body(transaction, changes), changes.work)
        }
        for step in work { step() }
        return result
    }
}

/// The changes of accounts in one transaction.
package final class AccountChanges {
    private let participants: [any AccountParticipant]
    fileprivate var work: [@Sendable () -> Void] = []

    fileprivate init(_ participants: [any AccountParticipant]) { self.participants = participants }

    /// Revokes the account's credentials if the change requires it, and calls all participants.
    package func note(
        _ change: AccountChange,
        of account: String,
        by actor: AuditActor,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        if change.revokesCredentials { try RevocationStore.revoke(.account(account), at: now, in: transaction) }
        for participant in participants {
            work += try participant.take(change, of: account, by: actor, at: now, in: transaction)
        }
    }
}
