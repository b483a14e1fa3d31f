// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelJSON
import CarrelTesting
import Testing

struct `Command line` {
    @Test(arguments: [
        (["add", "a"], "home=. kind=audiobook chapter=10m limit=none tags=[] check=true dryRun=false offset=0"),
        (["add", "--home", "x", "a"], "home=x kind=audiobook chapter=10m limit=none tags=[] check=true dryRun=false offset=0"),
        (["add", "--home=x=y", "a"], "home=x=y kind=audiobook chapter=10m limit=none tags=[] check=true dryRun=false offset=0"),
        (["add", "--home=", "a"], "home= kind=audiobook chapter=10m limit=none tags=[] check=true dryRun=false offset=0"),
        (["add", "-k", "ebook", "a"], "home=. kind=ebook chapter=10m limit=none tags=[] check=true dryRun=false offset=0"),
        (["add", "-kebook", "a"], "home=. kind=ebook chapter=10m limit=none tags=[] check=true dryRun=false offset=0"),
        (["add", "-k=ebook", "a"], "home=. kind=ebook chapter=10m limit=none tags=[] check=true dryRun=false offset=0"),
        (
            ["add", "-t", "x", "--tag=y", "-tz", "a"],
            "home=. kind=audiobook chapter=10m limit=none tags=[\"x\", \"y\", \"z\"] check=true dryRun=false offset=0"
        ),
        (
            ["add", "--no-check", "-n", "a"],
            "home=. kind=audiobook chapter=10m limit=none tags=[] check=false dryRun=true offset=0"
        ),
        (["add", "a", "-nl4KiB"], "home=. kind=audiobook chapter=10m limit=4KiB tags=[] check=true dryRun=true offset=0"),
        (
            ["add", "--offset", "-5", "a"],
            "home=. kind=audiobook chapter=10m limit=none tags=[] check=true dryRun=false offset=-5"
        ),
        (["add", "-o-5", "a"], "home=. kind=audiobook chapter=10m limit=none tags=[] check=true dryRun=false offset=-5"),
    ])
    func `takes options in every spelling`(words: [String], expected: String) async {
        let (status, results, _) = await shelf(words)
        #expect(status == .success)
        #expect(results.hasPrefix("\(expected) "), "\(results)")
    }

