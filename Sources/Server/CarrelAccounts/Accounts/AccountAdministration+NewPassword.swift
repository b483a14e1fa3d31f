// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
package import CarrelStore

extension AccountAdministration {
    /// Sets an account's password. Ends every session, frees the sessions' device slots, and revokes every link, app password and
    /// issued credential of the account, so that a holder of the old password has no access left.
    ///
    /// - Parameters:
    ///   - hash: the new password's PHC string; nil leaves none.
    ///   - account: the account.
    ///   - session: the session that stays valid; nil ends all.
    ///   - actor: the actor for the audit log.
    ///   - now: the time.
    ///   - changes: the queue of changes for the other capabilities.
    ///   - transaction: the transaction of all changes.
    /// - Throws: the database's error.
    static func replacePassword(
        _ hash: String?,
        of account: String,
        keeping session: Session? = nil,
        by actor: AuditActor,
        at now: Instant,
        _ changes: AccountChanges,
        in transaction: any Transaction
    ) throws {
        try AccountStore.setPassword(hash, of: account, in: transaction)
        try Sessions.endOthers(than: session?.family ?? "", of: account, by: actor, at: now, in: transaction)
        try DeviceStore.freeAll(of: account, butFor: session?.deviceID, at: now, in: transaction)
        try AppPasswordStore.deleteAll(ofAccount: account, in: transaction)
        try changes.note(.passwordReplaced, of: account, by: actor, at: now, in: transaction)
    }

    /// Ends every way into an account that others may have prepared before it becomes staff's: its password, sessions, links, app
    /// passwords, and the identities that staff linked. The identity that the person created the account with stays.
    ///
    /// - Parameters:
    ///   - account: the account.
    ///   - identity: the identity that the person has just signed in with, which stays too.
    ///   - actor: the actor for the audit log.
    ///   - now: the time.
    ///   - changes: the queue of changes for the other capabilities.
    ///   - transaction: the transaction of the promotion.
    /// - Throws: the database's error.
    package static func clearWaysIn(
        to account: String,
        keeping identity: (issuer: String, subject: String)? = nil,
        by actor: AuditActor,
        at now: Instant,
        _ changes: AccountChanges,
        in transaction: any Transaction
    ) throws {
        try replacePassword(nil, of: account, by: actor, at: now, changes, in: transaction)
        try changes.note(.promoted(keeping: identity), of: account, by: actor, at: now, in: transaction)
    }
}
