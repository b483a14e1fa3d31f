// SPDX-License-Identifier: Apache-2.0

package import CarrelHome
import CarrelPostgres
import CarrelStore
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

/// A database with the schema and no rows, made once on each engine and copied for each test.
package enum PreparedDatabase {
    private static let file = Locked<Task<[UInt8], any Error>?>(nil)

    /// Puts a copy where a home's service looks for it.
    ///
    /// - Parameter home: the folder, already made; an SQLite file is put into it.
    /// - Returns: the address of a PostgreSQL database; nil for SQLite.
    /// - Throws: what making the database throws, or what skips the test where PostgreSQL is not installed.
    package static func place(in home: Home) async throws -> String? {
        switch Engine.current {
        case .sqlite:
            let bytes = try await sqlite().value
            guard let file = unsafe fopen(home.databasePath, "wbxe") else {
                preconditionFailure("no file at \(home.databasePath)")
            }
            defer { unsafe fclose(file) }
            let isWritten = unsafe fchmod(fileno(file), 0o600) == 0 && fwrite(bytes, 1, bytes.count, file) == bytes.count
            try #require(isWritten)
            return nil
        case .postgres:
            return try await PrivatePostgres.shared().newDatabase(from: "schema") { address in
                try await PostgresDatabase(address, migrations: Schema.migrations, connections: 3).close()
            }
        }
    }

    /// The bytes of the SQLite file.
    private static func sqlite() -> Task<[UInt8], any Error> {
        file.withLock { file in
            if let file { return file }
            let new = Task {
                let folder = TemporaryDirectory()
                try await SQLiteDatabase(path: folder.file("schema.db"), migrations: Schema.migrations).close()
                return try #require(folder.read("schema.db"))
            }
            file = new
            return new
        }
    }
}
