// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
import CarrelJSON
import CarrelStore

// Keys of saved items: sealed rows of the same file. An item is named by an id without meaning, so that its rows can be removed
// while the vault is locked.
extension LicenseStore {
    private static func secretPlace(_ name: String) -> String { "saved secret \(name)" }

    private static func secretName(ofItem item: String) -> String { "item \(item)" }

    private static func revocationName(ofItem item: String) -> String { "revoked \(item)" }

    /// The package key of an item.
    ///
    /// - Parameter item: the item's id.
    /// - Returns: 32 bytes; nil if it has none.
    /// - Throws: `player.store`, `player.store-damaged`.
    package func packageKey(ofItem item: String) async throws(PlayerError) -> Secret? {
        try await secret(Self.secretName(ofItem: item))
    }

    /// The package key of an item, created at the first call.
    ///
    /// - Parameter item: the item's id.
    /// - Returns: 32 bytes, on the disk.
    /// - Throws: `player.store`, `player.store-damaged`.
    package func makePackageKey(ofItem item: String) async throws(PlayerError) -> Secret {
        try await makeSecret(Self.secretName(ofItem: item))
    }

    /// The key that seals the journal of downloads, created at the first call.
    ///
    /// - Returns: 32 bytes, on the disk.
    /// - Throws: `player.store`, `player.store-damaged`.
    package func journalKey() async throws(PlayerError) -> Secret { try await makeSecret("journal") }

    private func secret(_ name: String) async throws(PlayerError) -> Secret? {
        let seal = seal
        return try await read { transaction in
            try transaction.row(Statement.secret, [.text(name)])
                .map { try seal.openSecret(try $0.blob(0), at: Self.secretPlace(name)) }
        }
    }

    private func makeSecret(_ name: String) async throws(PlayerError) -> Secret {
        if let known = try await secret(name) { return known }
        let seal = seal
        let fresh = try seal.seal(.random(count: AESGCM.keyByteCount), at: Self.secretPlace(name))
        return try await write { transaction in
            try transaction.run(Statement.addSecret, [.text(name), .blob(fresh)])
            // another process may have made one first
            let stored = try transaction.row(Statement.secret, [.text(name)])?.blob(0) ?? fresh
            return try seal.openSecret(stored, at: Self.secretPlace(name))
        }
    }

    /// The keys of an item.
    ///
    /// - Parameter item: the item's id.
    /// - Returns: its rows, at most ``SavedKeyRow/limit``.
    /// - Throws: `player.store`, `player.store-damaged`.
    package func savedKeys(ofItem item: String) async throws(PlayerError) -> [SavedKeyRow] {
        let seal = seal
        return try await read { transaction in
            try transaction.rows(Statement.savedKeys, [.text(item), .integer(Int64(SavedKeyRow.limit))])
                .map { try SavedKeyRow($0, ofItem: item, seal) }
        }
    }

    /// Stores keys of an item in one transaction; rows of the same names are replaced.
    ///
    /// - Parameters:
    ///   - rows: the keys.
    ///   - item: the item's id.
    /// - Throws: `player.store`, also if the item would have too many keys.
    package func put(_ rows: [SavedKeyRow], ofItem item: String) async throws(PlayerError) {
        let seal = seal
        try await write { transaction in
            for row in rows { try transaction.run(Statement.putSavedKey, try row.values(ofItem: item, seal)) }
            try transaction.run(Statement.removeSecret, [.text(Self.revocationName(ofItem: item))])
            guard try transaction.row(Statement.savedKeyCount, [.text(item)])?.integer(0) ?? 0 <= Int64(SavedKeyRow.limit) else {
                throw PlayerError(.store, "an item has at most \(SavedKeyRow.limit) keys")
            }
        }
    }

    /// Replaces keys of an item that are still here. What was removed meanwhile stays removed.
    ///
    /// - Parameters:
    ///   - rows: the renewed keys.
    ///   - item: the item's id.
    /// - Throws: `player.store`.
    package func renew(_ rows: [SavedKeyRow], ofItem item: String) async throws(PlayerError) {
        let seal = seal
        try await write { transaction in
            for row in rows { try transaction.run(Statement.renewSavedKey, try row.values(ofItem: item, seal)) }
        }
    }

