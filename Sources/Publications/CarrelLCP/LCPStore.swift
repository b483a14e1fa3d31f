// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
public import CarrelPublication
package import CarrelStore
public import CarrelVault
import CarrelThreads
import Glibc

/// The data of LCP on a device, in a database that only its user can read (mode 0600): digests of passphrases, its name at
/// license servers, its registrations, lists of revoked certificates, and licenses of read-only publications.
///
/// With a vault, digests are encrypted under a key that the vault seals. Without a vault they are not: a process that can read
/// the file can open the publications with it, like the reading app itself. Passphrases and content keys are not in it. Licenses
/// are stored as signed, including any user data that their providers left readable.
public final class LCPStore: PassphraseStore {
    typealias Opening = @Sendable () async throws -> OpenDatabase

    /// An open database, and the seal of its digests; nil if they are not encrypted.
    struct OpenDatabase: Sendable {
        let database: any Database
        let seal: DigestSeal?
    }

    private let opening: Opening
    /// The opening that is under way or done.
    private let database: Locked<Task<OpenDatabase, any Error>?>
    /// Opening a database waits for the disk, and for other processes that have it open.
    private static let threads = BlockingThreadPool(name: "carrel-licenses", count: 1)

    /// - Parameter database: a database with the tables of `migrations`; closed with the store.
    package init(_ database: any Database) {
        let openDatabase = OpenDatabase(database: database, seal: nil)
        opening = { openDatabase }
        self.database = Locked(Task { openDatabase })
    }

    /// A database in a file that is opened, or made, when it is first needed: when a publication is opened that LCP protects.
    ///
    /// - Parameter path: the path of the database file.
    public convenience init(path: String) {
        self.init(path: path) { _ in nil }
    }

    /// Creates a store that a vault seals. An unencrypted store is sealed when it is first opened; from then on it requires the
    /// vault.
    ///
    /// - Parameters:
    ///   - path: the database file's path.
    ///   - vault: this device's vault.
    public convenience init(path: String, vault: Vault) {
        self.init(path: path) { _ in vault }
    }

    /// Creates a store with a vault that is opened together with it.
    ///
    /// - Parameters:
    ///   - path: the database file's path.
    ///   - vault: opens the vault; nil if there is none.
    package convenience init(path: String, vault: @escaping VaultOpening) {
        self.init { try await Self.open(path, vault) }
    }

    /// Opens the store of another process read-only, of any version: calls that would have to write fail with `lcp.store`.
    ///
    /// - Parameter path: the path of the database file.
    public convenience init(lookingInto path: String) {
        self.init { OpenDatabase(database: ReadOnlySQLiteDatabase(path: path), seal: nil) }
    }

    /// Creates a store whose database is opened at first use.
    init(opening: @escaping Opening) {
        self.opening = opening
        database = Locked(nil)
    }

    /// Opens a counter of copies and prints in the same database.
    ///
    /// - Returns: a rights store that is closed with this store.
    /// - Throws: `lcp.store`.
    public func rights() async throws(LCPError) -> any UserRightsStore {
        DatabaseUserRightsStore(migrated: try await open().database)
    }

    /// Closes the database. Calls that come later throw `lcp.store`.
    public func close() async {
        // an unused database is not created for this
        guard let task = database.withLock({ $0 }) else { return }
        if let openDatabase = try? await task.value { await openDatabase.database.close() }
    }

    /// Makes the folders that are missing on the way to a file, for this user alone.
    private static func makeFolders(of path: String) {
        var end = path.startIndex
        while let slash = path[end...].dropFirst().firstIndex(of: "/") {
            unsafe mkdir(String(path[..<slash]), 0o700)
            end = slash
        }
    }

    private func open() async throws(LCPError) -> OpenDatabase {
        let task = database.withLock { task in
            let current = task ?? Task { [opening] in try await opening() }
            task = current
            return current
        }
        do { return try await task.value } catch {
            // the next caller tries again
            database.withLock { if $0 == task { $0 = nil } }
            throw Self.failure(error)
        }
    }

    /// The current seal: opened again if another process sealed the store meanwhile.
    private func current() async throws(LCPError) -> DigestSeal? {
        let openDatabase = try await open()
        guard openDatabase.seal == nil, (try? await read({ try $0.row(Statement.storeKey) })) ?? nil != nil else {
            return openDatabase.seal
        }
        database.withLock { $0 = nil }
        let newDatabase = try await open()
        await openDatabase.database.close()
        return newDatabase.seal
    }

    static func open(_ path: String, _ vault: VaultOpening) async throws -> OpenDatabase {
        let database = try await threads.run {
            makeFolders(of: path)
            return try SQLiteDatabase(path: path, migrations: migrations)
        }
        do {
            return OpenDatabase(database: database, seal: try await digestSeal(database, vault))
        } catch {
            await database.close()
            throw error
        }
    }

    // MARK: passphrases

