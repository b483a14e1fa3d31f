import CarrelBytes
import CarrelStore

extension AccountDesk {
    /// Gives an account another password, with all that follows from it, whoever chose it: every session and every link ends
    /// and leaves its device's slot, every app password, and what the account's credentials open. Whoever got in by the old password is out.
    ///
    /// - Parameters:
    ///   - hash: the new password's PHC string.
    ///   - account: whose it is.
    ///   - session: the one that its owner goes on with; nil ends all.
    ///   - actor: who does it.
    ///   - now: the time.
    ///   - transaction: where all of it happens.
    /// - Throws: what the database says.
    static func replacePassword(
        _ hash: String,
        of account: String,
        keeping session: Session? = nil,
        by actor: Actor,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        try AccountStore.setPassword(hash, of: account, in: transaction)
        try Sessions.endOthers(than: session?.family ?? "", of: account, by: actor, at: now, in: transaction)
        try DeviceStore.freeAll(of: account, butFor: session?.deviceID, at: now, in: transaction)
        try AppPasswordStore.deleteAll(ofAccount: account, in: transaction)
        try RevocationStore.revoke(.account(account), at: now, in: transaction)
    }
}
