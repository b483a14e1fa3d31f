// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelSettings
import CarrelTesting
import Glibc
import Testing

struct `A settings file` {
    @Test func `says one setting a line`() throws {
        let settings = try load(
            """
            # the whole library
            http.host = 0.0.0.0     # everywhere
            http.port=80

            \thttp.compress\t=\tno
            access.mode = session
            lease.duration = 10m
            cache.size = 1.5GB
            motto = Read & listen, #1 in town
            database.password = "p#a \\"ss\\\\word\\""
            http.trusted-proxies = 10.0.0.1, "10.0.0.2" ,10.0.0.3 # three
            """
        ).values
        #expect(settings.http.host == "0.0.0.0")
        #expect(settings.http.port == 80)
        #expect(settings.http.compress == false)
        #expect(settings.access == .session)
        #expect(settings.lease == .seconds(600))
        #expect(settings.cache.bytes == 1_500_000_000)
        #expect(settings.motto == "Read & listen,", "a number sign after a blank begins a comment")
        #expect(settings.password == #"p#a "ss\word""#)
        #expect(settings.http.trustedProxies == ["10.0.0.1", "10.0.0.2", "10.0.0.3"])
    }

    @Test(arguments: [
        ("motto = a#b", "a#b"), ("motto = \"\"", ""), ("motto = \"a\"#b", "a"), ("motto = \"a\\tb\\nc\"", "a\tb\nc"),
        ("motto = it's = that", "it's = that"), ("motto = a\r\nhttp.port = 1\r\n", "a"), ("\u{feff}motto = a", "a"),
        ("motto = é", "é"),
    ])
    func `keeps a value as written`(text: String, value: String) throws {
        #expect(try load(text).values.motto == value)
    }

    @Test func `a list may be emptied`() throws {
        #expect(try load("http.trusted-proxies = \"\"").values.http.trustedProxies == [])
        #expect(try load().values.http.trustedProxies == ["127.0.0.1"])
    }

    @Test(
        arguments: [
            ("http.prot = 1", "settings.unknown", "there is no setting 'http.prot'", "did you mean 'http.port'?"),
            ("[http]", "settings.syntax", "sections are not used", nil),
            ("http.port 80", "settings.syntax", "the line has no '='", nil),
            ("= 80", "settings.syntax", "the text before '=' is not the name of a setting", nil),
            ("http port = 80", "settings.syntax", "the text before '=' is not the name of a setting", nil),
            ("http.port =", "settings.syntax", "http.port: there is no value", "write \"\" for an empty one"),
            ("http.port = # 80", "settings.syntax", "http.port: there is no value", "write \"\" for an empty one"),
            ("motto = \"a", "settings.syntax", "motto: a quote is not closed", nil),
            ("motto = \"a\" b", "settings.syntax", "motto: text follows a closing quote", nil),
            ("motto = \"\\x\"", "settings.syntax", "motto: a backslash precedes a character that needs none", nil),
            ("motto = a\u{1}b", "settings.syntax", "the line holds a control character", nil),
            ("http.trusted-proxies = a,,b", "settings.syntax", "http.trusted-proxies: a value is missing beside a comma", nil),
            ("http.trusted-proxies = a,", "settings.syntax", "http.trusted-proxies: a value is missing beside a comma", nil),
            ("http.port = 70000", "settings.bad-value", "http.port: '70000' is too large a number", nil),
            ("lease.duration = 1s", "settings.bad-value", "lease.duration: '1s' is not in the range 10s to 1h", nil),
            (
                "access.mode = sesion", "settings.bad-value", "access.mode: 'sesion' is not one of order-url, session",
                "did you mean 'session'?"
            ),
            ("lease.grace = 1h", "settings.contradiction", "lease.grace is longer than the lease", nil),
        ] as [(String, String, String, String?)]
    )
    func `says what is wrong in which line`(line: String, code: String, message: String, hint: String?) throws {
        let error = #expect(throws: SettingsError.self) { try load("# first\n\n\(line)\n") }
        let problem = try #require(error?.problems.first)
        #expect(error?.problems.count == 1)
        #expect(problem.code.identifier == code)
        #expect(problem.origin == .file(path: "carrel.conf", line: 3))
        #expect(problem.message == message)
        if let hint { #expect(problem.hint == hint) }
        #expect(error?.message == "carrel.conf:3: \(message)")
        #expect(error?.exitStatus == .badSettings)
    }

    @Test func `reports all mistakes together`() {
        let error = #expect(throws: SettingsError.self) {
            try load("http.port = x\nhttp.port = 1\nnonsense\nmoto = a\n", ["CARREL_LEASE_GRACE": "x"])
        }
        #expect(
            error?.problems.map { "\($0.origin) \($0.code.identifier)" } == [
                "carrel.conf:1 settings.bad-value", "carrel.conf:2 settings.repeated", "carrel.conf:3 settings.syntax",
                "carrel.conf:4 settings.unknown", "CARREL_LEASE_GRACE settings.bad-value",
            ]
        )
        #expect(error?.hint == "4 more: 'carrel config check' tells them all")
    }

    @Test func `bytes that are not UTF-8 are an error in their line`() throws {
        let error = #expect(throws: SettingsError.self) {
            try LoadedSettings<Library>(file: SettingsFile(Array("http.port = 1\nmotto = ".utf8) + [0xff, 10], path: "x"))
        }
        #expect(error?.message == "x:2: the line is not UTF-8")
    }

    @Test func `a secret is never told`() throws {
        let text = "database.password = \"hunter2\" extra\n"
        let error = #expect(throws: SettingsError.self) { try load(text) }
        #expect(error?.problems.contains { "\($0)".contains("hunter2") } == false)
        let settings = try load("database.password = hunter2\n")
        #expect(!"\(settings.explain())\(settings.table)\(settings.json)".contains("hunter2"))
    }

    @Test func `is read from a disk, and missing is not wrong`() throws {
        let directory = TemporaryDirectory()
        #expect(try SettingsFile.read(directory.file("carrel.conf")) == nil)
        let path = directory.write("carrel.conf", "http.port = 1\ndatabase.password = x\n")
        unsafe chmod(path, 0o600)
        #expect(try LoadedSettings<Library>(file: SettingsFile.read(path)).warnings == [])
        unsafe chmod(path, 0o644)
        let settings = try LoadedSettings<Library>(file: SettingsFile.read(path))
        #expect(settings.values.http.port == 1)
        #expect(settings.warnings.count == 1 && settings.warnings[0].contains("chmod 600"))
        #expect(settings.origin("http.port") == .file(path: path, line: 1))
        let folder = #expect(throws: SettingsError.self) { try SettingsFile.read(directory.path) }
        #expect(folder?.problems.first?.code == .unreadable)
        let large = #expect(throws: SettingsError.self) { try SettingsFile.read(path, limit: 10) }
        #expect(large?.message.hasSuffix("File too large") == true)
    }

    @Test func `the sample says every setting and changes nothing`() throws {
        let sample = Library.sampleFile
        for setting in Library.settings { #expect(sample.contains("\n# \(setting.name) = ")) }
        #expect(try load(sample).explain().allSatisfy { $0.origin == .builtIn })
        let defaults = Library.settings.filter { !$0.isSecret && $0.name != "motto" }
        var active = sample
        for setting in defaults { active = active.replacing("\n# \(setting.name) =", with: "\n\(setting.name) =") }
        let settings = try load(active)
        #expect(
            settings.explain().map(\.value) == (try load().explain().map(\.value)),
            "the defaults as written are the defaults"
        )
        #expect(settings.explain().filter { $0.origin != .builtIn }.count == defaults.count)
    }
}
