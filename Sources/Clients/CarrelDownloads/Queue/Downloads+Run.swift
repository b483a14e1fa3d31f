// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelPlayer
import CarrelReader
package import CarrelSavedMedia

extension Downloads {
    /// Transfers. One process at a time does: if another one transfers, this waits for it, and continues its work when it ends.
    ///
    /// Cancelling the task stops the transfers; what is durable stays, and the next call continues.
    ///
    /// - Parameter id: returns when this item has ended (``DownloadState/isFinal``, or removed), whatever else is left; nil to return
    ///   when nothing is left.
    /// - Throws: `download.vault` if the vault does not open; `download.journal`, `download.disk`, `download.disk-full` if the journal
    ///   cannot be written; `CancellationError`. The error of an item is in the item.
    public func run(until id: String? = nil) async throws {
        while true {
            try Task.checkCancellation()
            if let lock = try TransferLock(folder) {
                defer { withExtendedLifetime(lock) {} }
                return try await TransferQueue(self, try await journal.limits()).run(until: id)
            }
            if let id {
                guard let row = try await journal.item(id), !row.item.state.isFinal else { return }
            } else if try await journal.items().allSatisfy({ $0.item.state.isFinal }) {
                return
            }
            try await Task.sleep(for: options.pace.poll)
        }
    }

    // MARK: - Keys

    /// Renews the licenses and keys of a complete item. Its media are unchanged; an expired item becomes
    /// playable again.
    ///
    /// - Parameter id: the item's id.
    /// - Returns: the item with its new end.
    /// - Throws: `download.unknown`; `download.state` if it is not complete; `download.key`, `download.vault`, `download.journal`.
    @discardableResult
    public func renew(_ id: String) async throws(DownloadError) -> DownloadItem { try await renewKeys(id, onlyIfDue: false) }

    func renewKeys(_ id: String, onlyIfDue: Bool) async throws(DownloadError) -> DownloadItem {
        guard let row = try await journal.item(id) else { throw Self.unknown(id) }
        guard row.item.state.isComplete else {
            throw DownloadError(.state, "download \(id) is \(row.item.state.rawValue): only complete downloads are renewed")
        }
        let opened = try await vault.open()
        let content = try opened.seal.open(row.sealed, of: id)
        let keys = ItemKeys(opened, id)
        try await keys.renew(content, try ItemSource(content, options.client), options, onlyIfDue: onlyIfDue)
        try await keys.recordTerms(in: journal)
        return try await item(id)
    }

    /// Reads the end of an item's keys again, as after its first play.
    ///
    /// - Parameter id: the item's id.
    /// - Returns: the item with its end.
    /// - Throws: `download.unknown`, `download.vault`, `download.journal`.
    @discardableResult
    public func updateTerms(of id: String) async throws(DownloadError) -> DownloadItem {
        guard try await journal.item(id) != nil else { throw Self.unknown(id) }
        try await ItemKeys(try await vault.open(), id).recordTerms(in: journal)
        return try await item(id)
    }

    /// Removes the keys of items whose files were removed when the store of keys could not be written.
    func finishKeyRemovals() async throws(DownloadError) {
        for removal in try await journal.removals() {
            do throws(PlayerError) {
                try await LicenseStore.removeItem(removal.id, fromFolder: reader, givesBack: removal.givesBack)
            } catch { continue }
            try await journal.endRemoval(removal.id)
        }
    }

    // MARK: - Playing

    /// Opens the package of an item for playing, also while it is being saved, and records the use for eviction.
    ///
    /// - Parameter id: the item's id.
    /// - Returns: the package.
    /// - Throws: `download.unknown`; `download.state` if nothing of it is saved yet; `download.damaged`, `download.vault`.
    package func open(_ id: String) async throws(DownloadError) -> SavedPackage {
        guard let row = try await journal.item(id) else { throw Self.unknown(id) }
        guard row.isPlanned, row.item.state != .removing, row.item.state != .restarting else {
            throw DownloadError(.state, "nothing of download \(id) is saved yet: it is \(row.item.state.rawValue)")
        }
        let opened = try await vault.open()
        let key: Secret?
        do throws(PlayerError) { key = try await opened.store.packageKey(ofItem: id) } catch {
            throw DownloadError(.vault, error.message)
        }
        guard let key else { throw DownloadError(.vault, "the player's store has no key of download \(id)") }
        // a full journal does not keep an item from being played
        try? await journal.setUsed(id, at: options.clock.now)
        let digests = StoredDigests(try await journal.pieces(of: id), journal, id)
        do throws(SavedMediaError) {
            return try SavedPackage.open(folder: folder.package(id), key: key) { digests.digest(of: $0) }
        } catch {
            throw DownloadError(error)
        }
    }

    func trace(_ message: StaticString, _ id: String, _ fields: [Trace.Field] = []) {
        // longer names are redacted
        let item = Trace.Field("item", .name(String(id.prefix(12))))
        options.trace?(Trace(Self.channel, options.clock.now, message, [item] + fields))
    }

    private static var channel: Trace.Channel { Trace.Channel("download") }
}
