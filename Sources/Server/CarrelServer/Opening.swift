// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelHome
package import CarrelStore
package import CarrelWebAPI
import Glibc

// How a home's database and service are opened.
extension CarrelService {
    /// Opens the embedded database of a home.
    ///
    /// - Parameters:
    ///   - home: its home.
    ///   - missing: whether to create it if it is missing.
    /// - Returns: the database, with the schema of this version.
    /// - Throws: ``ServerError`` `homeMissing`; `StoreError` if it cannot be opened.
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
    ///   - isLeftOut: whether a capability is left out, with its routes, jobs, metrics and personal data.
    /// - Returns: the service, ready to answer.
    /// - Throws: ``ServerError`` for the home and its keys, `StoreError` for the database.
    package static func open(
        _ home: Home,
        database: (any Database)? = nil,
        missing: Home.Missing = .refuse,
        settings: Settings = Settings(),
        clock: any WallClock = SystemClock(),
        leavingOut isLeftOut: (any Capability) -> Bool = { _ in false }
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
            return try await CarrelService(
                home: home,
                database: state,
                blobs: blobs,
                settings: settings,
                clock: clock,
                leavingOut: isLeftOut
            )
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
    /// - Throws: ``ServerError`` `masterKey` if the key of a database in use is missing, `homeMissing` when it may not be
    ///   created.
    package static func prepareMasterKey(
        _ home: Home,
        _ database: any Database,
        missing: Home.Missing
    ) async throws {
        guard !MasterKeyring.isMade(for: home) else { return }
        guard try await database.read({ try SecretStore.secrets(in: $0).isEmpty }) else {
            throw ServerError(
                .masterKey,
                "\(home.masterKeyPath) is missing, but this database needs it: restore your separate copy"
            )
        }
        guard missing == .create else {
            throw ServerError(.homeMissing, "\(home.directory) is not a home yet: it has no master key")
        }
        try MasterKeyring.make(for: home)
    }
}
