package import CarrelBytes
package import CarrelStore
import Glibc

// How a home's database and service are opened, backed up and restored.
extension CarrelService {
    /// Opens the embedded database of a home.
    ///
    /// - Parameters:
    ///   - home: the folder that it is in.
    ///   - missing: whether it is created where it is missing.
    /// - Returns: the database, with the schema of this version.
    /// - Throws: ``ServerError`` `homeMissing`; `StoreError` when it cannot be opened.
    package static func openDatabase(_ home: Home, missing: Home.Missing = .refuse) throws -> SQLiteDatabase {
        guard missing == .create || home.hasDatabase else {
            throw ServerError(.homeMissing, "\(home.directory) is not a home: it has no database")
        }
        return try SQLiteDatabase(path: home.databasePath, migrations: Schema.migrations)
    }

    /// Opens the service of a home.
    ///
    /// - Parameters:
    ///   - home: where media and keys are.
    ///   - database: nil for the embedded one, which is in the home too.
    ///   - missing: whether folders, database and master key are created where they are missing.
    ///   - settings: what the operator decided.
    ///   - clock: tells the time.
    /// - Returns: the service, ready to answer.
    /// - Throws: ``ServerError`` for the home and its keys, `StoreError` for the database.
    package static func open(
        _ home: Home,
        database: (any Database)? = nil,
        missing: Home.Missing = .refuse,
        settings: Settings = Settings(),
        clock: any WallClock = SystemClock()
    ) async throws -> CarrelService {
        if missing == .create { try home.make() }
        if database == nil, missing == .create, !home.hasDatabase {
            try Installation.requireNoMedia(try DirectoryBlobStore(path: home.blobsPath), beside: home)
        }
        let state = try database ?? openDatabase(home, missing: missing)
        do {
            try await prepareMasterKey(home, state, missing: missing)
            let blobs = try DirectoryBlobStore(path: home.blobsPath)
            try await Installation.pair(state, blobs, at: clock.now)
            return try await CarrelService(home: home, database: state, blobs: blobs, settings: settings, clock: clock)
        } catch {
            if database == nil { await state.close() }
            throw error
        }
    }

    /// Creates the master key of a home, together with a new database only: one in which nothing is wrapped.
    ///
    /// - Parameters:
    ///   - home: the folder for the key.
    ///   - database: the database that the key is for.
    ///   - missing: whether the key is created.
    /// - Throws: ``ServerError`` `masterKey` when the key of a database in use is missing, `homeMissing` when it may not be created.
    package static func prepareMasterKey(
        _ home: Home,
        _ database: any Database,
        missing: Home.Missing
    ) async throws {
        guard !MasterKeyring.isMade(for: home) else { return }
        guard try await database.read({ try SecretStore.secrets(in: $0).isEmpty }) else {
            throw ServerError(
                .masterKey,
                "\(home.masterKeyPath) is missing, and this database was written under it: put back the copy that was kept apart"
            )
        }
        guard missing == .create else {
            throw ServerError(.homeMissing, "\(home.directory) is not a home yet: it has no master key")
        }
        try MasterKeyring.make(for: home)
    }

    /// Puts a backup in place of a home's database, which is kept beside it. Nothing may have the database open.
    package static func restore(_ home: Home, from path: String) async throws {
        guard unsafe access(path, R_OK) == 0 else { throw ServerError(.notFound, "\(path) cannot be read: \(reason(errno))") }
        let check = try await SQLiteDatabase.check(path)
        guard check.isSound else {
            throw ServerError(.invalid, "\(path) is damaged: \(check.problems.first ?? "the integrity check failed")")
        }
        guard let version = check.schemaVersion, version > 0 else {
            throw ServerError(.invalid, "\(path) is not a backup of Carrel")
        }
        guard version <= Schema.migrations.count else {
            throw ServerError(.invalid, "\(path) was written by a newer version of Carrel")
        }
        try home.make()
        let lock = try FileLock(home.lockPath, taken: "a server runs on this home: stop it first")
        defer { withExtendedLifetime(lock) {} }
        let fresh = home.databasePath + ".restoring"
        try copy(path, to: fresh)
        if unsafe access(home.databasePath, F_OK) == 0 {
            // Opening and closing empties the write-ahead log into the file that is put aside.
            await (try? openDatabase(home))?.close()
            let old = home.replacedDatabasePath
            guard unsafe rename(home.databasePath, old) == 0 else {
                throw ServerError(.home, "cannot rename \(home.databasePath): \(reason(errno))")
            }
            // Where opening failed they are left, and hold what was committed last.
            for suffix in ["-wal", "-shm"] { unsafe rename(home.databasePath + suffix, old + suffix) }
        }
        guard unsafe rename(fresh, home.databasePath) == 0 else {
            throw ServerError(.home, "cannot write \(home.databasePath): \(reason(errno))")
        }
        AuditHead(path: home.auditHeadPath).forget()
    }

    private static func copy(_ source: String, to target: String) throws {
        let input = unsafe Glibc.open(source, O_RDONLY | O_CLOEXEC)
        guard input >= 0 else { throw ServerError(.notFound, "\(source) cannot be read: \(reason(errno))") }
        defer { close(input) }
        let output = unsafe Glibc.open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw ServerError(.home, "cannot write \(target): \(reason(errno))") }
        defer { close(output) }
        while true {
            let count = sendfile(output, input, nil, 1 << 26)
            if count == 0 { break }
            guard count > 0 else {
                let failure = reason(errno)
                unsafe unlink(target)
                throw ServerError(.home, "cannot write \(target): \(failure)")
            }
        }
        guard fsync(output) == 0 else { throw ServerError(.home, "cannot write \(target): \(reason(errno))") }
    }
}
