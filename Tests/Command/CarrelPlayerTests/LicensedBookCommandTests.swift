// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import ProtectedPublications
import Testing

/// `carrel open`, `manifest`, `cat` and `read` of a book in a DCF, with a server, a player and its vault.
@Suite(.serialized) struct `Commands for a licensed book` {
    private let directory = TemporaryDirectory()
    private let environment = ["CARREL_VAULT_PASSPHRASE": "correct horse", "PATH": "/usr/bin:/bin"]
    private static let kid = "0f7a2b6c5d4e4f3a8b9c0d1e2f3a4b5c"
    private static let key = "166634c675823c235a4a9446fad52e4d"

    private func carrel(_ words: String...) async throws -> ProcessResult {
        try await runProcess([DemoServer.program] + words, environment: environment, directory: directory.path)
    }

    private func json(_ result: ProcessResult) throws -> JSON {
        let bytes = Array(result.text.utf8)
        return try JSON.parse(bytes.rawSpan)
    }

    /// Packages a book, and makes a token for it.
    private func prepare(_ site: AdminSite, _ terms: String = "") async throws -> (book: String, token: String) {
        _ = try await ProtectedPublication.epub(at: directory.file("book.epub"), chapters: 2)
        let keys = "\(Self.kid):\(Self.key)"
        let made = try await carrel("package", "book.epub", "--scheme", "dcf", "--key", keys, "--output", "out")
        #expect(made.status.isSuccess, "\(made.errorText)")
        let key = try await DemoServer.json(["key", "create", "--role", "service", "--home", site.home, "--json"])
        let form =
            "customerAuthenticator=\(key["id"]?.string ?? ""),\(key["key"]?.string ?? "")&actionTokenType=1&rightsType=BuyToOwn"
            + "&contentId=cid:\(Self.kid)&contentKey=\(Self.key)&kid=\(Self.kid)"
            + "&outputControlOverride=urn:marlin:organization:intertrust:wudo,ImageConstraintLevel,0" + terms
        let token = try await checkProcess(["curl", "-sS", "-d", form, "\(site.url)/hms/bb/token"])
        #expect(token.contains("<ActionToken"), "\(token)")
        return (directory.file("out/book.epub.dcf"), directory.write("token.xml", Array(token.utf8)))
    }

    private func plays(_ home: String) async throws -> Int {
        let list = try json(try await carrel("license", "list", "--home", home, "--json"))
        return try #require(list["licenses"]?.array?.first?["plays"]?.int)
    }

    @Test func `open it under a stored license, and count its first read`() async throws {
        let site = try await AdminSite()
        let (book, token) = try await prepare(site)
        let home = directory.file("reader")
        let closed = try await carrel("open", book, "--home", home, "--json")
        #expect(closed.status == .exited(0), "\(closed.errorText)")
        let before = try json(closed)
        #expect(before["protection"] == "Carrel" && before["isRestricted"] == true)
        #expect(before["error"]?.string?.contains("there is no player") == true)
        let advice = "run 'carrel device personalize --server URL' first"
        #expect(before["hint"]?.string == advice)
        #expect(try await carrel("open", book, "--home", home).text.contains(advice))
        for command in ["manifest", "read"] {
            #expect(try await carrel(command, book, "--home", home).errorText.contains(advice), "\(command)")
        }
        let unread = try await carrel("cat", book, "OEBPS/chapter-0.xhtml", "--home", home)
        #expect(unread.errorText.contains("no player") && unread.errorText.contains(advice), "\(unread.errorText)")
        #expect(try await carrel("cat", book, "OEBPS/chapter-0.xhtml", "--home", home).status == .exited(77))
        #expect(try await carrel("read", book, "--home", home).status == .exited(77))
        let player = try await carrel("device", "personalize", "--server", site.url, "--vault", "file", "--home", home)
        #expect(player.status.isSuccess, "\(player.errorText)")
        let redeemed = try await carrel("token", "redeem", token, "--home", home)
        #expect(redeemed.status.isSuccess, "\(redeemed.errorText)")
        let open = try json(try await carrel("open", book, "--home", home, "--json"))
        #expect(open["protection"] == "Carrel" && open["isRestricted"] == false && open["error"] == .null)
        #expect(open["metadata"]?["title"] == "A long book")
        #expect(try await carrel("manifest", book, "--home", home).text.contains("OEBPS/chapter-1.xhtml"))
        #expect(try await plays(home) == 0)
        let chapter = try await carrel("cat", book, "OEBPS/chapter-0.xhtml", "--home", home)
        #expect(chapter.status.isSuccess && chapter.text.contains("<html"), "\(chapter.errorText)")
        #expect(try await plays(home) == 1)
        let process = try BackgroundProcess([DemoServer.program, "read", book, "--home", home], environment: environment)
        _ = try await process.waitForLine(containing: "http://127.0.0.1:")
        #expect(await process.terminate() == .exited(0))
        // a clear publication needs no vault
        let clear = try await runProcess(
            [DemoServer.program, "open", directory.file("book.epub"), "--home", home, "--json"],
            environment: ["PATH": "/usr/bin:/bin"]
        )
        #expect(clear.status.isSuccess)
        let locked = try await runProcess(
            [DemoServer.program, "open", book, "--home", home, "--json"],
            environment: ["PATH": "/usr/bin:/bin"]
        )
        #expect(locked.status == .exited(0) && locked.text.contains("the vault needs a passphrase"), "\(locked.text)")
        await site.stop()
    }

