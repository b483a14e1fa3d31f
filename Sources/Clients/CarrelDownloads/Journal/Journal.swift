// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelSavedMedia
import CarrelStore

/// The journal of downloads: items and their durable files, in an SQLite database that several processes have open.
///
/// Each change of a state is a transaction that checks the state before, so that no process overwrites the pause of another.
final class Journal: Sendable {
    /// Items at most.
    static let itemLimit = 10_000

    private let database: SQLiteDatabase

    /// Opens the journal, or creates it.
    ///
    /// - Parameter folder: the folder of all downloads.
    /// - Throws: `download.journal`, `download.disk-full`.
    init(folder: String) throws(DownloadError) {
        do {
            database = try SQLiteDatabase(path: "\(folder)/downloads.sqlite", migrations: Self.migrations, readers: 1)
        } catch {
            throw Self.failure(error)
        }
    }

    func close() async { await database.close() }

    // MARK: - Items

    func items() async throws(DownloadError) -> [JournalRow] {
        try await read { try $0.rows(Statement.items).map { try JournalRow($0) } }
    }

    /// Items that a process has to work on, and those that are paused.
    func openItems() async throws(DownloadError) -> [JournalRow] {
        try await read { try $0.rows(Statement.openItems).map { try JournalRow($0) } }
    }

    /// Complete items whose keys are to be renewed.
    func dueRenewals(at now: Instant) async throws(DownloadError) -> [JournalRow] {
        try await read { try $0.rows(Statement.dueRenewals, [.instant(now)]).map { try JournalRow($0) } }
    }

    func item(_ id: String) async throws(DownloadError) -> JournalRow? {
        try await read { try $0.row(Statement.item, [.text(id)]).map { try JournalRow($0) } }
    }

    /// Finds an item by the digest of its source.
    func item(bySource digest: [UInt8]) async throws(DownloadError) -> JournalRow? {
        try await read { try $0.row(Statement.bySource, [.blob(digest)]).map { try JournalRow($0) } }
    }

    /// Adds an item, unless one with the same source exists.
    ///
    /// - Returns: the row, and whether it is new.
    /// - Throws: `download.busy` if there are too many items.
    func add(
        id: String,
        title: String,
        source digest: [UInt8],
        sealed: [UInt8],
        _ settings: DownloadSettings,
        at now: Instant
    ) async throws(DownloadError) -> (row: JournalRow, isNew: Bool) {
        try await write { transaction in
            if let known = try transaction.row(Statement.bySource, [.blob(digest)]) { return (try JournalRow(known), false) }
            guard try transaction.row(Statement.count)?.integer(0) ?? 0 < Int64(Self.itemLimit) else {
                throw DownloadError(.busy, "there are \(Self.itemLimit) downloads: delete some first")
            }
            let (limits, requirements) = (settings.limits, settings.requirements)
            try transaction.run(
                Statement.add,
                [
                    .text(id), .text(title), .blob(digest), .blob(sealed), .integer(Int64(settings.priority)),
                    .integer(settings.isPinned ? 1 : 0), .text(settings.seal.rawValue), .optional(limits.bytesPerSecond),
                    .optional(limits.connections), .text(requirements.network.rawValue),
                    .integer(requirements.needsCharging ? 1 : 0), .integer(requirements.freeSpace), .instant(now),
                ]
            )
            guard let row = try transaction.row(Statement.item, [.text(id)]) else { throw Self.lost }
            return (try JournalRow(row), true)
        }
    }

    private static let lost = DownloadError(.journal, "the journal of downloads lost a row")

    func setSealed(_ sealed: [UInt8], of id: String) async throws(DownloadError) {
        try await write { try $0.run(Statement.setSealed, [.text(id), .blob(sealed)]) }
    }

