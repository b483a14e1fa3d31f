// SPDX-License-Identifier: Apache-2.0

import CarrelHome
import CarrelPostgres
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import CarrelWebAPI
import Testing

struct `Every statement of the server` {
    static let statements = CarrelService.layers.flatMap { $0.statements }

    @Test func `is in the list of its capability`() async throws {
        let layers = CarrelService.layers.map { "\($0)".replacing("Capability", with: "") } + ["Home", "Throttling", "Server"]
        let folders = layers.map { "\(Repository.path)/Sources/Server/Carrel\($0)" }
        let named = try await checkProcess(["grep", "-rho", " = SQL("] + folders).split(separator: "\n").count
        #expect(named > 100)
        #expect(
            named == Self.statements.count,
            "a statement is missing in its store's list, or a store's list in its capability's"
        )
    }

    @Test(arguments: statements)
    func `is understood by SQLite`(statement: SQL) async throws {
        let directory = TemporaryDirectory()
        let database = try SQLiteDatabase(path: directory.file("carrel.db"), migrations: Schema.migrations)
        try await database.prepareCheck(statement)
        await database.close()
    }

    @Test func `is understood by PostgreSQL`() async throws {
        let address = try await PrivatePostgres.shared().newDatabase()
        let database = try PostgresDatabase(address, migrations: Schema.migrations)
        for statement in Self.statements { try await database.prepareCheck(statement) }
        await database.close()
    }
}
