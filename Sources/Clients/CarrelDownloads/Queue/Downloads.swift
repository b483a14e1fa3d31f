// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelFiles
public import CarrelHTTPClient
public import CarrelPlayer
public import CarrelReader

/// Streams saved for offline use: the queue of a reader's folder.
///
/// Several processes may use one folder. Any of them changes the queue; one at a time transfers (``run(until:)``), and notices the
/// changes of the others within a second. Listing, pausing, canceling and deleting work while the vault is locked.
///
/// ```swift
/// let downloads = try Downloads(folder: "/home/me/.local/share/reader") { try await openEngine() }
/// let (item, _) = try await downloads.add(DownloadSource("https://media.example/film/master.m3u8"))
/// try await downloads.run(until: item.id)
/// ```
public final class Downloads: Sendable {
    /// The parts of an app that a queue uses.
    public struct Options: Sendable {
        /// Sends the requests for playlists and media.
        public var client: HTTPClient
        /// The network and the power supply.
        public var conditions: any DownloadConditions = UnknownConditions()
        /// Receives the steps of the work; must not wait. Nil for none.
        public var trace: (@Sendable (Trace) -> Void)?
        /// The clock of the machine.
        package var clock: any WallClock = SystemClock()
        /// The pace of the queue, which tests shorten.
        package var pace = TransferPace()

        /// Creates options.
        ///
        /// - Parameter client: sends the requests for playlists and media; by default a client with 32 connections per host.
        public init(client: HTTPClient = HTTPClient()) {
            self.client = client
        }
    }

    let folder: DownloadFolder
    let reader: String
    let journal: Journal
    let vault: DownloadVault
    let options: Options
    let hub = EventHub()

    /// Opens the queue of a folder, or creates it.
    ///
    /// - Parameters:
    ///   - reader: the folder of the player (`DIR/reader`); packages and the journal are in its folder `downloads`.
    ///   - options: what the queue uses of its app.
    ///   - engine: opens the player's engine with its vault. It is called by the first operation that needs keys.
    /// - Throws: `download.disk`, `download.disk-full`, `download.journal`.
    public init(
        folder reader: String,
        options: Options = Options(),
        engine: @escaping @Sendable () async throws -> PlayerEngine
    ) throws(DownloadError) {
        self.reader = reader
        self.options = options
        let folder = try DownloadFolder(reader: reader)
        self.folder = folder
        do throws(DownloadError) { journal = try Journal(folder: folder.path) } catch {
            guard error.code == .diskFull, folder.freeReserve() else { throw error }
            journal = try Journal(folder: folder.path)
        }
        folder.makeReserve()
        vault = DownloadVault(engine)
    }

    /// Closes the journal. Nothing else may be called afterwards.
    public func close() async { await journal.close() }

    /// Returns the events of this process's transfers from now on.
    ///
    /// - Returns: a stream of its own for each caller.
    public func events() -> AsyncStream<DownloadEvent> { hub.stream() }

    // MARK: - Items

    /// Adds a stream to the queue. A source that was added before is the existing item: it gets the new token, header fields,
    /// servers and permissions, and continues if it had failed.
    ///
    /// - Parameters:
    ///   - source: the stream.
    ///   - settings: how it is saved; unused for an existing item.
    /// - Returns: the item, and whether it is new.
    /// - Throws: `download.usage`, `download.busy`, `download.vault`, `download.journal`, `download.disk-full`; `download.state` if the
    ///   existing item is being removed.
    @discardableResult
    public func add(
        _ source: DownloadSource,
        _ settings: DownloadSettings = DownloadSettings()
    ) async throws(DownloadError) -> (item: DownloadItem, isNew: Bool) {
        try check(source, settings)
        let opened = try await vault.open()
        let digest = opened.seal.digest(source.address)
        if let known = try await journal.item(bySource: digest) { return (try await readd(known, source, opened.seal), false) }
        let id = DownloadFolder.makeID()
        let sealed = try opened.seal.seal(.init(source: source, selection: settings.selection), of: id)
        let title = source.title.isEmpty ? SourceCheck.title(of: source.address) : source.title
        let (row, isNew) = try await journal.add(
            id: id,
            title: title,
            source: digest,
            sealed: sealed,
            settings,
            at: options.clock.now
        )
        if isNew { hub.send(.changed(row.item)) }
        return (row.item, isNew)
    }