    /// Changes the state of an item if its present state allows it. The change is durable when this returns.
    ///
    /// - Parameters:
    ///   - id: the item.
    ///   - next: the new state.
    ///   - reason: what it waits for, or the code of its error.
    ///   - error: its error.
    /// - Returns: the item; nil if it does not exist, or its state does not allow the change.
    /// - Throws: `download.journal`, `download.disk-full`.
    @discardableResult
    func move(
        _ id: String,
        to next: DownloadState,
        reason: String? = nil,
        error: DownloadError? = nil
    ) async throws(DownloadError) -> DownloadItem? {
        try await write { transaction in
            guard let state = try transaction.row(Statement.state, [.text(id)])?.text(0) else { return nil }
            guard state != next.rawValue || reason != nil, let current = DownloadState(rawValue: state),
                current == next || current.canBecome(next)
            else { return nil }
            try transaction.run(
                Statement.setState,
                [
                    .text(id), .text(next.rawValue), (reason ?? error?.code.identifier).map { .text($0) } ?? .null,
                    error.map { .text($0.message) } ?? .null, .integer(error?.isRetryable == true ? 1 : 0),
                ]
            )
            return try transaction.row(Statement.item, [.text(id)]).map { try JournalRow($0).item }
        }
    }

    /// Marks an item for removal. Nothing else happens to it from then on.
    ///
    /// - Parameters:
    ///   - id: the item.
    ///   - givesBack: whether its licenses are returned.
    ///   - onlyIncomplete: whether a complete item is left unchanged.
    /// - Returns: false if it does not exist, or is left.
    /// - Throws: `download.journal`, `download.disk-full`.
    func markRemoved(_ id: String, givesBack: Bool, onlyIncomplete: Bool = false) async throws(DownloadError) -> Bool {
        let statement = onlyIncomplete ? Statement.setCancelled : Statement.setRemoving
        return try await write { try $0.run(statement, [.text(id), .integer(givesBack ? 1 : 0)]) > 0 }
    }

    /// Says why an item is not removed yet.
    func setMessage(_ message: String, of id: String) async throws(DownloadError) {
        try await write { try $0.run(Statement.setMessage, [.text(id), .text(message)]) }
    }

    func setPriority(_ priority: Int, of id: String) async throws(DownloadError) -> Bool {
        try await write { try $0.run(Statement.setPriority, [.text(id), .integer(Int64(priority))]) > 0 }
    }

    func setPinned(_ isPinned: Bool, of id: String) async throws(DownloadError) -> Bool {
        try await write { try $0.run(Statement.setPinned, [.text(id), .integer(isPinned ? 1 : 0)]) > 0 }
    }

    func setLimits(_ limits: DownloadLimits, of id: String) async throws(DownloadError) -> Bool {
        try await write {
            try $0.run(Statement.setLimits, [.text(id), .optional(limits.bytesPerSecond), .optional(limits.connections)]) > 0
        }
    }

    func setRequirements(_ requirements: DownloadRequirements, of id: String) async throws(DownloadError) -> Bool {
        try await write {
            try $0.run(
                Statement.setRequirements,
                [
                    .text(id), .text(requirements.network.rawValue), .integer(requirements.needsCharging ? 1 : 0),
                    .integer(requirements.freeSpace),
                ]
            ) > 0
        }
    }

    func setSizes(done: Int64, total: Int64, of id: String) async throws(DownloadError) {
        try await write { try $0.run(Statement.setSizes, [.text(id), .integer(done), .integer(total)]) }
    }

    func setPlanned(_ id: String, _ fingerprint: [UInt8]?) async throws(DownloadError) {
        let value = fingerprint.map { SQLValue.blob($0) } ?? .null
        try await write { try $0.run(Statement.setPlanned, [.text(id), .integer(1), value]) }
    }

    /// Moves the next renewal of an item's keys, after one that failed.
    func setRenewal(_ id: String, at time: Instant) async throws(DownloadError) {
        try await write { try $0.run(Statement.setRenewal, [.text(id), .instant(time)]) }
    }

    /// Gives an item another source.
    ///
    /// - Throws: `download.usage` if another item has it.
    func setSource(_ digest: [UInt8], sealed: [UInt8], of id: String) async throws(DownloadError) {
        try await write { transaction in
            if let other = try transaction.row(Statement.bySource, [.blob(digest)]), try other.text(0) != id {
                throw DownloadError(.usage, "another download has this source")
            }
            try transaction.run(Statement.setSource, [.text(id), .blob(digest), .blob(sealed)])
        }
    }

