// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelRights
import CarrelStore
import CarrelVault
import Glibc

/// The licenses of a player on its device: rows of an SQLite database, each encrypted under a key that the vault keeps.
///
/// Ids of content and tags cannot be read in the file. An older copy of the whole file is not recognized here: the service
/// notices it at the next contact, by the numbers of licenses and plays.
public final class LicenseStore: Sendable {
    let database: SQLiteDatabase
    let seal: RowSeal
    private let folder: String

    /// Licenses for one content that are looked at.
    private static let contentLimit = 64
    /// The longest tag, in bytes.
    static let tagLimit = 255
    private static let keyContext = Array("carrel license store 1".utf8)

    private init(_ database: SQLiteDatabase, _ seal: RowSeal, folder: String) {
        self.database = database
        self.seal = seal
        self.folder = folder
    }

    static func path(in folder: String) -> String { "\(folder)/player.sqlite" }

    /// Whether a folder has a store.
    static func exists(in folder: String) -> Bool { unsafe access(path(in: folder), F_OK) == 0 }

    /// Opens the store in a player's folder, or creates it.
    ///
    /// - Parameters:
    ///   - folder: the player's folder.
    ///   - vault: the player's vault, which opens the key of the store.
    ///   - isKnown: whether the store was created before; it is then not created again.
    /// - Returns: the store.
    /// - Throws: `player.store`, `player.store-damaged`, `player.vault` if the vault does not open the store's key.
    static func open(folder: String, vault: Vault, isKnown: Bool) async throws(PlayerError) -> LicenseStore {
        let database = try mapped(folder) { try SQLiteDatabase(path: path(in: folder), migrations: migrations, readers: 1) }
        do throws(PlayerError) {
            let sealed: [UInt8]
            if let known = try await mapped(
                folder,
                { try await database.read { try $0.row(Statement.value, ["key"])?.blob(0) } }
            ) {
                sealed = known
            } else if isKnown {
                throw PlayerError(.storeDamaged, "the store of licenses in \(folder) is empty")
            } else {
                sealed = try await makeKey(database, vault, folder)
            }
            let key: Secret
            do throws(VaultError) {
                key = try await vault.open(sealed, associated: keyContext)
            } catch {
                throw PlayerError(.vault, "the vault does not open the license store: \(error.message)")
            }
            let store = LicenseStore(database, RowSeal(key: key), folder: folder)
            try await store.makeClock()
            return store
        } catch {
            await database.close()
            throw error
        }
    }

    /// Creates the store's key, or uses the key that another process has created.
    private static func makeKey(
        _ database: SQLiteDatabase,
        _ vault: Vault,
        _ folder: String
    ) async throws(PlayerError) -> [UInt8] {
        let fresh: [UInt8]
        do throws(VaultError) {
            fresh = try await vault.seal(.random(count: AESGCM.keyByteCount), associated: keyContext)
        } catch {
            throw PlayerError(.vault, "the vault does not seal the license store's key: \(error.message)")
        }
        return try await mapped(folder) {
            try await database.write { transaction in
                try transaction.run(Statement.addValue, ["key", .blob(fresh)])
                return try transaction.row(Statement.value, ["key"])?.blob(0) ?? fresh
            }
        }
    }

    /// Closes the store. Every later call throws `player.store`.
    public func close() async {
        await database.close()
    }

    // MARK: looking

    /// The licenses for any of some contents, the best first: by priority, then the newest.
    ///
    /// - Parameter contentIDs: ids of content, or of keys as `urn:marlin:kid:…`; at most 64 licenses of each are looked at.
    /// - Returns: the licenses that are here.
    /// - Throws: `player.store`, `player.store-damaged`.
    public func find(contentIDs: [String]) async throws(PlayerError) -> [StoredLicense] {
        try await rows(contentIDs: contentIDs).map(\.stored)
    }

    /// The ids that a license is found by; none for an unknown license.
    ///
    /// - Parameter license: the id of the license.
    /// - Returns: the content ids.
    /// - Throws: `player.store`, `player.store-damaged`.
    public func contentIDs(of license: String) async throws(PlayerError) -> [String] {
        try await row(license)?.contentIDs ?? []
    }

    /// A license; nil when it is not in the store.
    ///
    /// - Parameter id: the id of the license.
    /// - Returns: the license, or nil.
    /// - Throws: `player.store`, `player.store-damaged`.
    public func license(_ id: String) async throws(PlayerError) -> StoredLicense? { try await row(id)?.stored }