    @Test func `write no resource under a watermark that must be shown, and write it if it need not be`() async throws {
        let site = try await AdminSite()
        let (book, token) = try await prepare(site, "&watermark=Alice")
        let home = directory.file("reader")
        let player = try await carrel("device", "personalize", "--server", site.url, "--vault", "file", "--home", home)
        #expect(player.status.isSuccess, "\(player.errorText)")
        #expect(try await carrel("token", "redeem", token, "--home", home).status.isSuccess)
        let denied = try await carrel("cat", book, "OEBPS/chapter-0.xhtml", "--home", home)
        #expect(denied.status == .exited(77) && denied.output.isEmpty, "\(denied.errorText)")
        #expect(denied.errorText.contains("demands something that this program does not do"), "\(denied.errorText)")
        // commands that show the watermark, or nothing, open it
        #expect(try json(try await carrel("open", book, "--home", home, "--json"))["isRestricted"] == false)
        #expect(try await plays(home) == 0)
        for (action, isGranted) in [("read", true), ("copy", true), ("play", false), ("export", false)] {
            let words = ["cid:\(Self.kid)", "--action", action, "--open-output", "--home", home, "--json"]
            let decision = try await runProcess([DemoServer.program, "license", "evaluate"] + words, environment: environment)
            #expect(try json(decision)["granted"] == .bool(isGranted), "\(action): \(decision.text)")
        }
        // the service makes it advisory, as it does for no license of its own accord
        let change = """
            import sqlite3, sys
            home = sqlite3.connect(sys.argv[1])
            home.execute("UPDATE licenses SET obligations = replace(obligations, ?, ?)", ('"critical":true', '"critical":false'))
            home.commit()
            """
        try await checkProcess(["python3", "-c", change, "\(site.home)/carrel.db"])
        let list = try json(try await carrel("license", "list", "--home", home, "--json"))
        let license = try #require(list["licenses"]?.array?.first?["id"]?.string)
        let renewed = try await carrel("license", "renew", license, "--home", home)
        #expect(renewed.status.isSuccess, "\(renewed.errorText)")
        let written = try await carrel("cat", book, "OEBPS/chapter-0.xhtml", "--home", home)
        #expect(written.status.isSuccess && written.text.contains("<html"), "\(written.errorText)")
        #expect(try await plays(home) == 1)
        await site.stop()
    }

    @Test func `leave the vault closed if a key for everything is given`() async throws {
        let site = try await AdminSite()
        let (book, _) = try await prepare(site)
        let home = directory.file("reader")
        let player = try await carrel("device", "personalize", "--server", site.url, "--vault", "file", "--home", home)
        #expect(player.status.isSuccess, "\(player.errorText)")
        func proxy(_ more: String...) async throws -> ProcessResult {
            // no passphrase, and no terminal
            try await runProcess(
                [DemoServer.program, "proxy", book, "--home", home] + more,
                environment: ["PATH": "/usr/bin:/bin"],
                timeout: .seconds(30)
            )
        }
        let given = try await proxy("--key", "*:\(Self.key)")
        #expect(given.status == .exited(0) && given.text.hasPrefix("http://127.0.0.1:"), "\(given.errorText)")
        let locked = try await proxy()
        #expect(!locked.status.isSuccess && locked.errorText.contains("the vault needs a passphrase"), "\(locked.errorText)")
        await site.stop()
    }

    @Test func `never write a byte without its count, whenever they are killed`() async throws {
        let site = try await AdminSite()
        let (book, token) = try await prepare(site)
        let home = directory.file("reader")
        let player = try await carrel("device", "personalize", "--server", site.url, "--vault", "file", "--home", home)
        #expect(player.status.isSuccess, "\(player.errorText)")
        #expect(try await carrel("token", "redeem", token, "--home", home).status.isSuccess)
        let start = ContinuousClock.now
        #expect(try await carrel("cat", book, "OEBPS/chapter-0.xhtml", "--home", home).status.isSuccess)
        let whole = Int((ContinuousClock.now - start) / .milliseconds(1))
        var written = 0
        for step in 0..<24 {
            let out = directory.file("out-\(step)")
            let before = try await plays(home)
            // the last one has the time to end by itself
            let milliseconds = step == 23 ? 3 * whole + 1000 : whole * step / 20
            let delay = "\(milliseconds / 1000).\(String(1000 + milliseconds % 1000).dropFirst())"
            let script = """
                "$0" cat "$1" OEBPS/chapter-0.xhtml --home "$2" > "$3" 2>/dev/null & pid=$!; sleep "$4"; kill -9 $pid 2>/dev/null; wait $pid
                """
            _ = try await runProcess(
                ["bash", "-c", script, DemoServer.program, book, home, out, delay],
                environment: environment
            )
            let hasBytes = directory.read("out-\(step)")?.isEmpty == false
            if hasBytes { written += 1 }
            // one use, which may be counted without a byte; a byte never comes without its count
            let counted = try await plays(home) - before
            #expect(hasBytes ? counted == 1 : counted == 0 || counted == 1, "killed after \(delay) s: \(counted) plays")
        }
        #expect(written > 0)
        await site.stop()
    }
}