    func setTerms(until: Instant?, renewsAt: Instant?, of id: String) async throws(DownloadError) {
        try await write { try $0.run(Statement.setTerms, [.text(id), .instant(until), .instant(renewsAt)]) }
    }

    func setUsed(_ id: String, at now: Instant) async throws(DownloadError) {
        try await write { try $0.run(Statement.setUsed, [.text(id), .instant(now)]) }
    }

    // MARK: - Pieces

    func pieces(of id: String) async throws(DownloadError) -> [SavedPieceName: SavedDigest] {
        try await read { transaction in
            var out: [SavedPieceName: SavedDigest] = [:]
            try transaction.each(Statement.pieces, [.text(id)]) { row in
                out[try SavedPieceName(row)] = SavedDigest(length: try row.integer(3), sha256: try row.blob(4))
            }
            return out
        }
    }

    /// A durable file; nil if it is not.
    func piece(_ name: SavedPieceName, of id: String) async throws(DownloadError) -> SavedDigest? {
        try await read {
            try $0.row(Statement.piece, [.text(id)] + name.values)
                .map { SavedDigest(length: try $0.integer(0), sha256: try $0.blob(1)) }
        }
    }

    /// Records durable files, and the sizes of the item, in one transaction.
    func add(
        _ pieces: [(name: SavedPieceName, digest: SavedDigest)],
        done: Int64,
        total: Int64,
        of id: String
    ) async throws(DownloadError) {
        try await write { transaction in
            for piece in pieces {
                let digest: [SQLValue] = [.integer(piece.digest.length), .blob(piece.digest.sha256)]
                try transaction.run(Statement.addPiece, [.text(id)] + piece.name.values + digest)
                try transaction.run(Statement.removePartial, [.text(id)] + piece.name.values)
            }
            try transaction.run(Statement.setSizes, [.text(id), .integer(done), .integer(total)])
        }
    }

    /// Forgets files that are not what was received.
    func removePieces(_ names: [SavedPieceName], of id: String) async throws(DownloadError) {
        try await write { for name in names { try $0.run(Statement.removePiece, [.text(id)] + name.values) } }
    }

    /// Files that are present in part.
    func partials(of id: String) async throws(DownloadError) -> [SavedPieceName: PartialPiece] {
        try await read { transaction in
            var out: [SavedPieceName: PartialPiece] = [:]
            for row in try transaction.rows(Statement.partials, [.text(id)]) {
                out[try SavedPieceName(row)] = PartialPiece(validator: try row.text(3), length: try row.integer(4))
            }
            return out
        }
    }

    /// Records that a part of a file is durable; nil if the piece starts again.
    func setPartial(_ name: SavedPieceName, _ partial: PartialPiece?, of id: String) async throws(DownloadError) {
        try await write { transaction in
            if let partial {
                let values: [SQLValue] = [.text(partial.validator), .integer(partial.length ?? 0)]
                try transaction.run(Statement.addPartial, [.text(id)] + name.values + values)
            } else {
                try transaction.run(Statement.removePartial, [.text(id)] + name.values)
            }
        }
    }

    /// The versions of an item's resources, by their numbers.
    func resources(of id: String) async throws(DownloadError) -> [Int: ResourceVersion] {
        try await read { transaction in
            var out: [Int: ResourceVersion] = [:]
            for row in try transaction.rows(Statement.resources, [.text(id)]) {
                out[Int(try row.integer(0))] = ResourceVersion(
                    validator: try row.textIfPresent(1),
                    length: try row.integerIfPresent(2)
                )
            }
            return out
        }
    }

    /// Records the version of a resource, before a file of it counts.
    func addResource(_ number: Int, _ version: ResourceVersion, of id: String) async throws(DownloadError) {
        let values: [SQLValue] = [
            .text(id), .integer(Int64(number)), version.validator.map { .text($0) } ?? .null,
            version.length.map { .integer($0) } ?? .null,
        ]
        try await write { try $0.run(Statement.addResource, values) }
    }

    /// Removes the rows of the files of an item that starts again.
    func restart(_ id: String) async throws(DownloadError) {
        try await write { transaction in
            try transaction.run(Statement.removePieces, [.text(id)])
            try transaction.run(Statement.removePartials, [.text(id)])
            try transaction.run(Statement.setSizes, [.text(id), .integer(0), .integer(0)])
            try transaction.run(Statement.removeResources, [.text(id)])
            try transaction.run(Statement.setPlanned, [.text(id), .integer(0), .null])
        }
    }

