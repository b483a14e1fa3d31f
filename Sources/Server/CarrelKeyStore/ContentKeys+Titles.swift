// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
import CarrelAuthority
package import CarrelBytes
import CarrelCrypto
package import CarrelHome
package import CarrelRights
package import CarrelStore

/// The keys of titles that are not audiobooks: a key for each of their contents, under ids that follow from the title's.
extension ContentKeys {
    /// Makes sure that the contents of a title have a key that can be used.
    ///
    /// - Parameters:
    ///   - title: the title's id.
    ///   - number: the number of its last key; 0 if it never had one.
    ///   - isForContents: whether that key is for the contents.
    ///   - actor: the actor for the audit log.
    ///   - now: the time.
    ///   - transaction: a transaction that writes.
    /// - Returns: the number of the contents' key: the last one, unless it is for other contents, was removed or was revoked. As
    ///   the first key, one that staff added is used; others are always new: a key that was created for contents before a restore is
    ///   not used for others.
    /// - Throws: the database's error.
    package func requireTitleKey(
        _ title: String,
        _ number: Int,
        isForContents: Bool,
        by actor: AuditActor,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> Int {
        if isForContents, try titleKey(title, number, in: transaction) != nil { return number }
        var next = number + 1
        while true {
            let id = TitleContent.keyID(ofTitle: title, number: next)
            if next == 1, try titleKey(title, 1, in: transaction) != nil,
                try ContentKeyStore.content(of: id, in: transaction) == nil
            {
                return 1
            }
            let isTaken = try RevokedRight.key.isRevoked(id.hex, in: transaction)
            if !isTaken {
                let key = try master.current.wrap(.random(count: KeyID.byteCount))
                // no packager has a content of this id, so that none gets the key back
                let content = TitleContent.id(ofTitle: title)
                if try ContentKeyStore.insert(id, key, owner: nil, content: content, at: now, in: transaction) {
                    let entry = actor.entry("content-key.create", on: id.hex, at: now, reason: content)
                    try AuditStore.append(entry, in: transaction)
                    return next
                }
            }
            next += 1
        }
    }

    /// A key of a title, wrapped; nil if it is not in the store, belongs to a portal, or was revoked.
    package func titleKey(_ title: String, _ number: Int, in transaction: any Transaction) throws -> MasterKeyring.Wrapped? {
        let id = TitleContent.keyID(ofTitle: title, number: number)
        guard try !RevokedRight.key.isRevoked(id.hex, in: transaction) else { return nil }
        return try ContentKeyStore.key(id, of: .title, in: transaction)
    }

    /// The keys of a title that can be used, the newest ``TitleContent/keyLimit``, in the order of their numbers.
    ///
    /// - Parameters:
    ///   - title: the title's id.
    ///   - number: the number of its last key; 0 if no key was made for it, so that it may have one of staff.
    ///   - transaction: the transaction.
    /// - Returns: each key with its id.
    /// - Throws: the database's error.
    package func titleKeys(
        _ title: String,
        upTo number: Int,
        in transaction: any Transaction
    ) throws -> [(id: KeyID, key: MasterKeyring.Wrapped)] {
        let last = max(1, number)
        var keys: [(id: KeyID, key: MasterKeyring.Wrapped)] = []
        for number in (max(1, last - Self.numberLimit + 1)...last).reversed() where keys.count < TitleContent.keyLimit {
            guard let key = try titleKey(title, number, in: transaction) else { continue }
            keys.append((TitleContent.keyID(ofTitle: title, number: number), key))
        }
        return keys.reversed()
    }

    /// Numbers that are looked at, at most: keys that staff removed, and ids that were taken, leave gaps.
    private static let numberLimit = 256
}
