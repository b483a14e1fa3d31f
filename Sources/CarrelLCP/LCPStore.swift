import CarrelBytes
import CarrelCrypto
public import CarrelPublication
public import CarrelStore
import CarrelThreads
import Glibc

/// What a device remembers of LCP, in a database that only its user can read (mode 0600): digests of passphrases, its own name at
/// license servers, where it is registered, lists of revoked certificates, and licenses of publications that cannot be written to.
///
/// Digests are not encrypted beyond that: whoever can read the file can open the publications with it, as with the publications'
/// reader itself. Passphrases, content keys and users' names are not in it.
public final class LCPStore: PassphraseStore {
    private enum Place {
        case closed(path: String)
        case open(any Database)
    }

    private let place: Locked<Place>

    /// - Parameter database: with the tables of ``migrations``; closed with this one.
    public init(_ database: any Database) {
        place = Locked(.open(database))
    }

    /// A database in a file that is opened, or made, when it is first needed: when a publication is opened that LCP protects.
    public init(path: String) {
        place = Locked(.closed(path: path))
    }

    /// Counts what was copied and printed, in the same database.
    ///
    /// - Returns: a store that is closed with this one.
    /// - Throws: `lcp.store`.
    public func rights() throws(LCPError) -> any UserRightsStore { DatabaseUserRightsStore(try database()) }

    public func close() async { try? await database().close() }

    /// Makes the folders that are missing on the way to a file, for this user alone.
    private static func makeFolders(of path: String) {
        var end = path.startIndex
        while let slash = path[end...].dropFirst().firstIndex(of: "/") {
            unsafe mkdir(String(path[..<slash]), 0o700)
            end = slash
        }
    }

    private func database() throws(LCPError) -> any Database {
        try place.withLock { place throws(LCPError) in
            switch place {
            case .open(let database): return database
            case .closed(let path):
                Self.makeFolders(of: path)
                do throws(StoreError) {
                    let database = try SQLiteDatabase(path: path, migrations: Self.migrations)
                    place = .open(database)
                    return database
                } catch { throw Self.failure(error) }
            }
        }
    }

    // MARK: passphrases

    public func userKeys(for license: LicenseDocument) async throws(LCPError) -> [UserKey] {
        let rows = try await read { try $0.rows(Statement.passphrases, [.integer(Int64(PassphraseOrder.limit))]) }
        let known = try Self.checked { () throws(StoreError) in
            try rows.map { row throws(StoreError) in
                (
                    key: UserKey(digest: Secret(try row.blob(0))),
                    owner: PassphraseOwner(
                        license: try row.textIfPresent(1),
                        provider: try row.textIfPresent(2),
                        user: try row.textIfPresent(3)
                    )
                )
            }
        }
        return PassphraseOrder.sorted(known.compactMap { entry in entry.key.map { ($0, entry.owner) } }, for: license)
    }

    public func add(_ key: UserKey, of owner: PassphraseOwner) async throws(LCPError) {
        let digest = key.secret.withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe Array($0) } }
        let values: [SQLValue] = [.blob(digest), SQLValue(owner.license), SQLValue(owner.provider), SQLValue(owner.user)]
        try await write { transaction in
            try transaction.run(Statement.forgetPassphrase, values)
            try transaction.run(Statement.addPassphrase, values)
        }
    }

    // MARK: the device

    /// Names this device at license servers: random, made once, and nothing that tells of the machine.
    func deviceID() async throws(LCPError) -> String {
        let new = Random.uuid()
        let row = try await write { transaction in
            try transaction.run(Statement.addDevice, [.text(new)])
            return try transaction.row(Statement.device)
        }
        return try Self.checked { () throws(StoreError) in try row?.text(0) } ?? new
    }

    /// Whether a server said that it took the registration of this device for a license.
    func isRegistered(_ license: String) async throws(LCPError) -> Bool {
        try await read { try $0.row(Statement.registration, [.text(license)]) } != nil
    }

    func noteRegistration(_ license: String) async throws(LCPError) {
        try await write { try $0.run(Statement.addRegistration, [.text(license)]) }
    }

    // MARK: lists of revoked certificates

    /// A list that was fetched, and when it was asked for last.
    struct KeptList: Sendable {
        let list: RevocationList
        let checked: Instant
    }

    func revocationList(at url: String) async throws(LCPError) -> KeptList? {
        guard let row = try await read({ try $0.row(Statement.list, [.text(url)]) }) else { return nil }
        let (bytes, checked) = try Self.checked { () throws(StoreError) in (try row.blob(0), try row.instant(1)) }
        return (try? RevocationList(bytes)).map { KeptList(list: $0, checked: checked) }
    }

    /// All lists that are kept.
    func revocationLists() async throws(LCPError) -> [RevocationList] {
        let rows = try await read { try $0.rows(Statement.lists) }
        return rows.compactMap { row in (try? row.blob(0)).flatMap { try? RevocationList($0) } }
    }

    func keep(_ list: RevocationList, from url: String, at now: Instant) async throws(LCPError) {
        try await write { try $0.run(Statement.keepList, [.text(url), .blob(list.der), .instant(now)]) }
    }

    // MARK: licenses beside their publications

    /// The license that was received last for a publication whose own cannot be replaced.
    func license(_ id: String) async throws(LCPError) -> [UInt8]? {
        guard let row = try await read({ try $0.row(Statement.license, [.text(id)]) }) else { return nil }
        return try Self.checked { () throws(StoreError) in try row.blob(0) }
    }

    func keep(_ license: LicenseDocument) async throws(LCPError) {
        let values: [SQLValue] = [.text(license.id), .blob(license.bytes)]
        try await write { try $0.run(Statement.keepLicense, values) }
    }

    // MARK: the database

    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Transaction) throws -> Value
    ) async throws(LCPError) -> Value {
        let database = try database()
        do { return try await database.read(body) } catch { throw Self.failure(error) }
    }

    @discardableResult
    private func write<Value: Sendable>(
        _ body: @escaping @Sendable (any Transaction) throws -> Value
    ) async throws(LCPError) -> Value {
        let database = try database()
        do { return try await database.write(body) } catch { throw Self.failure(error) }
    }

    private static func checked<Value>(_ body: () throws(StoreError) -> Value) throws(LCPError) -> Value {
        do throws(StoreError) { return try body() } catch { throw failure(error) }
    }

    private static func failure(_ error: any Error) -> LCPError {
        let message = (error as? StoreError)?.message ?? "it does not answer"
        return LCPError(.store, "the database of licenses cannot be used: \(message)")
    }
}
