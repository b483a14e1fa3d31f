// SPDX-License-Identifier: Apache-2.0

extension Downloads {
    /// Returns the item of a source. The vault is opened, because the journal has addresses sealed.
    ///
    /// - Parameter address: the URL, or the path of a file, as it was added.
    /// - Returns: the item; nil if the source was not added.
    /// - Throws: `download.vault`, `download.journal`.
    public func item(ofSource address: String) async throws(DownloadError) -> DownloadItem? {
        let opened = try await vault.open()
        guard let row = try await journal.item(bySource: opened.seal.digest(address)) else { return nil }
        return shown(row.item, isTransferring: TransferLock.isHeld(folder))
    }
}