    /// Removes one key of an item, such as the key of a revoked order.
    ///
    /// - Parameters:
    ///   - name: the key's name, as in its row.
    ///   - item: the item's id.
    /// - Throws: `player.store`.
    package func removeKey(_ name: String, ofItem item: String) async throws(PlayerError) {
        let digest = SavedKeyRow.digest(name, item, seal)
        try await write { try $0.run(Statement.removeSavedKey, [.text(item), .blob(digest)]) }
    }

    /// Removes the keys of an order that was revoked, and notes the revocation until keys of the item are stored again.
    ///
    /// - Parameters:
    ///   - names: the keys' names, as in their rows.
    ///   - item: the item's id.
    /// - Throws: `player.store`.
    package func removeRevokedKeys(_ names: [String], ofItem item: String) async throws(PlayerError) {
        let digests = names.map { SavedKeyRow.digest($0, item, seal) }
        let name = Self.revocationName(ofItem: item)
        let note: JSON = ["item": .string(item)]
        let sealed = try seal.seal(note, at: Self.secretPlace(name))
        try await write { transaction in
            for digest in digests { try transaction.run(Statement.removeSavedKey, [.text(item), .blob(digest)]) }
            try transaction.run(Statement.addSecret, [.text(name), .blob(sealed)])
        }
    }

    /// Whether keys of an item were removed because its order was revoked.
    ///
    /// - Parameter item: the item's id.
    /// - Returns: false once keys of the item were stored again.
    /// - Throws: `player.store`.
    package func hasRevokedKeys(ofItem item: String) async throws(PlayerError) -> Bool {
        let name = Self.revocationName(ofItem: item)
        return try await read { try $0.row(Statement.secret, [.text(name)]) != nil }
    }

    /// The items that have keys or a package key, in the order of their ids.
    ///
    /// - Parameters:
    ///   - id: those after this item; empty for the first page.
    ///   - limit: the number of items at most.
    /// - Returns: the ids of the items.
    /// - Throws: `player.store`.
    package func savedItems(after id: String = "", limit: Int = 1000) async throws(PlayerError) -> [String] {
        try await read {
            try $0.rows(Statement.savedItems, [.text(id), .integer(Int64(limit))]).map { try $0.text(0) }
        }
    }

    /// The items that need a license.
    ///
    /// - Parameters:
    ///   - license: the license's id.
    ///   - limit: the number of items at most.
    /// - Returns: the ids of the items.
    /// - Throws: `player.store`.
    package func items(withLicense license: String, limit: Int = 1000) async throws(PlayerError) -> [String] {
        try await read {
            try $0.rows(Statement.itemsOfLicense, [.text(license), .integer(Int64(limit))]).map { try $0.text(0) }
        }
    }

    /// Removes everything of an item: its package key, its keys, and the licenses that no other item needs. As with every removal,
    /// the first play and the play count of a license are kept.
    ///
    /// - Parameters:
    ///   - item: the item's id.
    ///   - keepsLicenses: whether its own licenses stay in the store, because the caller returns them to the service.
    /// - Returns: its own licenses: removed, or kept for the caller.
    /// - Throws: `player.store`.
    @discardableResult
    package func removeItem(_ item: String, keepsLicenses: Bool = false) async throws(PlayerError) -> [String] {
        let seal = seal
        return try await write { transaction in
            let own = try Self.removeRows(ofItem: item, transaction)
            for license in own {
                if keepsLicenses {
                    // until it was given back: that is known after a kill too
                    try transaction.run(Statement.addRemoval, [.text(license), 1])
                } else {
                    _ = try Self.remove(license, seal, transaction)
                }
            }
            return own
        }
    }

    /// Removes the rows of an item, and returns the licenses that it alone had.
    private static func removeRows(ofItem item: String, _ transaction: any Transaction) throws -> [String] {
        let own = try transaction.rows(Statement.ownLicenses, [.text(item)]).map { try $0.text(0) }
        try transaction.run(Statement.removeSavedKeys, [.text(item)])
        try transaction.run(Statement.removeSecret, [.text(secretName(ofItem: item))])
        try transaction.run(Statement.removeSecret, [.text(revocationName(ofItem: item))])
        return own
    }

