import CarrelCommandLine
import CarrelJSON
import CarrelServer

/// Where a command finds its data, and how it prints.
struct HomeOptions: ParameterGroup, Sendable {
    var home = "carrel-home"
    var environment = ServiceEnvironment.live
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
        ] + Parameter.group(\.output)
    }

    var json: Bool { output.json }

    func open() throws -> Home {
        try Home(at: home, environment: environment)
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