    /// Licenses in the order of their ids, a page at a time.
    ///
    /// - Parameters:
    ///   - tag: only those with the tag.
    ///   - id: those after this license; empty for the first page.
    ///   - limit: 1 to 1,000.
    /// - Returns: the existing ones, at most `limit`.
    /// - Throws: `player.store`, `player.store-damaged`.
    public func licenses(tag: String? = nil, after id: String = "", limit: Int = 100) async throws(PlayerError) -> [StoredLicense]
    {
        let seal = seal
        let count = SQLValue.integer(Int64(min(max(limit, 1), 1000)))
        return try await read { transaction in
            let rows =
                if let tag {
                    try transaction.rows(Statement.taggedPage, [.text(id), count, .blob(seal.digest("tag", tag))])
                } else { try transaction.rows(Statement.page, [.text(id), count]) }
            return try rows.map { try LicenseRow($0, seal).stored }
        }
    }

    /// The number of licenses.
    ///
    /// - Throws: `player.store`, `player.store-damaged`.
    public func count() async throws(PlayerError) -> Int {
        try await read { Int(try $0.row(Statement.count)?.integer(0) ?? 0) }
    }

    func row(_ id: String) async throws(PlayerError) -> LicenseRow? {
        let seal = seal
        return try await read { try $0.row(Statement.license, [.text(id)]).map { try LicenseRow($0, seal) } }
    }

    func rows(contentIDs: [String]) async throws(PlayerError) -> [LicenseRow] {
        let seal = seal
        return try await read { transaction in
            var found: [LicenseRow] = []
            for id in contentIDs {
                let values: [SQLValue] = [.blob(seal.digest("content", id)), .integer(Int64(Self.contentLimit))]
                for row in try transaction.rows(Statement.ofContent, values) {
                    let row = try LicenseRow(row, seal)
                    // the index is not sealed
                    guard row.contentIDs.contains(id) else { throw RowSeal.damaged }
                    if !found.contains(where: { $0.id == row.id }) { found.append(row) }
                }
            }
            return found.sorted { ($0.priority, $0.addedAt) > ($1.priority, $1.addedAt) }
        }
    }

    // MARK: changing

    /// Stores a license. The state of a license with the same ID is kept, including a removed one's.
    ///
    /// - Parameters:
    ///   - row: the received license.
    ///   - keys: the service's keys, which compute its end.
    ///   - isRenewal: whether the license must be in the store already.
    /// - Returns: the stored license.
    /// - Throws: `player.store`; `player.rejected` if the license is older than the stored one; `player.ended` if it was
    ///   returned; `player.no-license` if a renewed license is not in the store.
    func add(_ row: LicenseRow, keys: ServiceKeys, isRenewal: Bool) async throws(PlayerError) -> StoredLicense {
        let seal = seal
        return try await write { transaction in
            var row = row
            var former = try Self.former(row.id, seal, transaction)
            if let known = try transaction.row(Statement.license, [.text(row.id)]).map({ try LicenseRow($0, seal) }) {
                former = known.former
            } else if isRenewal {
                throw PlayerError(.noLicense, "the license was removed meanwhile")
            }
            if let former {
                if former.isReleased { throw PlayerError(.ended, "the license was given back") }
                guard former.sequence <= row.sequence else {
                    throw PlayerError(.rejected, "the license is older than the one that is known")
                }
                try row.take(former, keys)
            }
            try Self.put(row, seal, transaction)
            try transaction.run(Statement.removeFormer, [.text(row.id)])
            return row.stored
        }
    }

    private static func former(_ id: String, _ seal: RowSeal, _ transaction: any Transaction) throws -> FormerLicense? {
        guard let row = try transaction.row(Statement.former, [.text(id)]) else { return nil }
        return try FormerLicense(try seal.open(try row.blob(0), at: FormerLicense.place(id)))
    }

    /// Changes a license in one transaction.
    ///
    /// - Parameters:
    ///   - id: the license ID.
    ///   - change: gets the row, or nil if it was removed. Returns whether the row changed, and a value.
    /// - Returns: the value.
    /// - Throws: `player.store`; the errors of `change`.
    func update<Value: Sendable>(
        _ id: String,
        _ change: @escaping @Sendable (inout LicenseRow?) throws -> (isChanged: Bool, value: Value)
    ) async throws(PlayerError) -> Value {
        let seal = seal
        return try await write { transaction in
            var row = try transaction.row(Statement.license, [.text(id)]).map { try LicenseRow($0, seal) }
            let (isChanged, value) = try change(&row)
            if isChanged, let row { try Self.put(row, seal, transaction) }
            return value
        }
    }

    /// Removes a license and its keys. Its first play, play count and used rights are kept in case it is added again; if its row
    /// cannot be read, everything that the license limits in number then counts as used. ``vacuum()`` overwrites the bytes on the
    /// disk.
    ///
    /// - Parameter id: the id of the license.
    /// - Returns: whether it existed.
    /// - Throws: `player.store`.
    @discardableResult
    public func remove(_ id: String) async throws(PlayerError) -> Bool {
        let seal = seal
        return try await write { transaction in
            let isHere = try transaction.row(Statement.license, [.text(id)]) != nil
            _ = try Self.remove(id, seal, transaction)
            return isHere
        }
    }

