// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelTesting
import Testing

struct `Help` {
    @Test func `explains the program, its groups and its commands`() async throws {
        var transcript = Transcript()
        await transcript.run("--help")
        await transcript.run("order", "-h")
        await transcript.run("help", "order", "create")
        await transcript.run("add", "--help")
        await transcript.run("--version")
        try expectGolden("help.txt", transcript.text)
    }

    @Test func `fits a narrow terminal`() async throws {
        var transcript = Transcript(columns: 44)
        await transcript.run("add", "--help")
        try expectGolden("help-narrow.txt", transcript.text)
        let lines = transcript.text.split(separator: "\n").filter { !$0.contains("$ ") }
        #expect(lines.allSatisfy { $0.count <= 44 }, "\(lines.filter { $0.count > 44 })")
    }

    @Test func `of a group is what its name with arguments and --help gives`() async {
        let long = await shelf(["order", "create", "someone", "--help"]).results
        let short = await shelf(["help", "order", "create"]).results
        #expect(long == short)
    }

    @Test func `dashes after a double dash are words`() async {
        #expect(await shelf(["add", "--", "--help"]).results.contains(#"paths=["--help"]"#))
    }

    @Test func `is a manual page for man`() async throws {
        let page = await shelf(["help", "--format", "man"])
        try expectGolden("shelf.1", page.results)
    }

    @Test func `groff formats the manual page without a complaint`() async throws {
        let page = await shelf(["help", "--format", "man"]).results
        let groff = try requirePeer("groff")
        let result = try await runProcess([groff, "-man", "-Tascii", "-ww", "-z"], input: Array(page.utf8))
        #expect(result.status.isSuccess)
        #expect(result.errorText == "")
    }

    @Test func `is a table for machines`() async throws {
        let dump = await shelf(["help", "--format", "json"])
        try expectGolden("commands.json", dump.results)
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `completions are a script for the shell`(shell: String) async throws {
        try expectGolden("completions.\(shell)", await shelf(["completions", shell]).results)
    }
}