    public func userKeys(for license: LicenseDocument) async throws(LCPError) -> [UserKey] {
        let values =
            [.integer(Int64(PassphraseOrder.limit))] + Self.key(license) + [SQLValue(license.user.id)]
        let seal = try await current()
        let rows = try await read { try $0.rows(Statement.passphrases, values) }
        let entries = try Self.mapErrors { () throws(StoreError) in
            try rows.map { row throws(StoreError) in
                let digest = try row.blob(0)
                return (
                    key: (seal.map { $0.open(digest) } ?? Secret(digest)).flatMap { UserKey(digest: $0) },
                    owner: PassphraseOwner(
                        license: try row.textIfPresent(1),
                        provider: try row.textIfPresent(2),
                        user: try row.textIfPresent(3)
                    )
                )
            }
        }
        return PassphraseOrder.sorted(entries.compactMap { entry in entry.key.map { ($0, entry.owner) } }, for: license)
    }

    public func add(_ key: UserKey, of owner: PassphraseOwner) async throws(LCPError) { try await add([key], of: owner) }

    public func add(_ keys: [UserKey], of owner: PassphraseOwner) async throws(LCPError) {
        let owned = [SQLValue(owner.license), SQLValue(owner.provider), SQLValue(owner.user)]
        let seal = try await current()
        let rows = keys.map { key in
            [.blob(seal?.seal(key.secret) ?? key.secret.withBytes { [UInt8](copying: $0) })] + owned
        }
        try await write { transaction in
            // another process may have sealed the store in this moment; nothing in the clear is added to it
            let isSealed = try transaction.row(Statement.storeKey) != nil
            guard isSealed == (seal != nil) else { throw LCPError(.store, "it was sealed meanwhile: try again") }
            // mostly all are known, and nothing has to reach the disk
            let new = try rows.filter { row in
                // what opens a license again becomes the newest, and is forgotten last
                owner.license == nil
                    ? try transaction.row(Statement.knownPassphrase, row) == nil
                    : try transaction.row(Statement.recentPassphrase, row + [.integer(Int64(rows.count))]) == nil
            }
            if new.isEmpty { return }
            for row in new {
                try transaction.run(Statement.removePassphrase, row)
                try transaction.run(Statement.addPassphrase, row)
            }
            try transaction.run(Statement.pruneCatalogPassphrases, [.integer(Int64(PassphraseOrder.limit))])
            try transaction.run(Statement.pruneUsedPassphrases, [.integer(Int64(PassphraseOrder.usedLimit))])
        }
    }

    // MARK: the device

    /// The identifier of this device at license servers: random, made once, and independent of the machine.
    func deviceID() async throws(LCPError) -> String {
        let new = Random.uuid()
        let row = try await write { transaction in
            try transaction.run(Statement.addDevice, [.text(new)])
            return try transaction.row(Statement.device)
        }
        return try Self.mapErrors { () throws(StoreError) in try row?.text(0) } ?? new
    }

    /// Whether a server said that it took the registration of this device for a license.
    func isRegistered(_ license: LicenseDocument) async throws(LCPError) -> Bool {
        let key = Self.key(license)
        return try await read { try $0.row(Statement.registration, key) } != nil
    }

    func noteRegistration(_ license: LicenseDocument) async throws(LCPError) {
        let key = Self.key(license)
        try await write { try $0.run(Statement.addRegistration, key) }
    }

    // MARK: lists of revoked certificates

    /// The result of a request for a list.
    struct KeptList: Sendable {
        /// Nil if none ever came.
        let list: RevocationList?
        /// When it came.
        let checked: Instant?
        /// The time of the last request.
        let attempted: Instant
    }

    func revocationList(at url: String) async throws(LCPError) -> KeptList? {
        guard let row = try await read({ try $0.row(Statement.list, [.text(url)]) }) else { return nil }
        return try Self.mapErrors { () throws(StoreError) in
            KeptList(
                list: try row.blobIfPresent(0).flatMap { try? RevocationList($0) },
                checked: try row.instantIfPresent(1),
                attempted: try row.instant(2)
            )
        }
    }

    func noteAttempt(at url: String, _ now: Instant) async throws(LCPError) {
        try await write { try $0.run(Statement.noteAttempt, [.text(url), .instant(now)]) }
    }

    /// All lists that are kept, and where those are from that cannot be read any more.
    func revocationLists() async throws(LCPError) -> (lists: [RevocationList], unreadable: [String]) {
        let rows = try await read { try $0.rows(Statement.lists) }
        var (lists, unreadable): ([RevocationList], [String]) = ([], [])
        for row in rows {
            if let list = (try? row.blob(1)).flatMap({ try? RevocationList($0) }) {
                lists.append(list)
            } else {
                unreadable.append((try? row.text(0)) ?? "an unknown address")
            }
        }
        return (lists, unreadable)
    }

    func keep(_ list: RevocationList, from url: String, at now: Instant) async throws(LCPError) {
        try await write { try $0.run(Statement.keepList, [.text(url), .blob(list.der), .instant(now)]) }
    }