    /// Removes the licenses that have ended at a time.
    ///
    /// - Returns: their number.
    /// - Throws: `player.store`.
    func expungeExpired(at now: Instant) async throws(PlayerError) -> Int {
        var total = 0
        let seal = seal
        try await write { try $0.run(Statement.forget, [.instant(now - Self.memory)]) }
        while true {
            let removed = try await write { transaction in
                let rows = try transaction.rows(Statement.expired, [.instant(now), 500])
                for row in rows { _ = try Self.remove(try row.text(0), seal, transaction) }
                return rows.count
            }
            total += removed
            if removed < 500 { return total }
        }
    }

    /// Removes licenses by ID.
    ///
    /// - Parameters:
    ///   - ids: license IDs, stored or not; nil for all.
    ///   - limit: maximum number of licenses per transaction.
    /// - Returns: the number of removed licenses.
    /// - Throws: `player.store`.
    package func expunge(_ ids: Set<String>?, limit: Int = 500) async throws(PlayerError) -> Int {
        let seal = seal
        var (total, last): (Int, String?) = (0, "")
        while let after = last {
            let (removed, end) = try await write { transaction -> (Int, String?) in
                let page = try transaction.rows(Statement.ids, [.text(after), .integer(Int64(limit))]).map { try $0.text(0) }
                let found = page.filter { ids?.contains($0) ?? true }
                for id in found { _ = try Self.remove(id, seal, transaction) }
                return (found.count, page.count < limit ? nil : page.last)
            }
            (total, last) = (total + removed, end)
        }
        return total
    }

    private static func put(_ row: LicenseRow, _ seal: RowSeal, _ transaction: any Transaction) throws {
        let sealed = try seal.seal(row.json, at: LicenseRow.place(row.id))
        let values: [SQLValue] = [
            .text(row.id), .blob(sealed), .integer(Int64(row.priority)), .instant(row.expiresAt), .instant(row.addedAt),
            .blob(seal.digest("tag", row.tag)),
        ]
        try transaction.run(Statement.put, values)
        try transaction.run(Statement.removeContents, [.text(row.id)])
        for id in row.contentIDs {
            try transaction.run(Statement.addContent, [.blob(seal.digest("content", id)), .text(row.id)])
        }
    }

    /// Removes a row and remembers its state.
    static func remove(_ id: String, _ seal: RowSeal, _ transaction: any Transaction) throws -> LicenseRow? {
        guard let known = try transaction.row(Statement.license, [.text(id)]) else { return nil }
        // a damaged row can be removed, to make room for the license again, whose counts are lost
        let row = try? LicenseRow(known, seal)
        try remember(row?.former ?? .lost, id, until: row?.expiresAt, seal, transaction)
        try transaction.run(Statement.removeContents, [.text(id)])
        try transaction.run(Statement.remove, [.text(id)])
        return row
    }

    private static func remember(
        _ former: FormerLicense,
        _ id: String,
        until end: Instant?,
        _ seal: RowSeal,
        _ transaction: any Transaction
    ) throws {
        let sealed = try seal.seal(former.json, at: FormerLicense.place(id))
        try transaction.run(Statement.putFormer, [.text(id), .blob(sealed), .instant(end)])
    }

    /// The time for which an ended license that was removed is remembered: no token lives longer.
    private static let memory = Duration.seconds(10 * 366 * 86_400)

    /// Makes removed data unreadable on the disk, including the database's log.
    ///
    /// - Throws: `player.store`.
    public func vacuum() async throws(PlayerError) {
        _ = try await Self.mapped(folder) { try await database.expunge() }
    }
}

// MARK: - Releases

extension LicenseStore {
    /// Removes a license permanently and, in the same transaction, stores the report to send to the service.
    ///
    /// - Parameters:
    ///   - id: the license ID.
    ///   - contentID: the content ID.
    /// - Returns: false if the license does not exist.
    /// - Throws: `player.store`.
    func release(_ id: String, contentID: String) async throws(PlayerError) -> Bool {
        let seal = seal
        return try await write { transaction in
            guard let row = try Self.remove(id, seal, transaction) else { return false }
            var former = row.former
            former.isReleased = true
            try Self.remember(former, id, until: row.expiresAt, seal, transaction)
            let json: JSON = [
                "sequence": .integer(row.sequence), "content": .string(contentID), "plays": .integer(row.plays),
            ]
            let sealed = try seal.seal(json, at: "release \(id)")
            try transaction.run(Statement.addRelease, [.text(id), .blob(sealed)])
            return true
        }
    }

