// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelJSON
import CarrelSettings
import Testing

struct `Settings from everywhere` {
    @Test func `a flag counts before the environment, that before the file, that before the default`() throws {
        let file = "http.port = 1\nhttp.host = a\nmotto = file\n"
        let environment = ["CARREL_HTTP_PORT": "2", "CARREL_HTTP_HOST": "b"]
        let settings = try load(file, environment, flags: [("http.port", "3")])
        #expect(settings.values.http.port == 3)
        #expect(settings.origin("http.port") == .flag("--http-port"))
        #expect(settings.values.http.host == "b")
        #expect(settings.origin("http.host") == .environment("CARREL_HTTP_HOST"))
        #expect(settings.values.motto == "file")
        #expect(settings.origin("motto") == .file(path: "carrel.conf", line: 3))
        #expect(settings.values.lease == .seconds(300))
        #expect(settings.origin("lease.duration") == .builtIn)
    }

    @Test func `a later place replaces a list`() throws {
        let settings = try load("http.trusted-proxies = a, b", ["CARREL_HTTP_TRUSTED_PROXIES": "c, d,e"])
        #expect(settings.values.http.trustedProxies == ["c", "d", "e"])
        let flags = try load(
            "",
            ["CARREL_HTTP_TRUSTED_PROXIES": "c"],
            flags: [("http.trusted-proxies", "x,y"), ("http.trusted-proxies", "z")]
        )
        #expect(flags.values.http.trustedProxies == ["x", "y", "z"])
    }

    @Test func `an environment variable is its value, quotes and all`() throws {
        #expect(try load("", ["CARREL_MOTTO": "\"a\" # b"]).values.motto == "\"a\" # b")
        #expect(try load("motto = file", ["CARREL_MOTTO": ""]).values.motto == "file", "empty is as good as none")
        #expect(try load("", ["CARREL_DATABASE_PASSWORD": "hunter2"]).values.password == "hunter2")
    }

    @Test(arguments: ["CARREL_HTTP_PROT", "CARREL_NONSENSE", "CARREL_PORTS", "CARREL_SERVICE"])
    func `a variable that no setting has is an error`(name: String) {
        let error = #expect(throws: SettingsError.self) { try load("", [name: "1"]) }
        #expect(error?.problems.first?.code == .unknown)
        #expect(error?.problems.first?.origin == .environment(name))
        if name == "CARREL_HTTP_PROT" { #expect(error?.hint == "did you mean 'CARREL_HTTP_PORT'?") }
    }

    @Test(arguments: [
        "CARREL_HOME", "CARREL_FIXTURES", "CARREL_SERVICE_HOST", "CARREL_SERVICE_PORT", "CARREL_SERVICE_PORT_HTTP", "CARREL_PORT",
        "CARREL_PORT_8080_TCP", "CARREL_PORT_8080_TCP_ADDR", "CARREL_PORT_8080_TCP_PORT", "CARREL_PORT_8080_TCP_PROTO", "PATH",
        "CARRELESS",
    ])
    func `other programs' variables are left alone`(name: String) throws {
        #expect(try load("", [name: "tcp://10.0.0.1:80"]).values.http.port == 8080)
    }

    @Test func `explains every setting and shows no secret`() throws {
        let settings = try load(
            "http.port = 1\nhttp.trusted-proxies = \"\"\n",
            ["CARREL_DATABASE_PASSWORD": "hunter2"],
            flags: [("http.compress", "false")]
        )
        let rows = settings.explain().map { "\($0.name) = \($0.shown) [\($0.origin)]" }
        #expect(
            rows == [
                "http.host = 127.0.0.1 [default]", "http.port = 1 [carrel.conf:1]", "http.trusted-proxies = \"\" [carrel.conf:2]",
                "http.compress = false [--http-compress]", "access.mode = order-url [default]", "lease.duration = 5m [default]",
                "lease.grace = 1m [default]", "cache.size = 64MiB [default]", "motto = (not set) [default]",
                "database.password = (secret) [CARREL_DATABASE_PASSWORD]",
            ]
        )
        #expect(settings.json["http.port"]?["value"]?.string == "1")
        #expect(settings.json["database.password"]?["value"]?.isNull == true)
    }

    @Test func `the table is sound`() {
        #expect(Library.problems == [])
        #expect(
            Unsound.problems == [
                "a.b is there twice", "CARREL_A_B is there twice", "--a-b is there twice", "the help of a.b is not a sentence",
                "'a.C' is not the name of a setting",
            ]
        )
    }

    private struct Unsound: SettingsTable {
        var number = 1
        static let settings: [Setting<Self>] = [
            .init(\.number, "a.b", help: "One."), .init(\.number, "a.b", help: "two"), .init(\.number, "a.C", help: "Three."),
        ]
    }
}

struct `Flags of settings` {
    private struct Serve: Command {
        var overrides = SettingOverrides<Library>()
        static let name = "serve"
        static let abstract = "Serve."
        static let parameters: [Parameter<Self>] = Parameter.settings(\.overrides)

        func run(_ console: Console) async throws {
            let settings = try LoadedSettings(environment: console.environment, overrides: overrides)
            console.print("\(settings.values.http.port) \(settings.values.http.compress) \(settings.values.http.trustedProxies)")
        }
    }

    private func serve(_ words: [String], _ environment: [String: String] = [:]) async -> (
        CarrelCommandLine::ExitStatus, String, String
    ) {
        let results = MemorySink()
        let notes = MemorySink()
        let console = Console(name: "serve", environment: environment, results: results, notes: notes)
        let status = await Program(Serve.self, version: "1").run(words, on: console)
        return (status, results.text, notes.text)
    }

    @Test func `come from the table`() async {
        #expect(Program(Serve.self, version: "1").description.problems == [])
        let (status, results, _) = await serve([
            "-p", "1", "--no-http-compress", "--http-trusted-proxies", "a", "--http-trusted-proxies=b,c",
        ])
        #expect(status == .success)
        #expect(results == "1 false [\"a\", \"b\", \"c\"]\n")
        #expect(await serve(["--http-port", "2"], ["CARREL_HTTP_PORT": "3"]).1.hasPrefix("2 "))
    }

    @Test func `are checked as read`() async {
        let (status, _, notes) = await serve(["--port", "many"])
        #expect(status == .usage)
        #expect(notes.hasPrefix("serve: error: --port: 'many' is not a whole number\n"))
        #expect(
            await serve(["--lease-duration", "1s"]).2.hasPrefix(
                "serve: error: --lease-duration: '1s' is not in the range 10s to 1h\n"
            )
        )
    }

    @Test func `never take a secret`() async {
        let (status, _, notes) = await serve(["--database-password", "x"])
        #expect(status == .usage)
        #expect(notes.contains("has no option '--database-password'"))
        let help = await serve(["--help"]).1
        #expect(help.contains("--http-port, --port <number>") && help.contains("takes any. (default"))
        #expect(!help.contains("password"))
    }

    @Test func `wrong settings elsewhere end with status 78`() async {
        let (status, _, notes) = await serve([], ["CARREL_HTTP_PORT": "x"])
        #expect(status == .badSettings)
        #expect(notes == "serve: error: CARREL_HTTP_PORT: http.port: 'x' is not a whole number\n")
    }
}
