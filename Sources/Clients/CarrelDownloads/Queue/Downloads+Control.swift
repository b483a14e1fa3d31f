// SPDX-License-Identifier: Apache-2.0

import CarrelPlayer

// Changes of the queue: rows of the journal, which the transferring process notices.
extension Downloads {
    /// Pauses an item. The pause is durable when this returns, and no more media are kept afterwards.
    ///
    /// - Parameter id: the item's id.
    /// - Returns: the item.
    /// - Throws: `download.unknown`; `download.state` if it has ended; `download.journal`, `download.disk-full`.
    @discardableResult
    public func pause(_ id: String) async throws(DownloadError) -> DownloadItem { try await move(id, to: .paused, "paused") }

    /// Continues an item that is paused or failed.
    ///
    /// - Parameter id: the item's id.
    /// - Returns: the item.
    /// - Throws: `download.unknown`; `download.state` in other states; `download.journal`, `download.disk-full`.
    @discardableResult
    public func resume(_ id: String) async throws(DownloadError) -> DownloadItem { try await move(id, to: .queued, "resumed") }

    private func move(_ id: String, to state: DownloadState, _ verb: String) async throws(DownloadError) -> DownloadItem {
        if let item = try await journal.move(id, to: state) {
            hub.send(.changed(item))
            return item
        }
        let item = try await item(id)
        guard item.state == state else {
            throw DownloadError(.state, "download \(id) is \(item.state.rawValue) and cannot be \(verb)")
        }
        return item
    }

    /// Pauses every item that has not ended.
    ///
    /// - Throws: `download.journal`, `download.disk-full`.
    public func pauseAll() async throws(DownloadError) {
        for row in try await journal.items() where row.item.state.canBecome(.paused) {
            _ = try await journal.move(row.item.id, to: .paused)
        }
    }

    /// Continues every item that is paused.
    ///
    /// - Throws: `download.journal`, `download.disk-full`.
    public func resumeAll() async throws(DownloadError) {
        for row in try await journal.items() where row.item.state == .paused {
            _ = try await journal.move(row.item.id, to: .queued)
        }
    }

    /// Changes which items start first.
    ///
    /// - Parameters:
    ///   - priority: higher starts first.
    ///   - id: the item's id.
    /// - Throws: `download.unknown`, `download.journal`, `download.disk-full`.
    public func setPriority(_ priority: Int, of id: String) async throws(DownloadError) {
        guard try await journal.setPriority(priority, of: id) else { throw Self.unknown(id) }
    }

    /// Keeps an item from eviction, or allows it.
    ///
    /// - Parameters:
    ///   - isPinned: whether it is never evicted.
    ///   - id: the item's id.
    /// - Throws: `download.unknown`, `download.journal`, `download.disk-full`.
    public func setPinned(_ isPinned: Bool, of id: String) async throws(DownloadError) {
        guard try await journal.setPinned(isPinned, of: id) else { throw Self.unknown(id) }
    }

    /// Changes the limits of an item's transfers, also of running ones.
    ///
    /// - Parameters:
    ///   - limits: the rate and the connections.
    ///   - id: the item's id.
    /// - Throws: `download.usage`, `download.unknown`, `download.journal`, `download.disk-full`.
    public func setLimits(_ limits: DownloadLimits, of id: String) async throws(DownloadError) {
        guard limits.bytesPerSecond ?? 1 > 0, 1...64 ~= limits.connections ?? 1 else {
            throw DownloadError(.usage, "a bandwidth limit is at least 1 byte a second, a connection limit from 1 to 64")
        }
        guard try await journal.setLimits(limits, of: id) else { throw Self.unknown(id) }
    }

    /// Changes the conditions of an item's transfers.
    ///
    /// - Parameters:
    ///   - requirements: the conditions.
    ///   - id: the item's id.
    /// - Throws: `download.unknown`, `download.journal`, `download.disk-full`.
    public func setRequirements(_ requirements: DownloadRequirements, of id: String) async throws(DownloadError) {
        guard try await journal.setRequirements(requirements, of: id) else { throw Self.unknown(id) }
    }

    /// The limits of all downloads.
    ///
    /// - Throws: `download.journal`.
    public func queueLimits() async throws(DownloadError) -> DownloadQueueLimits { try await journal.limits() }