    /// Releases that the service does not know of.
    func pendingReleases(atMost limit: Int) async throws(PlayerError) -> [PendingRelease] {
        let seal = seal
        return try await read { transaction in
            try transaction.rows(Statement.releases, [.integer(Int64(limit))]).map { row in
                let id = try row.text(0)
                let json = try seal.open(try row.blob(1), at: "release \(id)")
                guard let sequence = json["sequence"]?.int, let content = json["content"]?.string, let plays = json["plays"]?.int
                else { throw RowSeal.damaged }
                return PendingRelease(license: id, sequence: sequence, contentID: content, plays: plays)
            }
        }
    }

    /// Removes a pending release after the service was notified.
    func removeRelease(_ license: String) async throws(PlayerError) {
        try await write { try $0.run(Statement.removeRelease, [.text(license)]) }
    }
}

// MARK: - Links

extension LicenseStore {
    /// Notes that the device was joined to a user, or taken from one.
    func setLink(_ link: PlayerLink?, of user: String) async throws(PlayerError) {
        let seal = seal
        try await write { transaction in
            let key = seal.digest("link", user)
            guard let link else {
                try transaction.run(Statement.removeLink, [.blob(key)])
                return
            }
            let json: JSON = [
                "user": .string(link.user), "until": link.expiresAt.map { .integer($0.milliseconds) } ?? .null,
            ]
            try transaction.run(Statement.putLink, [.blob(key), .blob(try seal.seal(json, at: "link \(Hex.encode(key))"))])
        }
    }

    func links() async throws(PlayerError) -> [PlayerLink] {
        let seal = seal
        return try await read { transaction in
            try transaction.rows(Statement.links).map { row in
                let json = try seal.open(try row.blob(1), at: "link \(Hex.encode(try row.blob(0)))")
                guard let user = json["user"]?.string else { throw RowSeal.damaged }
                return PlayerLink(user: user, expiresAt: json["until"]?.int.map { Instant(milliseconds: Int64($0)) })
            }
        }
    }
}

// MARK: - The clock

extension LicenseStore {
    private static let clockPlace = "store clock"

    /// Writes an initial clock if there is none. A store with licenses or saved keys but without a clock was tampered with.
    private func makeClock() async throws(PlayerError) {
        let sealed = try seal.seal(TrustedClock().json, at: Self.clockPlace)
        try await write { transaction in
            guard try transaction.row(Statement.value, ["clock"]) == nil else { return }
            guard try transaction.row(Statement.timed)?.integer(0) == 0 else { throw RowSeal.damaged }
            try transaction.run(Statement.addValue, ["clock", .blob(sealed)])
        }
    }

    func clock() async throws(PlayerError) -> TrustedClock {
        let seal = seal
        return try await read { try Self.clock($0, seal) }
    }

    /// Changes the clock in one transaction.
    func updateClock(_ change: @escaping @Sendable (inout TrustedClock) -> Void) async throws(PlayerError) {
        let seal = seal
        try await write { transaction in
            var clock = try Self.clock(transaction, seal)
            change(&clock)
            try transaction.run(Statement.setValue, ["clock", .blob(try seal.seal(clock.json, at: Self.clockPlace))])
        }
    }

    private static func clock(_ transaction: any Transaction, _ seal: RowSeal) throws -> TrustedClock {
        guard let bytes = try transaction.row(Statement.value, ["clock"])?.blob(0) else { throw RowSeal.damaged }
        return try TrustedClock(try seal.open(bytes, at: clockPlace))
    }
}

// MARK: - Errors

extension LicenseStore {
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Transaction) throws -> Value
    ) async throws(PlayerError) -> Value {
        try await Self.mapped(folder) { try await database.readBriefly(body) }
    }

    @discardableResult
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any Transaction) throws -> Value
    ) async throws(PlayerError) -> Value {
        try await Self.mapped(folder) { try await database.write(body) }
    }

    private static func failure(_ error: any Error, _ folder: String) -> PlayerError {
        switch error {
        case let error as PlayerError: error
        case let error as StoreError where error.code == .full: PlayerError(.store, "the disk of \(folder) is full")
        case let error as StoreError: PlayerError(.store, "the license store cannot be used: \(error.message)")
        default: PlayerError(.store, "the license store cannot be read")
        }
    }

    static func mapped<Value>(_ folder: String, _ body: () throws -> Value) throws(PlayerError) -> Value {
        do { return try body() } catch { throw failure(error, folder) }
    }

    static func mapped<Value>(
        _ folder: String,
        _ body: () async throws -> Value
    ) async throws(PlayerError) -> Value {
        do { return try await body() } catch { throw failure(error, folder) }
    }
}