    @Test(arguments: [
        (["add", "a", "b", "c"], #"["a", "b", "c"]"#),
        (["add", "a", "-n", "b"], #"["a", "b"]"#),
        (["add", "--", "-n", "--", "b"], #"["-n", "--", "b"]"#),
        (["add", "-", "-7"], #"["-", "-7"]"#),
    ])
    func `takes arguments before, between and after options`(words: [String], expected: String) async {
        #expect(await shelf(words).results.contains("paths=\(expected)"))
    }

    @Test func `runs a command of another place as an alias that no list has`() async {
        #expect(await shelf(["order", "add", "a"]).results.contains(#"paths=["a"]"#))
        #expect(await shelf(["order", "--help"]).results.contains("add") == false)
        #expect(await shelf(["order", "add", "--help"]).results.contains("Put books on the shelf."))
        #expect(await shelf(["order", "add", "--bad"]).notes.contains("'shelf order add' has no option '--bad'"))
        #expect(Shelf.program.description.problems.isEmpty)
    }

    @Test func `suggests the command for a word of the trade`() async {
        let lend = await shelf(["lend", "tale"])
        #expect(lend.status == .usage && lend.notes.contains("hint: did you mean 'shelf order create'?"))
        #expect(await shelf(["ordr"]).notes.contains("did you mean 'order'?"))
    }

    @Test(arguments: [["order", "edit", "--help"], ["nothing", "-h"], ["order", "edit", "x", "--help"]])
    func `refuses to explain a command that there is not`(_ words: [String]) async {
        let refused = await shelf(words)
        #expect(refused.status == .usage && refused.results == "" && refused.notes.contains("is not a command of 'shelf"))
    }

    @Test func `explains a command whose arguments come before the question`() async {
        #expect(await shelf(["add", "a", "b", "--help"]).results.contains("Put books on the shelf."))
    }

    @Test func `tells errors as one line of JSON where results are JSON`() async throws {
        func error(_ words: [String]) async throws -> JSON {
            let (status, results, notes) = await shelf(words)
            #expect(results == "" && notes.split(separator: "\n").count == 1)
            let bytes = Array(notes.utf8)
            let error = try #require(try JSON.parse(bytes.rawSpan)["error"])
            #expect(error["status"]?.int == Int(status.rawValue))
            return error
        }
        let usage = try await error(["add", "--json", "--bad"])
        #expect(usage["code"] == "usage.unknown-option" && usage["message"] == "'shelf add' has no option '--bad'")
        #expect(usage["hint"]?.string?.isEmpty == false)
        let broken = try await error(["fail", "--json"])
        #expect(broken["status"] == 64)
        #expect(await shelf(["add", "--bad", "--", "--json"]).notes.hasPrefix("shelf: error: "))
    }

    @Test func `a flag about output is known before the command runs`() async {
        let loud = await shelf(["add", "a"])
        #expect(loud.notes == "adding 1\n")
        let quiet = await shelf(["add", "-nq", "a"])
        #expect(quiet.notes == "")
        #expect(quiet.results.contains("dryRun=true") && quiet.results.contains("quiet=true"))
    }

    @Test func `the environment counts where the option is not written`() async {
        #expect(await shelf(["add", "a"], environment: ["SHELF_HOME": "there"]).results.hasPrefix("home=there "))
        #expect(
            await shelf(["add", "a", "--home", "here"], environment: ["SHELF_HOME": "there"]).results.hasPrefix("home=here ")
        )
        #expect(await shelf(["add", "a"], environment: ["SHELF_HOME": ""]).results.hasPrefix("home=. "))
    }

    @Test func `what it does not understand it says, with a hint and status 64`() async throws {
        var transcript = Transcript()
        await transcript.run()
        await transcript.run("ordr", "create")
        await transcript.run("order")
        await transcript.run("order", "--title", "x", "create")
        await transcript.run("order", "crate")
        await transcript.run("order", "frobnicate")
        await transcript.run("add")
        await transcript.run("add", "--hom", "x", "a")
        await transcript.run("add", "--frobnicate", "a")
        await transcript.run("add", "-nx", "a")
        await transcript.run("add", "-home", "x", "a")
        await transcript.run("add", "--home")
        await transcript.run("add", "--home", "--kind", "ebook", "a")
        await transcript.run("add", "-k", "-n", "a")
        await transcript.run("add", "--dry-run=yes", "a")
        await transcript.run("add", "-n", "--dry-run", "a")
        await transcript.run("add", "--check", "--no-check", "a")
        await transcript.run("add", "--kind", "audiobok", "a")
        await transcript.run("add", "--chapter", "10", "a")
        await transcript.run("add", "--chapter", "10ms", "a")
        await transcript.run("add", "--offset", "90", "a")
        await transcript.run("add", "--offset", "soon", "a")
        await transcript.run("add", "--limit", "much", "a")
        await transcript.run("order", "create")
        await transcript.run("order", "create", "-t", "1", "ada", "bob")
        await transcript.run("order", "create", "-t", "1", "--from", "yesterday")
        await transcript.run("order", "create", "-t", "1", "--from", "2026-02-30")
        await transcript.run("order", "create", "-t", "1", "--from", "2026-02-03", "--until", "2026-02-02T23:59:59Z")
        await transcript.run("order", "list", "all")
        await transcript.run("help", "order", "crate")
        await transcript.run("completions", "tcsh")
        try expectGolden("usage.txt", transcript.text)
        let failures = transcript.text.split(separator: "\n").filter { $0 == "[64]" }.count
        #expect(failures == 31, "every line above is wrong")
    }

    @Test func `results and failures read as they should`() async throws {
        var transcript = Transcript()
        await transcript.run(
            "order",
            "create",
            "--title=7",
            "ada",
            "--from",
            "2026-02-01",
            "--until",
            "2026-03-01T12:00:00+01:00"
        )
        await transcript.run("order", "list")
        await transcript.run("fail")
        await transcript.run("fail", "--plainly")
        try expectGolden("results.txt", transcript.text)
    }

    @Test func `a mistake is known by its code`() {
        #expect(UsageError(.badValue, "one") == UsageError(.badValue, "another"))
        #expect(UsageError(.badValue, "one") != UsageError(.missingValue, "one"))
        #expect(UsageError.Code.unknownOption.identifier == "usage.unknown-option")
    }

    @Test func `the tables are sound`() {
        #expect(Shelf.program.description.problems == [])
        #expect(
            Program(Unsound.self, version: "1").description.problems == [
                "unsound: '-p' is there twice", "unsound: '--h' is not the name of an option", "unsound: '-h' is taken",
                "unsound: <all> leaves nothing to the next", "unsound: <one> must be there and <all> before it need not",
                "unsound: the help of -p is not a sentence", "unsound: the abstract is not a sentence",
            ]
        )
    }

    private struct Unsound: Command {
        var flag = false
        var text = ""
        var texts: [String] = []
        static let name = "unsound"
        static let abstract = "is unsound"
        static let parameters: [Parameter<Self>] = [
            .flag(\.flag, "-p", help: "A flag"), .option(\.text, "--port", "-p", help: "Text."),
            .option(\.text, "--h", "-h", help: "Text."), .positional(\.texts, "all", help: "All."),
            .positional(\.text, "one", help: "One."),
        ]
    }
}