    // MARK: - Removal

    /// Replaces the rows of an item, whose files are gone, by a note that its keys have to be removed.
    func replaceByRemoval(_ id: String, givesBack: Bool) async throws(DownloadError) {
        try await write { transaction in
            try transaction.run(Statement.addRemoval, [.text(id), .integer(givesBack ? 1 : 0)])
            try transaction.run(Statement.removePieces, [.text(id)])
            try transaction.run(Statement.removePartials, [.text(id)])
            try transaction.run(Statement.removeResources, [.text(id)])
            try transaction.run(Statement.remove, [.text(id)])
        }
    }

    /// Removes the rows of an item whose files and keys are gone.
    func remove(_ id: String) async throws(DownloadError) {
        try await write { transaction in
            try transaction.run(Statement.removePieces, [.text(id)])
            try transaction.run(Statement.removePartials, [.text(id)])
            try transaction.run(Statement.removeResources, [.text(id)])
            try transaction.run(Statement.remove, [.text(id)])
        }
    }

    /// Items whose keys have to be removed.
    func removals() async throws(DownloadError) -> [(id: String, givesBack: Bool)] {
        try await read { try $0.rows(Statement.removals).map { (try $0.text(0), try $0.flag(1)) } }
    }

    func endRemoval(_ id: String) async throws(DownloadError) {
        try await write { try $0.run(Statement.removeRemoval, [.text(id)]) }
    }

    // MARK: - Limits

    func limits() async throws(DownloadError) -> DownloadQueueLimits {
        try await read { transaction in
            var limits = DownloadQueueLimits()
            for row in try transaction.rows(Statement.settings) {
                let value = try row.integer(1)
                switch try row.text(0) {
                case "rate": limits.transfers.bytesPerSecond = value > 0 ? Int(value) : nil
                case "connections": limits.transfers.connections = value > 0 ? Int(value) : nil
                case "items": limits.items = Int(value)
                case "host": limits.connectionsPerHost = Int(value)
                case "quota": limits.quota = value >= 0 ? value : nil
                case "item_quota": limits.itemQuota = value >= 0 ? value : nil
                case "evicts": limits.evicts = value != 0
                default: break
                }
            }
            return limits
        }
    }

    func setLimits(_ limits: DownloadQueueLimits) async throws(DownloadError) {
        try await write { transaction in
            let values: [(String, Int64)] = [
                ("rate", Int64(limits.transfers.bytesPerSecond ?? 0)), ("connections", Int64(limits.transfers.connections ?? 0)),
                ("items", Int64(limits.items)), ("host", Int64(limits.connectionsPerHost)), ("quota", limits.quota ?? -1),
                ("item_quota", limits.itemQuota ?? -1), ("evicts", limits.evicts ? 1 : 0),
            ]
            for (name, value) in values { try transaction.run(Statement.setSetting, [.text(name), .integer(value)]) }
        }
    }

    // MARK: - Errors

    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Transaction) throws -> Value
    ) async throws(DownloadError) -> Value {
        do { return try await database.read(body) } catch { throw Self.failure(error) }
    }

    @discardableResult
    private func write<Value: Sendable>(
        _ body: @escaping @Sendable (any Transaction) throws -> Value
    ) async throws(DownloadError) -> Value {
        do { return try await database.write(body) } catch { throw Self.failure(error) }
    }

    private static func failure(_ error: any Error) -> DownloadError {
        switch error {
        case let error as DownloadError: error
        case let error as StoreError where error.code == .full:
            DownloadError(.diskFull, "the journal of downloads cannot be written: the disk is full")
        case let error as StoreError: DownloadError(.journal, "the journal of downloads cannot be used: \(error.message)")
        default: DownloadError(.journal, "the journal of downloads cannot be used")
        }
    }
}

extension SQLValue {
    /// A number, or null.
    fileprivate static func optional(_ value: Int?) -> SQLValue { value.map { .integer(Int64($0)) } ?? .null }
}
