// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHome
import CarrelJSON
import CarrelOrders
import CarrelPostgres
import CarrelServer
import CarrelStore
import CarrelThreads

/// The home and output options of a command.
struct HomeOptions: ParameterGroup, Sendable {
    var home = "carrel-home"
    var environment = ServiceEnvironment.live
    var database: String?
    var output = OutputOptions()

    static var parameters: [Parameter<HomeOptions>] {
        [
            .option(
                \.home,
                "--home",
                value: "folder",
                help: "The folder with database, media and keys.",
                group: "Home",
                environment: "CARREL_HOME"
            ),
            .option(
                \.environment,
                "--environment",
                help: "The environment: each has its own data and keys.",
                group: "Home",
                environment: "CARREL_ENVIRONMENT"
            ),
            .option(
                \.database,
                "--database",
                value: "url",
                help: "A PostgreSQL database, postgres://user@host/name, instead of the file in the home.",
                group: "Home",
                environment: "CARREL_DATABASE"
            ),
        ] + Parameter.group(\.output)
    }

    var json: Bool { output.json }

    /// Finds the home.
    ///
    /// - Parameter missing: `create` if the command will create a missing home.
    /// - Returns: the home, whose folder exists unless it is about to be created.
    /// - Throws: ``ServerError`` `homeMissing`, or `home` if the folder cannot be used.
    func find(missing: Home.Missing = .refuse) throws -> Home {
        try Home(at: home, environment: environment, missing: missing)
    }

    /// Opens the service of the home, on the embedded database or on PostgreSQL.
    ///
    /// - Parameters:
    ///   - settings: the settings of the service.
    ///   - console: reports a created home; nil makes a missing home an error.
    /// - Returns: the service, ready for requests.
    /// - Throws: the home's error.
    func openService(
        _ settings: CarrelService.Settings = CarrelService.Settings(),
        creating console: Console? = nil
    ) async throws -> CarrelService {
        let missing: Home.Missing = console == nil ? .refuse : .create
        let home = try find(missing: missing)
        let isNew = !home.isMade
        let service = try await openService(home, settings, missing)
        if isNew { console?.note("created a home at \(home.directory)") }
        return service
    }

    private func openService(
        _ home: Home,
        _ settings: CarrelService.Settings,
        _ missing: Home.Missing
    ) async throws -> CarrelService {
        var settings = settings
        if settings.onFailure == nil { settings.onFailure = ErrorLog.writeNow }
        settings.version = Version.text
        let note = DatabaseMarker(home)
        guard let database else {
            try note.requireEmbedded()
            do {
                return try await CarrelService.open(home, missing: missing, settings: settings)
            } catch let error as StoreError where error.code == .full {
                throw DiskFull(home: home)
            }
        }
        let state = try await Self.openPostgres(database)
        let service = try await CarrelService.open(home, database: state, missing: missing, settings: settings)
        try note.write(database)
        return service
    }
}

extension HomeOptions {
    /// Opens the database of the home alone, without its keys.
    func openDatabase() async throws -> any Database {
        let home = try find()
        if let database { return try await Self.openPostgres(database) }
        try DatabaseMarker(home).requireEmbedded()
        return try CarrelService.openDatabase(home)
    }

    static func openPostgres(_ address: String) async throws -> PostgresDatabase {
        guard address.hasPrefix("postgres://") || address.hasPrefix("postgresql://") else {
            throw UsageError(.badValue, "--database must be an address such as postgres://user@host/name")
        }
        return try await BlockingThreadPool(name: "postgres-open", count: 1).run {
            try PostgresDatabase(address, migrations: Schema.migrations)
        }
    }
}

extension ServiceEnvironment: TextValue {}
extension Order.Kind: TextValue {}

extension Console {
    /// Prints JSON for people and machines.
    func print(_ value: JSON) {
        write(value.writePretty())
        write([UInt8(ascii: "\n")])
    }
}
