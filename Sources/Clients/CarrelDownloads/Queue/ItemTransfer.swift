// SPDX-License-Identifier: Apache-2.0

import CarrelCrypto
import CarrelMediaPlanning
import CarrelMediaSource
import CarrelPlayer
import CarrelReader
import CarrelSavedMedia
import CarrelThreads

/// Saves one item: plan, keys, media, digests. Each step is durable before the next begins, so that another process can continue.
struct ItemTransfer: Sendable {
    /// The item was paused or removed by another caller; nothing is recorded about it.
    struct Stopped: Error {}

    let id: String
    let core: Downloads
    let context: TransferContext
    let limits: ItemLimits
    /// Reserves room for the rest of the item.
    let reserve: @Sendable (_ expected: Int64, _ done: Int64) async throws(DownloadError) -> Void
    /// Corrects the reservation as media arrive.
    let update: @Sendable (_ expected: Int64, _ done: Int64) async -> Void

    /// Saves the item.
    ///
    /// - Throws: ``Stopped``, ``DownloadError``, `CancellationError`.
    func run() async throws {
        try await context.executor.run { try await save() }
    }

    private var journal: Journal { core.journal }

    private func move(to state: DownloadState) async throws {
        guard let item = try await journal.move(id, to: state) else { throw Stopped() }
        core.hub.send(.changed(item))
    }

    private func save() async throws {
        try await move(to: .fetchingKeys)
        let opened = try await core.vault.open()
        guard let row = try await journal.item(id) else { throw Stopped() }
        let content = try opened.seal.open(row.sealed, of: id)
        core.hub.send(.located(id: id, folder: core.folder.package(id)))
        let source = try ItemSource(content, core.options.client)
        let key: Secret
        do throws(PlayerError) { key = try await opened.store.makePackageKey(ofItem: id) } catch {
            throw DownloadError(.vault, error.message)
        }
        let (writer, expectedBytes, isContinued) = try await package(row, source, content, key, opened)
        try await move(to: .downloading)
        let fingerprint = try await journal.item(id)?.fingerprint
        let pause = core.options.pace.refreshPause
        let addresses = PlanAddresses(writer.streams, fingerprint: fingerprint, source: source.name, pause: pause) {
            try await source.plan()
        }
        let progress = ItemProgress(writer.streams, expectedBytes: expectedBytes)
        try await transfer(row, writer, source.origin, addresses, progress, isContinued)
        try await verify(writer)
        try await ItemKeys(opened, id).recordTerms(in: journal)
        guard let item = try await journal.move(id, to: .completed) else { throw Stopped() }
        core.trace("item complete", id)
        core.hub.send(.changed(item))
        core.hub.send(.finished(item))
    }

    // MARK: - Plan

    /// The package with its plan: the one on the disk, or a new one, after all keys are stored.
    private func package(
        _ row: JournalRow,
        _ source: ItemSource,
        _ content: JournalSeal.Content,
        _ key: Secret,
        _ opened: DownloadVault.Opened
    ) async throws -> (writer: SavedPackageWriter, expectedBytes: Int64, isContinued: Bool) {
        let folder = core.folder.package(id)
        if let writer = try Self.plannedPackage(folder, key, isKnown: row.isPlanned) {
            if !row.isPlanned { try await journal.setPlanned(id, nil) }
            return (writer, row.item.total, true)
        }
        let plan = try await source.planWithRetries(core.options.pace)
        if let quota = try await journal.limits().itemQuota, let expected = plan.expectedBytes, expected > quota {
            throw DownloadError(.quota, "the item has about \(expected) bytes, and \(quota) are allowed")
        }
        try await ItemKeys(opened, id).persistWithRetries(plan.keys, content, source, core.options)
        let expected = plan.expectedBytes ?? 0
        let writer = try Self.saved { () throws(SavedMediaError) in
            let writer = try SavedPackageWriter.create(folder: folder, id: id, key: key)
            try writer.plan(
                source: plan.source,
                documents: plan.documents,
                streams: plan.streams,
                mode: row.seal == .all ? .all : .keys,
                isProtected: plan.isProtected
            )
            return writer
        }
        try await journal.setPlanned(id, PlanFingerprint.of(plan))
        try await journal.setSizes(done: 0, total: expected, of: id)
        core.trace("source planned", id, [Trace.Field("pieces", .number(plan.streams.reduce(0) { $0 + $1.pieces.count }))])
        return (writer, expected, false)
    }

    /// The package on the disk; nil if it has no plan.
    ///
    /// - Parameters:
    ///   - folder: the folder of the package.
    ///   - key: its key.
    ///   - isKnown: whether the journal knows of its plan, so that a package without one lost files.
    /// - Returns: the writer.
    /// - Throws: `download.damaged`, `download.key`, `download.source`, `download.disk`.
    private static func plannedPackage(
        _ folder: String,
        _ key: Secret,
        isKnown: Bool
    ) throws(DownloadError) -> SavedPackageWriter? {
        do throws(SavedMediaError) { return try SavedPackageWriter.open(folder: folder, key: key) } catch {
            guard error.code == .missing, !isKnown else { throw DownloadError(error) }
            return nil
        }
    }

    // MARK: - Media