    // MARK: licenses outside their publications

    /// The license that was received last for a publication whose own cannot be replaced.
    func license(for document: LicenseDocument) async throws(LCPError) -> [UInt8]? {
        let key = Self.signedKey(document)
        let rows = try await read { try $0.rows(Statement.license, key) }
        let documents = try Self.mapErrors { () throws(StoreError) in try rows.map { row throws(StoreError) in try row.blob(0) } }
        // a license stored by a version without signers may be newer than the signer's own
        guard documents.count > 1, let own = try? LicenseDocument(documents[0]), let earlier = try? LicenseDocument(documents[1]),
            earlier.lastChange > own.lastChange
        else { return documents.first }
        return documents[1]
    }

    /// Stores a license for a publication whose own cannot be replaced.
    ///
    /// - Parameters:
    ///   - license: the newer license.
    ///   - original: the license to look it up by, which may have another signer; by default itself.
    /// - Throws: `lcp.store`.
    func keep(_ license: LicenseDocument, for original: LicenseDocument? = nil) async throws(LCPError) {
        let values = Self.signedKey(original ?? license) + [.blob(license.bytes)]
        try await write { try $0.run(Statement.keepLicense, values) }
    }

    // MARK: states of licenses

    /// The state of a license at the last answer of its provider.
    func standing(of license: LicenseDocument) async throws(LCPError) -> CachedLicenseStatus? {
        let key = Self.signedKey(license)
        guard let row = try await read({ try $0.row(Statement.standing, key) }) else { return nil }
        return try Self.mapErrors { () throws(StoreError) in
            let (code, message) = (try row.textIfPresent(1), try row.textIfPresent(2))
            return CachedLicenseStatus(
                newest: try row.instant(0),
                refusal: code.map { LCPError(LCPError.Code($0), message ?? "") }
            )
        }
    }

    /// A license that was seen on this device.
    package struct KnownLicense: Sendable, Equatable {
        package let id: String
        package let provider: String
        /// The code of the provider's final refusal, such as `lcp.returned`; nil without one.
        package let refusal: String?
    }

    /// The licenses that were seen on this device, 10,000 at most.
    package func knownLicenses() async throws(LCPError) -> [KnownLicense] {
        let rows = try await read { try $0.rows(Statement.standings) }
        return try Self.mapErrors { () throws(StoreError) in
            try rows.map { row throws(StoreError) in
                KnownLicense(id: try row.text(0), provider: try row.text(1), refusal: try row.textIfPresent(2))
            }
        }
    }

    /// Records the provider's decision on a license.
    ///
    /// - Parameters:
    ///   - license: verified.
    ///   - before: the license that it replaced, which another key may have signed: the decision applies to both.
    ///   - refusal: the provider's final refusal; nil if there is none.
    /// - Throws: `lcp.store`.
    func noteStanding(
        of license: LicenseDocument,
        after before: LicenseDocument? = nil,
        refusal: LCPError?
    ) async throws(LCPError) {
        let keys = [license, before].compactMap(\.self).map(Self.signedKey)
        let words = [SQLValue(refusal?.code.identifier), SQLValue(refusal?.message)]
        try await write { transaction in
            for key in keys {
                try transaction.run(Statement.noteNewest, key + [.instant(license.lastChange)])
                try transaction.run(Statement.noteRefusal, key + words)
            }
        }
    }

    /// Notes that a license was seen, whatever its provider said before.
    func noteSeen(_ license: LicenseDocument) async throws(LCPError) {
        let values = Self.signedKey(license) + [.instant(license.lastChange)]
        try await write { try $0.run(Statement.noteNewest, values) }
    }

    /// The key of a license on this device: identifiers are a provider's own.
    private static func key(_ license: LicenseDocument) -> [SQLValue] { [.text(license.id), .text(license.provider)] }

    /// The key with the signer: a signer may write any provider and any identifier.
    private static func signedKey(_ license: LicenseDocument) -> [SQLValue] { key(license) + [.text(license.signer)] }

    // MARK: the database

    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Transaction) throws -> Value
    ) async throws(LCPError) -> Value {
        let database = try await open().database
        do { return try await database.read(body) } catch { throw Self.failure(error) }
    }

    @discardableResult
    private func write<Value: Sendable>(
        _ body: @escaping @Sendable (any Transaction) throws -> Value
    ) async throws(LCPError) -> Value {
        let database = try await open().database
        do { return try await database.write(body) } catch { throw Self.failure(error) }
    }

    private static func mapErrors<Value>(_ body: () throws(StoreError) -> Value) throws(LCPError) -> Value {
        do throws(StoreError) { return try body() } catch { throw failure(error) }
    }

    private static func failure(_ error: any Error) -> LCPError {
        let message = (error as? StoreError)?.message ?? (error as? LCPError)?.message ?? "it does not answer"
        return LCPError(.store, "the database of licenses cannot be used: \(message)")
    }
}
