// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
import CarrelAuthority
import CarrelBytes
package import CarrelCrypto
import CarrelHome
package import CarrelRights
import CarrelStore

extension ContentKeys {
    /// The keys of a content for a packager. A key that does not exist is created, and stored before this returns; an existing one stays,
    /// also if another node creates it at the same time.
    ///
    /// - Parameters:
    ///   - ids: the ids of the keys.
    ///   - content: the content's id.
    ///   - actor: the packager, for the audit log.
    /// - Returns: the key of each id.
    /// - Throws: ``ServerError`` `request.conflict` for a key that was not created or imported for this content, and for an id that was
    ///   revoked; `request.forbidden` for the key or the content of a title.
    package func keys(_ ids: [KeyID], ofContent content: String, for actor: AuditActor) async throws -> [KeyID: Secret] {
        try Self.requireNotReserved(content)
        try await requireNoTitle(ids)
        let (now, master) = (clock.now, master)
        return try await database.write { transaction in
            var keys: [KeyID: Secret] = [:]
            for id in ids {
                guard try !RevokedRight.key.isRevoked(id.hex, in: transaction) else { throw Self.revoked(id) }
                if try ContentKeyStore.keyAndContent(id, in: transaction) == nil {
                    let wrapped = try master.current.wrap(Secret.random(count: KeyID.byteCount))
                    if try ContentKeyStore.insert(id, wrapped, owner: nil, content: content, at: now, in: transaction) {
                        try AuditStore.append(
                            actor.entry("content-key.create", on: id.hex, at: now, reason: content),
                            in: transaction
                        )
                    }
                }
                guard let stored = try ContentKeyStore.keyAndContent(id, in: transaction), stored.content == content else {
                    throw ServerError(.conflict, "the key \(id.uuid) belongs to another content", conflictingID: id.hex)
                }
                keys[id] = try master.unwrap(stored.key)
            }
            let count = ids.count == 1 ? "1 key" : "\(ids.count) keys"
            try AuditStore.append(actor.entry("content-key.send", on: content, at: now, reason: count), in: transaction)
            return keys
        }
    }

    /// Refuses the content ids of titles, whose keys never come out.
    static func requireNotReserved(_ content: String) throws(ServerError) {
        guard !TitleContent.isReserved(content) else {
            throw ServerError(.forbidden, "content ids with urn:carrel: are of the catalog: choose another")
        }
    }

    /// Refuses the keys of titles, which never come out, and which no packager chooses.
    func requireNoTitle(_ ids: [KeyID]) async throws {
        let titles = try await titleKeys()
        guard let id = ids.first(where: { titles.contains($0) }) else { return }
        throw ServerError(.forbidden, "the key \(id.uuid) is of a title of the catalog: choose another id")
    }
}
