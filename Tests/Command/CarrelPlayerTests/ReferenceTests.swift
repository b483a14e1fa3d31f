// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelEntitlements
import CarrelServer
import CarrelSettings
import CarrelTesting
import Glibc
import Testing

@testable import carrel

/// The tables that make the command line and the settings, and the documents about them.
struct `The tables of the command` {
    @Test func `contradict themselves nowhere`() {
        #expect(Program(Carrel.self, version: Version.text).description.problems == [])
        #expect(ServeSettings.problems == [])
        #expect(UpstreamFile.problems == [])
        #expect(RelayFile.problems == [])
    }

    @Test func `are documented setting by setting`() async throws {
        let path = "\(Repository.path)/docs/settings.md"
        let text = try Self.reference()
        if unsafe getenv("UPDATE_GOLDEN") != nil {
            guard let stream = unsafe fopen(path, "we") else { throw NoFile(path: path) }
            defer { unsafe fclose(stream) }
            unsafe fputs(text, stream)
        }
        let kept = try await checkProcess(["cat", path])
        #expect(text == kept, "docs/settings.md is not what the table says; UPDATE_GOLDEN=1 writes it")
    }

    /// The reader accepts every line of the sample file, commented in or out.
    @Test func `print a sample file that is understood and changes nothing`() throws {
        let defaults = try LoadedSettings<ServeSettings>().explain()
        let sample = ServeSettings.sampleFile
        let untouched = try LoadedSettings<ServeSettings>(file: SettingsFile(Array(sample.utf8), path: "sample")).explain()
        #expect(untouched == defaults)
        let lines = sample.split(separator: "\n").map { $0.drop { $0 == "#" || $0 == " " } }
            .filter { $0.split(separator: " ").dropFirst().first == "=" && !$0.contains("= <") }
        let active = lines.joined(separator: "\n")
        #expect(lines.count > 5)
        let loaded = try LoadedSettings<ServeSettings>(file: SettingsFile(Array(active.utf8), path: "sample")).explain()
        #expect(loaded.map(\.value) == defaults.map(\.value))
    }

