// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
import CarrelAuthority
import CarrelBytes
package import CarrelCrypto
import CarrelHome
package import CarrelRights
import CarrelStore

/// The keys that ClearKey may serve. It delivers them in the clear, so only keys that staff name are served, and never the key of a title.
extension ContentKeys {
    /// Sets whether ClearKey may serve a key.
    ///
    /// - Parameters:
    ///   - isAllowed: whether requests that are authorized for the key get it.
    ///   - id: the key's id.
    ///   - actor: the actor for the audit log.
    /// - Throws: ``ServerError`` `request.not-found` without such a key; `request.forbidden` for the key of a title.
    package func setClearKey(_ isAllowed: Bool, for id: KeyID, by actor: AuditActor) async throws {
        let now = clock.now
        let titles = try await titleKeys()
        let entry = actor.entry("content-key.clear-key", on: id.hex, at: now, reason: isAllowed ? "allowed" : "denied")
        try await database.write { transaction in
            guard try ContentKeyStore.key(id, of: .all, in: transaction) != nil else { throw Self.unknown }
            let content = try ContentKeyStore.content(of: id, in: transaction)
            let isOfTitle = titles.contains(id) || content.map(TitleContent.isID) == true
            guard !isAllowed || !isOfTitle else {
                throw ServerError(.forbidden, "ClearKey never serves the key of a title: it would deliver the title in the clear")
            }
            guard try ContentKeyStore.setClearKey(isAllowed, for: id, in: transaction) else { return }
            try AuditStore.append(entry, in: transaction)
        }
    }

    /// The keys that ClearKey may serve.
    ///
    /// - Parameters:
    ///   - ids: the ids of the requested keys.
    ///   - reach: the keys that the grant may name.
    /// - Returns: the keys by id, without keys that the store lacks, that do not allow ClearKey, that belong to a title, or whose id is
    ///   revoked.
    /// - Throws: the database's error.
    package func keysForClearKey(_ ids: [KeyID], of reach: ContentKeyStore.Reach) async throws -> [KeyID: Secret] {
        let titles = try await titleKeys()
        let master = master
        return try await database.readBriefly { transaction in
            var keys: [KeyID: Secret] = [:]
            for id in ids where !titles.contains(id) {
                guard try !RevokedRight.key.isRevoked(id.hex, in: transaction),
                    let key = try ContentKeyStore.keyForClearKey(id, of: reach, in: transaction)
                else { continue }
                keys[id] = try master.unwrap(key)
            }
            return keys
        }
    }
}