    /// Changes the limits of all downloads, also of running ones.
    ///
    /// - Parameter limits: the limits.
    /// - Throws: `download.usage`, `download.journal`, `download.disk-full`.
    public func setQueueLimits(_ limits: DownloadQueueLimits) async throws(DownloadError) {
        guard 1...64 ~= limits.items, 1...64 ~= limits.connectionsPerHost, 1...256 ~= limits.transfers.connections ?? 1,
            limits.transfers.bytesPerSecond ?? 1 > 0, limits.quota ?? 0 >= 0, limits.itemQuota ?? 0 >= 0
        else { throw DownloadError(.usage, "a limit of the downloads is out of range") }
        try await journal.setLimits(limits)
    }

    // MARK: - Removal

    /// Stops an item that is not complete, and removes it with its files and keys.
    ///
    /// - Parameter id: the item's id.
    /// - Throws: `download.unknown`; `download.state` if it is complete; the errors of ``delete(_:givesBack:)``.
    public func cancel(_ id: String) async throws(DownloadError) {
        guard try await mark(id, false, onlyIncomplete: true) else {
            _ = try await item(id)
            throw DownloadError(.state, "download \(id) is complete: delete it instead")
        }
        try await waitForRemoval(id)
    }

    /// Removes an item with its files and keys: offline, on a full disk, and while the vault is locked. A license that another item needs
    /// stays. The first play and the play count of its licenses are kept.
    ///
    /// - Parameters:
    ///   - id: the item's id.
    ///   - givesBack: whether its licenses are returned to the service, now or at the next contact.
    /// - Throws: `download.unknown`; `download.disk`, `download.journal` if a part of it stays: the next process that uses the folder
    ///   continues.
    public func delete(_ id: String, givesBack: Bool = false) async throws(DownloadError) {
        guard try await mark(id, givesBack) else { throw Self.unknown(id) }
        try await waitForRemoval(id)
    }

    /// Marks an item for removal, also on a full disk: at last its files make room for the row.
    private func mark(_ id: String, _ givesBack: Bool, onlyIncomplete: Bool = false) async throws(DownloadError) -> Bool {
        for attempt in 0..<3 {
            do throws(DownloadError) {
                return try await journal.markRemoved(id, givesBack: givesBack, onlyIncomplete: onlyIncomplete)
            } catch {
                guard error.code == .diskFull, attempt < 2 else { throw error }
                if attempt == 0 {
                    _ = folder.freeReserve()
                } else if !onlyIncomplete {
                    try await folder.perform { (folder) throws(DownloadError) in try folder.clear(id) }
                }
            }
        }
        return false
    }

    /// Removes a marked item, or waits until the process that transfers has: that one writes no more of its files and keys.
    private func waitForRemoval(_ id: String) async throws(DownloadError) {
        defer { folder.makeReserve() }
        while true {
            if let lock = try TransferLock(folder) {
                defer { withExtendedLifetime(lock) {} }
                return try await finishRemoval(id)
            }
            guard let row = try await journal.item(id) else { return }
            if let message = row.item.message { throw DownloadError(.disk, message) }
            do { try await Task.sleep(for: .milliseconds(50)) } catch { return }
        }
    }

    /// Removes the files, the keys and the row of an item that is marked. Under the lock of transfers.
    func finishRemoval(_ id: String) async throws(DownloadError) {
        guard let row = try await journal.item(id) else { return }
        try await folder.perform { (folder) throws(DownloadError) in try folder.remove(id) }
        do throws(PlayerError) {
            try await LicenseStore.removeItem(id, fromFolder: reader, givesBack: row.givesBack)
        } catch {
            try await journal.replaceByRemoval(id, givesBack: row.givesBack)
            return
        }
        try await journal.remove(id)
    }

    /// Gives an item another address, such as one with a new ticket, or another token. What is saved stays; it must be the same stream.
    ///
    /// - Parameters:
    ///   - source: the stream.
    ///   - id: the item's id.
    /// - Throws: `download.usage`, also if another item has the source; `download.unknown`, `download.vault`, `download.journal`,
    ///   `download.disk-full`.
    public func setSource(_ source: DownloadSource, of id: String) async throws(DownloadError) {
        try check(source, DownloadSettings())
        guard let row = try await journal.item(id) else { throw Self.unknown(id) }
        let seal = try await vault.open().seal
        var content = try seal.open(row.sealed, of: id)
        content.source = source
        try await journal.setSource(seal.digest(source.address), sealed: try seal.seal(content, of: id), of: id)
    }

    /// Removes the files of an item and saves it again from the beginning, with its keys.
    ///
    /// - Parameter id: the item's id.
    /// - Throws: `download.unknown`; `download.state` if it is being removed; `download.journal`, `download.disk-full`.
    public func restart(_ id: String) async throws(DownloadError) { _ = try await move(id, to: .restarting, "restarted") }
}