    @Test(arguments: [
        ("http.public-url = audio.example.org", "is not an address"), ("http.public-url = https://a/?b", "is not an address"),
        ("http.trusted-proxies = 10.0.0.0/8, localhost", "'localhost' is not a network"),
        ("stream.ticket-life = 30s", "less than a minute"), ("stream.ticket-life = 4000d", "more than ten years"),
        ("oidc.client-id = carrel", "is required too"), ("oidc.plan-life = 59m", "less than an hour"),
        ("audit.retention = 23h", "less than a day"),
        ("oidc.issuer = http://login.example.org\noidc.client-id = carrel", "is not an address"),
        ("oidc.plans = gold", "is not GROUP=PLAN"), ("oidc.roles = it=owner", "is not GROUP=admin"),
        ("receipts.roots = root.pem", "is required too"), ("receipts.bundle-ids = com.example.reader", "is required too"),
        ("receipts.plans = gold", "is not PRODUCT=PLAN"), ("receipts.plans = a*b=gold", "is not PRODUCT=PLAN"),
        ("receipts.plans = a=gold/x", "is not PRODUCT=PLAN"), ("receipts.products = a=", "is not PRODUCT=ID"),
        ("receipts.environments = Xcode", "receipts.environments"),
        ("tls.key = key.pem", "certificate"), ("http.workers = 0", "http.workers"), ("http.prot = 1", "http.port"),
    ])
    func `refuse a setting that could not work, before a server runs on it`(line: String, why: String) {
        let error = #expect(throws: SettingsError.self) {
            _ = try LoadedSettings<ServeSettings>(file: SettingsFile(Array("\(line)\n".utf8), path: "sample"))
        }
        #expect(error.map { "\($0.message) \($0.hint ?? "")" }?.contains(why) == true)
    }

    @Test(arguments: [
        ("", "upstream.url is required"), ("upstream.url = http://subs.example.org/", "in the clear"),
        ("upstream.url = https://a:b@subs.example.org/", "no host"),
        ("upstream.sign-in-url = https://a.example/", "upstream.url"),
        ("upstream.url = https://a.example/\nupstream.verify-url = https://a.example/{secret}", "placeholder"),
        ("upstream.url = https://a.example/\nupstream.networks = here", "'here' is not a network"),
        ("upstream.url = https://a.example/\nupstream.timeout = 2m", "upstream.timeout"),
        ("upstream.url = https://a.example/\nupstream.fail-memory = 8d", "upstream.fail-memory"),
        ("upstream.url = https://a.example/\nupstream.fail-policy = open\nupstream.fail-memory = 2d", "upstream.fail-memory"),
        ("upstream.url = https://a.example/\nupstream.protocol = webhook", "upstream.secret"),
        ("upstream.protocol = webhook\nupstream.secret = 0123456789abcdef", "upstream.url is required"),
        ("upstream.url = https://a.example/\nupstream.fail-policy = last_known_good", "last-known-good"),
    ])
    func `refuse an upstream system that could not be reached`(text: String, why: String) {
        let error = #expect(throws: SettingsError.self) {
            _ = try LoadedSettings<UpstreamFile>(file: SettingsFile(Array("\(text)\n".utf8), path: "sample"))
        }
        #expect(error.map { "\($0.message) \($0.hint ?? "")" }?.contains(why) == true, "\(String(describing: error))")
    }

    @Test(arguments: [
        ("relay.url = https://a.example/", "relay.key"), ("relay.url = http://a.example/", "in the clear"),
        ("relay.key = 00", "32 bytes"), ("relay.key-id = x", "UUID"), ("relay.timeout = 11s", "relay.timeout"),
        ("relay.fields = Cookie", "cannot be forwarded"), ("relay.networks = here", "is not a network"),
        ("relay.certificate-url = ftp://a/", "relay.certificate-url"), ("relay.certificate-life = 31d", "relay.certificate-life"),
    ])
    func `refuse a relay that could not work`(text: String, why: String) {
        let error = #expect(throws: SettingsError.self) {
            _ = try LoadedSettings<RelayFile>(file: SettingsFile(Array("\(text)\n".utf8), path: "sample"))
        }
        #expect("\(String(describing: error))".contains(why), "\(String(describing: error))")
    }

    @Test(arguments: [
        ("accounts, accounts", "twice"), ("\"\"", "is empty"), ("canned", "neither accounts"), ("../x", "neither accounts"),
    ])
    func `refuse sources that are none`(sources: String, why: String) {
        let error = #expect(throws: SettingsError.self) {
            let text = "subscription.sources = \(sources)\n"
            _ = try LoadedSettings<ServeSettings>(file: SettingsFile(Array(text.utf8), path: "sample"))
        }
        #expect(error?.message.contains(why) == true, "\(String(describing: error))")
    }

    @Test func `say which products the canned users know of`() throws {
        func issues(_ lines: String...) throws -> CannedUsers.Issues {
            let file = SettingsFile(Array((lines.joined(separator: "\n") + "\n").utf8), path: "s")
            return try LoadedSettings<ServeSettings>(file: file).values.service.subscription.cannedIssues
        }
        #expect(try issues() == CannedUsers.Issues(prefix: "com.pugpig.edition", numbers: 1...100))
        let told = try issues(
            "subscription.canned-prefix = org.example.",
            "subscription.canned-start = 7",
            "subscription.canned-end = 9"
        )
        #expect(told == CannedUsers.Issues(prefix: "org.example.", numbers: 7...9))
        for line in ["start = 101", "end = 0", "prefix = a/b"] {
            #expect(throws: SettingsError.self, "\(line)") { try issues("subscription.canned-\(line)") }
        }
    }

    @Test(arguments: ["https://audio.example.org", "http://[::1]:8080/", "https://example.org/audio"])
    func `take an address that could work`(url: String) throws {
        let settings = try LoadedSettings<ServeSettings>(file: SettingsFile(Array("http.public-url = \(url)\n".utf8), path: "s"))
        #expect(settings.values.publicURL == url)
    }

    /// `make test-sanitize` could start no server: one took the variable that tells tests of the sanitizer for a setting.
    @Test func `let servers start under the variables that this package's own scripts set`() async throws {
        let found = try await checkProcess([
            "grep", "-rhoE", "export [^;]*CARREL_[A-Z_]+|^[[:space:]]*@CARREL_[A-Z_]+", "\(Repository.path)/scripts",
            "\(Repository.path)/.ci",
            "\(Repository.path)/Makefile",
        ])
        let names = found.split { !($0.isLetter || $0 == "_") }.map(String.init).filter { $0.hasPrefix("CARREL_") }
        #expect(Set(names).isSuperset(of: ["CARREL_BENCH", "CARREL_FIXTURES", "CARREL_LONG", "CARREL_SANITIZER"]), "\(names)")
        for name in names { #expect(ServeSettings.otherVariables.contains(name), "\(name)") }
    }

    /// A server did not start where the passphrase of a reader's vault was in the environment.
    @Test func `let servers start under the variables of other commands`() async throws {
        let found = try await checkProcess([
            "grep", "-rhoE", "\"CARREL_[A-Z0-9_]+\"", "\(Repository.path)/Sources/Command/carrel",
        ])
        let names = found.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
        #expect(names.contains("CARREL_VAULT_PASSPHRASE"))
        for name in names { #expect(ServeSettings.otherVariables.contains(name), "\(name)") }
    }

    private struct NoFile: Error {
        let path: String
    }

    private static func reference() throws -> String {
        var lines = [
            "# Settings", "",
            "Generated from the table in `ServeSettings.swift`; a test compares them. A setting can be set in the file `carrel.conf` of the",
            "home (`http.port = 8080`), in the environment (`CARREL_HTTP_PORT`) or by a flag of `carrel serve` (`--http-port`). Flags override",
            "the environment, the environment overrides the file, and the file overrides the default. An unknown name is an error.",
            "`carrel config check` shows each value and its source, `carrel config sample` prints a file.",
            "",
            "The home is not chosen by a setting: use `--home` or `CARREL_HOME`, `--environment` or `CARREL_ENVIRONMENT` (`live`, `qa`),",
            "`--database` or `CARREL_DATABASE` (PostgreSQL instead of the file in the home).",
        ]
        lines += rows(ServeSettings.settings, try LoadedSettings<ServeSettings>().explain())
        lines += [
            "", "# Settings of an upstream system", "",
            "In the file `upstream/NAME.conf` of the home, for a NAME in `subscription.sources` (docs/upstream.md). They cannot be set elsewhere.",
            "`carrel config sample --upstream` prints such a file.",
        ]
        let defaults = try LoadedSettings<UpstreamFile>(
            file: SettingsFile(Array("upstream.url = https://subs.example.org/".utf8), path: "sample")
        )
        lines += rows(UpstreamFile.settings, defaults.explain(), isFileOnly: true)
        lines += [
            "", "# Settings of a relay", "",
            "In the file `relay/NAME.conf` of the home (docs/relay.md). They cannot be set elsewhere.",
            "`carrel config sample --relay` prints such a file.",
        ]
        let key = String(repeating: "00", count: 32)
        let relay =
            "relay.url = https://drm.example.org/\nrelay.key-id = 11111111-2222-3333-4444-555555555555\nrelay.key = \(key)"
        let relays = try LoadedSettings<RelayFile>(file: SettingsFile(Array(relay.utf8), path: "sample"))
        lines += rows(RelayFile.settings, relays.explain(), isFileOnly: true)
        return lines.joined(separator: "\n") + "\n"
    }

    private static func rows<Table>(
        _ settings: [Setting<Table>],
        _ explanations: [SettingExplanation],
        isFileOnly: Bool = false
    ) -> [String] {
        var lines: [String] = []
        var part: Substring = ""
        for (setting, row) in zip(settings, explanations) {
            let first = row.name.prefix { $0 != "." }
            if first != part { lines += ["", "## \(first)"] }
            part = first
            let builtIn = row.builtIn.map { $0.isEmpty ? "none" : "`\($0)`" } ?? "none"
            var facts = ["default \(builtIn)"]
            if !isFileOnly { facts += ["`\(row.environmentName)`"] + row.flags.map { "`\($0)`" } }
            if let allowed = setting.allowed { facts.insert(allowed, at: 0) }
            if !setting.choices.isEmpty { facts.insert("one of \(setting.choices.joined(separator: ", "))", at: 0) }
            if setting.isList { facts.insert("several, separated by commas", at: 0) }
            lines += ["", "### `\(row.name)`", row.help, "", facts.joined(separator: " · ")]
        }
        return lines
    }
}