    /// Refuses what cannot be a source, before an item is made of it.
    func check(_ source: DownloadSource, _ settings: DownloadSettings) throws(DownloadError) {
        try SourceCheck.check(source, settings)
        do throws(DownloadError) {
            _ = try ItemSource(JournalSeal.Content(source: source, selection: settings.selection), options.client)
        } catch {
            // a file that is not there is a wrong path, not a network that fails
            guard error.code == .unavailable, !source.address.contains("://") else { throw error }
            throw DownloadError(.gone, error.message)
        }
    }

    private func readd(_ known: JournalRow, _ source: DownloadSource, _ seal: JournalSeal) async throws(DownloadError)
        -> DownloadItem
    {
        guard known.item.state != .removing else {
            throw DownloadError(.state, "download \(known.item.id) of this source is being removed: add it again later")
        }
        var content = try seal.open(known.sealed, of: known.item.id)
        let old = content.source
        content.source = source
        if source.licenseToken == nil { content.source.licenseToken = old.licenseToken }
        if source.originFields.isEmpty { content.source.originFields = old.originFields }
        if source.licenseServer.isEmpty { content.source.licenseServer = old.licenseServer }
        if source.certificateURL.isEmpty { content.source.certificateURL = old.certificateURL }
        if source.clearKeyServer.isEmpty { content.source.clearKeyServer = old.clearKeyServer }
        content.source.allowsPlainHTTP = source.allowsPlainHTTP || old.allowsPlainHTTP
        content.source.allowsPrivateNetworks = source.allowsPrivateNetworks || old.allowsPrivateNetworks
        try await journal.setSealed(try seal.seal(content, of: known.item.id), of: known.item.id)
        guard known.item.state == .failed else { return shown(known.item, isTransferring: true) }
        return try await journal.move(known.item.id, to: .queued) ?? known.item
    }

    /// Returns all items.
    ///
    /// - Returns: the items; those that start first are at the beginning.
    /// - Throws: `download.journal`.
    public func items() async throws(DownloadError) -> [DownloadItem] {
        let isTransferring = TransferLock.isHeld(folder)
        return try await journal.items().map { shown($0.item, isTransferring: isTransferring) }
    }

    /// Returns an item.
    ///
    /// - Parameter id: the item's id.
    /// - Returns: the item.
    /// - Throws: `download.unknown`, `download.journal`.
    public func item(_ id: String) async throws(DownloadError) -> DownloadItem {
        guard let row = try await journal.item(id) else { throw Self.unknown(id) }
        return shown(row.item, isTransferring: TransferLock.isHeld(folder))
    }

    static func unknown(_ id: String) -> DownloadError { DownloadError(.unknown, "there is no download '\(id.prefix(64))'") }

    /// The item at this moment: without a transferring process nothing runs, and terms end by themselves.
    func shown(_ item: DownloadItem, isTransferring: Bool) -> DownloadItem {
        var item = item
        if item.state.isRunning, !isTransferring { item.state = .queued }
        if item.state == .completed, let until = item.until, until <= options.clock.now {
            item.state = .expired
        }
        return item
    }

    /// Returns the folder of an item's package, which exists from the event ``DownloadEvent/located(id:folder:)`` on.
    ///
    /// - Parameter id: the item's id.
    /// - Returns: the path.
    public func packageFolder(of id: String) -> String { folder.package(id) }

    /// Reports each change of an item, by whatever process, until it ends.
    ///
    /// - Parameter id: the item's id.
    /// - Returns: the item now and after each change, at most four a second; ends after the item does.
    public func follow(_ id: String) -> AsyncStream<DownloadItem> {
        let (items, continuation) = AsyncStream<DownloadItem>.makeStream(bufferingPolicy: .bufferingNewest(16))
        let task = Task {
            var last: DownloadItem?
            while !Task.isCancelled, let item = try? await item(id) {
                if item != last { continuation.yield(item) }
                last = item
                if item.state.isFinal { break }
                try? await Task.sleep(for: .milliseconds(250))
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return items
    }
}