    // MARK: Without the vault

    /// Removes everything of an item while the vault is locked. Its own licenses are removed when the vault opens.
    ///
    /// - Parameters:
    ///   - item: the item's id.
    ///   - folder: the player's folder.
    ///   - givesBack: whether its licenses are then returned to the service.
    /// - Throws: `player.store`. In a folder without a store, nothing is removed.
    package static func removeItem(
        _ item: String,
        fromFolder folder: String,
        givesBack: Bool = false
    ) async throws(PlayerError) {
        guard exists(in: folder) else { return }
        let database = try mapped(folder) { try SQLiteDatabase(path: path(in: folder), migrations: migrations, readers: 1) }
        do throws(PlayerError) {
            try await mapped(folder) {
                try await database.write { transaction in
                    for license in try removeRows(ofItem: item, transaction) {
                        try transaction.run(Statement.addRemoval, [.text(license), .integer(givesBack ? 1 : 0)])
                    }
                }
            }
            await database.close()
        } catch {
            await database.close()
            throw error
        }
    }

    /// Removes the licenses of items that were removed while the vault was locked, unless another item needs them now.
    ///
    /// - Returns: the licenses to return to the service: they are still in the store.
    /// - Throws: `player.store`.
    func removeLicensesOfRemovedItems() async throws(PlayerError) -> [String] {
        guard try await read({ try $0.row(Statement.removals, [1]) != nil }) else { return [] }
        let seal = seal
        return try await write { transaction in
            var returned: [String] = []
            for row in try transaction.rows(Statement.removals, [1000]) {
                let (license, givesBack) = (try row.text(0), try row.integer(1) != 0)
                let isNeeded = try transaction.row(Statement.itemsOfLicense, [.text(license), 1]) != nil
                if givesBack, !isNeeded {
                    returned.append(license)
                    continue
                }
                try transaction.run(Statement.removeRemoval, [.text(license)])
                if !isNeeded { _ = try Self.remove(license, seal, transaction) }
            }
            return returned
        }
    }

    /// Notes that the license of a removed item was given back.
    func finishRemoval(of license: String) async throws(PlayerError) {
        try await write { try $0.run(Statement.removeRemoval, [.text(license)]) }
    }

    // MARK: The installation

    /// Binds the store to the folder and the machine: at the first call, the installation's fingerprint is stored; a copy of the
    /// folder has another.
    ///
    /// - Parameter installation: the salt and the fingerprint of the player's file.
    /// - Returns: the stored salt and fingerprint.
    /// - Throws: `player.store`, `player.store-damaged`.
    func bind(to installation: Installation) async throws(PlayerError) -> Installation {
        let (seal, place) = (seal, Self.secretPlace("installation"))
        let fresh = try seal.seal(installation.json, at: place)
        return try await write { transaction in
            if let row = try transaction.row(Statement.secret, ["installation"]) {
                return try Installation(try seal.open(try row.blob(0), at: place))
            }
            // it is the first row of saved items: without it, the others are of a copy
            guard try transaction.row(Statement.saved)?.integer(0) == 0 else { throw RowSeal.damaged }
            try transaction.run(Statement.addSecret, ["installation", .blob(fresh)])
            return installation
        }
    }

    /// The salt of an installation, and the fingerprint of its folder with that salt.
    struct Installation: Sendable, Equatable {
        let salt: [UInt8]
        let fingerprint: [UInt8]

        var json: JSON {
            ["salt": .string(Base64URL.encode(salt)), "fingerprint": .string(Base64URL.encode(fingerprint))]
        }

        init(salt: [UInt8], fingerprint: [UInt8]) { (self.salt, self.fingerprint) = (salt, fingerprint) }

        init(_ json: JSON) throws(PlayerError) {
            guard let salt = json["salt"]?.string.flatMap({ Base64URL.decode($0) }),
                let fingerprint = json["fingerprint"]?.string.flatMap({ Base64URL.decode($0) })
            else { throw RowSeal.damaged }
            self.init(salt: salt, fingerprint: fingerprint)
        }
    }
}
