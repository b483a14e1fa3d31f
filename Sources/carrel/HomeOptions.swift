import CarrelCommandLine
import CarrelJSON
import CarrelPostgres
import CarrelServer
import CarrelStore

/// Where a command finds its data, and how it prints.
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
                help: "The folder that holds database, media and keys.",
                group: "Home",
                environment: "CARREL_HOME"
            ),
            .option(
                \.environment,
                "--environment",
                help: "The estate: each has its own data and keys.",
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

    func open() throws -> Home {
        try Home(at: home, environment: environment)
    }

    /// Opens the service of the home, on the embedded database or on PostgreSQL.
    func openService(_ settings: CarrelService.Settings = CarrelService.Settings()) async throws -> CarrelService {
        let home = try open()
        var settings = settings
        settings.onFailure = FailureLog.write
        settings.version = Version.text
        let note = DatabaseNote(home)
        guard let database else {
            try note.requireEmbedded()
            do {
                return try await CarrelService.open(home, settings: settings)
            } catch let error as StoreError where error.code == .full {
                throw DiskFull(home: home)
            }
        }
        guard database.hasPrefix("postgres://") || database.hasPrefix("postgresql://") else {
            throw UsageError(.badValue, "--database takes an address such as postgres://user@host/name")
        }
        let state = try PostgresDatabase(database, migrations: Schema.migrations)
        try note.write(database)
        return try await CarrelService.open(home, database: state, settings: settings)
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
