// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
package import CarrelBytes
package import CarrelStore

/// Links of players to accounts that a portal decides on, in the transaction of its token.
extension Personalizations {
    /// Links a player to an account, whose device limit applies. The link ends with the certificate.
    ///
    /// - Parameters:
    ///   - player: active.
    ///   - account: the account's id.
    ///   - now: the time.
    ///   - transaction: the transaction.
    /// - Returns: the player with its link.
    /// - Throws: `personalization.linked`, `personalization.account`, `personalization.device-limit`.
    package func link(_ player: Player, to account: String, at now: Instant, in transaction: any Transaction) throws -> Player {
        var linked = player
        try link(&linked, to: Reader(account: account, device: nil), at: now, in: transaction)
        try PlayerStore.link(linked, in: transaction)
        return linked
    }

    /// Removes the link of a player, and frees its slot unless a session uses it.
    ///
    /// - Parameters:
    ///   - player: linked or not.
    ///   - now: the time.
    ///   - transaction: the transaction.
    /// - Returns: the player without a link.
    /// - Throws: the database's error.
    package func unlink(_ player: Player, at now: Instant, in transaction: any Transaction) throws -> Player {
        if let device = player.device { try Devices.release(device, at: now, in: transaction) }
        var free = player
        (free.account, free.device, free.linkExpiresAt, free.family) = (nil, nil, nil, nil)
        try PlayerStore.link(free, in: transaction)
        return free
    }
}
