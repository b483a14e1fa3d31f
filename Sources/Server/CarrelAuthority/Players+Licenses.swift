// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelHome
package import CarrelStore

/// Players as those who issue licenses know them.
extension Players {
    /// A player by its id.
    package static func find(_ id: String, in transaction: any Transaction) throws -> Player? {
        try PlayerStore.player(id: id, in: transaction)
    }

    /// A player by its id.
    ///
    /// - Throws: ``ServerError`` `request.not-found` without such a player.
    @discardableResult
    package static func require(_ id: String, in transaction: any Transaction) throws -> Player {
        guard let player = try find(id, in: transaction) else { throw ServerError(.notFound, "there is no such player") }
        return player
    }

    /// A player by the thumbprint of its signing key.
    package static func find(signingKey: String, in transaction: any Transaction) throws -> Player? {
        try PlayerStore.player(signingKey: signingKey, in: transaction)
    }

    /// A player by the thumbprint of a certificate that has not ended, with the certificate in DER.
    package static func find(
        certificate thumbprint: [UInt8],
        at now: Instant,
        in transaction: any Transaction
    ) throws -> (player: Player, certificate: [UInt8])? {
        try PlayerStore.player(thumbprint: thumbprint, at: now, in: transaction)
    }

    /// The players of an account.
    package static func list(of account: String, in transaction: any Transaction) throws -> [Player] {
        try PlayerStore.players(of: account, in: transaction)
    }

    /// Records the first license of a player, which is a guest no longer.
    package static func recordLicense(of player: Player, at now: Instant, in transaction: any Transaction) throws {
        guard player.licensedAt == nil else { return }
        try PlayerStore.recordLicense(of: player.id, at: now, in: transaction)
    }

    /// Records that a player gets a license that its store keeps, and which list its app reads.
    ///
    /// - Parameters:
    ///   - end: the license's end; nil for one without.
    ///   - listVersion: the version of the list of revocations that the app reads.
    ///   - player: the player.
    ///   - transaction: the transaction.
    /// - Throws: the database's error.
    package static func noteLicense(
        until end: Instant?,
        listVersion: Int,
        of player: Player,
        in transaction: any Transaction
    ) throws {
        let last = max(end ?? Player.never, player.licensedUntil ?? end ?? Player.never)
        guard last != player.licensedUntil || listVersion != player.listVersion else { return }
        try PlayerStore.noteLicense(until: last, listVersion: listVersion, of: player.id, in: transaction)
    }

    /// The number of the list of what is revoked; 0 before the first.
    package static func revocationNumber(in transaction: any Transaction) throws -> Int64 {
        try PlayerStore.revocationNumber(in: transaction)
    }
}