    private func transfer(
        _ row: JournalRow,
        _ writer: SavedPackageWriter,
        _ origin: MediaOrigin,
        _ addresses: PlanAddresses,
        _ progress: ItemProgress,
        _ isContinued: Bool
    ) async throws {
        let stored = try await presentPieces(writer)
        let first = progress.add(stored.map { ($0.key, $0.value) })
        try await journal.setSizes(done: first.done, total: first.total, of: id)
        try await reserve(first.total, first.done)
        let committer = PieceCommitter(writer, threads: context.disk, batchTime: core.options.pace.batchTime) { pieces in
            try await record(pieces, progress)
        }
        let missing = Self.order(writer.streams).filter { stored[$0.name] == nil }
        let quota = try await journal.limits().itemQuota ?? .max
        let received = Locked(first.done)
        let transfers = PieceTransfers(
            missing,
            partials: try await journal.partials(of: id),
            versions: ResourceVersions(writer.streams, try await journal.resources(of: id)) { number, version in
                try await journal.addResource(number, version, of: id)
            },
            from: origin,
            addresses: addresses,
            to: writer,
            committer: committer,
            context: context,
            limits: limits,
            pace: core.options.pace,
            record: PieceTransfers.Record { name, partial in
                try await journal.setPartial(name, partial, of: id)
            } bytes: { count in
                let total = received.withLock { received in
                    received += Int64(count)
                    return received
                }
                guard total <= quota else {
                    throw DownloadError(.quota, "the item has more than \(quota) bytes, which are allowed")
                }
            }
        )
        core.trace("transfers begun", id, [Trace.Field("pieces", .number(missing.count))])
        // a source that changed while the download rested is refused before the item is complete
        let check = Task { if isContinued { try await addresses.refresh(after: 0) } }
        defer { check.cancel() }
        try await transfers.run()
        do { try await check.value } catch {
            // all media are here: only another version of the source counts, not an address that has expired meanwhile
            let failure = TransferFailure(error).error
            guard failure.code == .changed || failure.code == .live else { return }
            throw failure
        }
    }

    /// Pieces in the order in which they are played, so that the item can be watched while it is saved.
    private static func order(_ streams: [SavedStream]) -> [(name: SavedPieceName, piece: SavedPiece)] {
        let all = streams.enumerated().flatMap { index, stream in
            zip(stream.names(stream: index), stream.pieces).map { (name: $0, piece: $1) }
        }
        // the sort is stable
        return all.filter(\.piece.isInitialization)
            + all.filter { !$0.piece.isInitialization }.sorted { $0.piece.start < $1.piece.start }
    }

    /// The stored pieces: pieces of the journal whose files have their sizes, and files that became durable just before a crash, which
    /// are hashed.
    private func presentPieces(_ writer: SavedPackageWriter) async throws -> [SavedPieceName: SavedDigest] {
        let known = try await journal.pieces(of: id)
        var present: [SavedPieceName: SavedDigest] = [:]
        present.reserveCapacity(known.count)
        var adopted: [(name: SavedPieceName, digest: SavedDigest)] = []
        var lost: [SavedPieceName] = []
        for (index, stream) in writer.streams.enumerated() {
            for name in stream.names(stream: index) {
                try Task.checkCancellation()
                let length = writer.storedLength(of: name)
                if let digest = known[name] {
                    if digest.length == length { present[name] = digest } else { lost.append(name) }
                } else if length != nil, let digest = try await disk({ try writer.digest(of: name) }) {
                    present[name] = digest
                    adopted.append((name, digest))
                }
            }
        }
        try await discard(lost, writer)
        if !adopted.isEmpty {
            let done = present.values.reduce(0) { $0 + $1.length }
            try await journal.add(adopted, done: done, total: done, of: id)
        }
        return present
    }

    /// Removes files that are not what was received. They go first: a file without a row counts as durable.
    private func discard(_ names: [SavedPieceName], _ writer: SavedPackageWriter) async throws {
        guard !names.isEmpty else { return }
        try await disk { for name in names { try writer.remove(name) } }
        try await journal.removePieces(names, of: id)
    }

    /// Runs long work on the disk without holding up transfers.
    private func disk<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        do { return try await context.disk.run(work) } catch let error as SavedMediaError { throw DownloadError(error) }
    }

    private static func saved<Value>(_ body: () throws(SavedMediaError) -> Value) throws(DownloadError) -> Value {
        do throws(SavedMediaError) { return try body() } catch { throw DownloadError(error) }
    }

    private func record(_ pieces: [(name: SavedPieceName, digest: SavedDigest)], _ progress: ItemProgress) async throws {
        let step = progress.add(pieces)
        try await journal.add(pieces, done: step.done, total: step.total, of: id)
        await update(step.total, step.done)
        guard let item = try await journal.item(id)?.item else { return }
        for part in step.parts {
            core.hub.send(.progress(item, part.selection, loaded: part.loaded, expected: part.expected))
            if part.missing == 0 { core.hub.send(.selectionFinished(id: id, part.selection)) }
        }
    }

    // MARK: - End

    /// Reads every file again and compares its digest; then the package is complete. A damaged file is removed, so that the next
    /// attempt fetches it again.
    private func verify(_ writer: SavedPackageWriter) async throws {
        try await move(to: .verifying)
        let digests = try await journal.pieces(of: id)
        for (name, digest) in digests {
            try Task.checkCancellation()
            do { try await disk { try writer.check(name, digest) } } catch let error as DownloadError {
                if error.code == .damaged { try await discard([name], writer) }
                throw error
            }
        }
        try Self.saved { () throws(SavedMediaError) in try writer.complete { digests[$0] } }
        let done = digests.values.reduce(0) { $0 + $1.length }
        try await journal.setSizes(done: done, total: done, of: id)
    }
}
