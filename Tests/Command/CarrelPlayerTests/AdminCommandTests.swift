// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

/// Every action of the administrator's page has a command.
struct `The commands of an administrator` {
    /// Actions of browsers only: signing in and out at the page.
    private static let browserOnly: Set<String> = [
        "GET /admin/v1/session", "POST /admin/v1/session", "DELETE /admin/v1/session", "POST /admin/v1/setup",
    ]
    /// Requests that `carrel ingest` replaces by work in the home itself, without uploads; and its requests after a failure.
    private static let uploads: Set<String> = [
        "POST /admin/v1/titles", "POST /admin/v1/editions", "PUT /admin/v1/titles/{title}/cover",
        "POST /admin/v1/accessions/take-back",
    ]
    /// The actions of `carrel receipt` on signed transactions, which have their own tests.
    private static let receipts: Set<String> = [
        "GET /admin/v1/accounts/{account}/receipts", "POST /admin/v1/accounts/{account}/receipts",
        "DELETE /admin/v1/accounts/{account}/receipts/{environment}/{original}",
    ]

    /// The actions of `carrel relay`, which has its own tests: a relay is a file in the home.
    private static let relays: Set<String> = ["GET /admin/v1/relays", "POST /admin/v1/relays/{name}/messages"]

    /// The requests of an access log, as the API's document writes them.
    private func requests(_ log: String) throws -> Set<String> {
        var found: Set<String> = []
        for line in log.split(separator: "\n") where line.hasPrefix("{\"time\"") {
            let record = try JSON.parse(Array(line.utf8).rawSpan)
            guard let method = record["method"]?.string, let route = record["route"]?.string else { continue }
            let status = record["status"]?.int ?? 0
            #expect((200...299).contains(status), "\(line)")
            // Orders have an address of their own for shops; both are one thing.
            found.insert("\(method) /" + (route.hasPrefix("v1/orders") ? "admin/\(route)" : route))
        }
        return found
    }

    @Test func `have the service's code in an error for programs`() async throws {
        let directory = TemporaryDirectory()
        let home = directory.file("home")
        try await checkProcess([DemoServer.program, "init", "--home", home])
        let refused = try await runProcess([DemoServer.program, "order", "show", "none", "--home", home, "--json"])
        let problem = try JSON.parse(Array(refused.errorText.utf8).rawSpan)
        #expect(problem["error"]?["code"] == "request.not-found" && !refused.status.isSuccess, "\(refused.errorText)")
    }

    @Test func `do all that the administrators' interface offers`() async throws {
        let directory = TemporaryDirectory()
        let home = directory.file("home")
        let server = try BackgroundProcess([
            DemoServer.program, "serve", "--home", home, "--port", "0", "--canned-users",
        ])
        let url = try await server.waitForLine(containing: "listening on http").split(separator: " ").last.map(String.init) ?? ""
        func carrel(_ words: String..., input: String = "") async throws -> String {
            try await checkProcess([DemoServer.program] + words + ["--home", home], input: Array(input.utf8))
        }
        func id(_ words: String...) async throws -> String {
            let made = try await DemoServer.json(words + ["--home", home, "--json"])
            return try #require(made["id"]?.string, "\(words)")
        }
        func first(_ list: String, _ words: String..., field: String = "id") async throws -> String {
            let found = try await DemoServer.json(words + ["--home", home, "--json"])
            return try #require(found[list]?.array?.first?[field]?.string, "\(words)")
        }

        let sound = directory.file("tone.mp3")
        try await checkProcess([
            "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=duration=5", "-c:a", "libmp3lame", sound,
        ])
        let page = Array("<!doctype html><title>Issue</title>".utf8)
        try await checkProcess(["mkdir", directory.file("issue")])
        directory.write("issue/index.html", page)
        _ = try await carrel("ingest", sound)
        _ = try await carrel("ingest", directory.file("issue"), "--product-id", "issue-1")

        let title = try await first("titles", "title", "list")
        _ = try await carrel("title", "show", title)
        _ = try await carrel("edition", "list")
        _ = try await carrel("edition", "show", "issue-1")
        _ = try await carrel("edition", "set", "issue-1", "--price", "free")
        _ = try await carrel("edition", "withdraw", "issue-1")
        _ = try await carrel("edition", "publish", "issue-1")

        _ = try await carrel("account", "create", "alice", "--password-stdin", input: "correct horse battery\n")
        _ = try await carrel("account", "list")
        _ = try await carrel("account", "show", "alice")
        _ = try await carrel("account", "suspend", "alice")
        _ = try await carrel("account", "resume", "alice")
        _ = try await carrel("account", "password", "alice", input: "another horse battery\n")
        _ = try await carrel("account", "sign-in-link", "alice")
        _ = try await carrel("account", "create", "dora")
        #expect(try await carrel("account", "export", "dora").contains("dora"))
        _ = try await carrel("account", "erase", "dora")
        _ = try await carrel("account", "reset-link", "alice")
        _ = try await carrel("account", "token", "alice")
        let password = try await id("account", "app-password", "create", "alice", "e-reader", "--scope", "opds")
        _ = try await carrel("account", "app-password", "list", "alice")
        _ = try await carrel("account", "app-password", "revoke", "alice", password)
        _ = try await carrel("account", "identity", "link", "alice", "https://id.example", "a1")
        #expect(try await carrel("account", "identity", "list", "alice").contains("https://id.example"))
        _ = try await carrel("account", "identity", "unlink", "alice", "https://id.example", "a1")
        for device in ["phone", "tablet"] {
            try await checkProcess([
                "curl", "-sf", "\(url)/sign_in/?username=alice&password=another+horse+battery&uuid=\(device)",
            ])
        }
        try await players(url, directory, home)
        _ = try await carrel("token", "create", "--title", title, "--output", directory.file("token.xml"))
        let device = try await first("devices", "device", "list", "alice")
        _ = try await carrel("device", "rename", "alice", device, "Alice's own")
        #expect(try await carrel("device", "list", "alice").contains("Alice's own"))
        _ = try await carrel("account", "device-limit", "alice", "5")
        #expect(try await carrel("account", "show", "alice").contains("device limit: 5"))
        _ = try await carrel("account", "device-limit", "alice", "default")
        #expect(try await carrel("account", "history", "alice").hasPrefix("TITLE"))
        #expect(try await carrel("account", "history", "alice", "--csv").contains("Started (UTC)"))
        #expect(try await carrel("upstream", "show", "alice").contains("\"upstream\""))
        _ = try await carrel("upstream", "forget", "alice")
        _ = try await carrel("device", "revoke", "alice", try await first("devices", "device", "list", "alice"))
        _ = try await carrel("device", "reset", "alice")
        _ = try await carrel("account", "token", "alice")
        _ = try await carrel("session", "end", "alice", try await first("sessions", "session", "list"))
        _ = try await carrel("account", "token", "alice")
        let listed = try await first("sessions", "session", "list", "alice")
        #expect(try await carrel("session", "list").contains(listed))
        _ = try await carrel("session", "end", "alice", "--all")
        #expect(!(try await carrel("session", "list").contains(listed)))

        _ = try await carrel("plan", "create", "gold")
        _ = try await carrel("plan", "list")
        let held = try await id("plan", "grant", "alice", "gold")
        let given = try await id("plan", "give", "alice", "issue-1")
        #expect(try await carrel("explain", "alice", "issue-1").contains("granted"))
        #expect(try await carrel("explain", "alice").contains("gold"))
        _ = try await carrel("plan", "end", held)
        _ = try await carrel("plan", "revoke", held)
        _ = try await carrel("plan", "take-back", given)
        _ = try await carrel("credentials", "revoke", "--account", "alice")
        let cleared = try await carrel("throttle", "clear", "--account", "alice", "--network", "127.0.0.1", "--json")
        #expect(cleared.contains("\"cleared\""))
        _ = try await carrel("throttle", "clear", "--all")

        for verb in ["cancel", "return", "revoke"] {
            let order = try await id("order", "create", "--title", title, "--account", "alice", "--order-number", verb)
            _ = try await carrel("order", verb, order)
            _ = try await carrel("order", "show", order)
        }
        _ = try await carrel("order", "list")
        #expect(try await carrel("explain", "alice", title).contains("sale revoke"))
        #expect(try await carrel("explain", "activenone", "issue-1").contains("canned activenone"))

        _ = try await carrel("admin", "role", "alice", "support")
        #expect(try await carrel("admin", "list").contains("alice"))
        #expect(try await carrel("admin", "setup-link").contains("/admin/#setup="))
        _ = try await carrel("key", "list")
        _ = try await carrel("key", "revoke", try await id("key", "create", "--role", "service"))
        for words in [["show"], ["add"], ["rotate"], ["rotate-tickets"], ["rotate-credentials"], ["rotate-tokens"]] {
            _ = try await checkProcess([DemoServer.program, "keys"] + words + ["--home", home])
        }
        #expect(try await carrel("keys", "show").hasPrefix("master key 2\nnode "))
        #expect(try await carrel("blobs", "check", "--json").contains("\"damaged\""))
        #expect(try await carrel("audit", "list").contains("master-key.rotate"))
        #expect(try await carrel("audit", "verify").contains("all seals match"))
        let file = directory.file("audit.jsonl")
        #expect(try await carrel("audit", "archive", file).contains("entries in \(file)"))
        #expect(try await carrel("audit", "verify", "--archive", file).contains("\(file), all seals match"))
        #expect(try await carrel("status").hasPrefix("ready"))
        _ = try await carrel("check-canned-users", "activeall")

        let document = Array(try await checkProcess(["curl", "-sf", "\(url)/openapi.json"]).utf8)
        var offered: Set<String> = []
        for (path, operations) in try JSON.parse(document.rawSpan)["paths"]?.object ?? [:] where path.hasPrefix("/admin/") {
            for (method, _) in operations.object ?? [:] { offered.insert("\(method.uppercased()) \(path)") }
        }
        _ = await server.terminate()
        let asked = try requests(server.errors)
        let elsewhere = Self.browserOnly.union(Self.uploads).union(Self.receipts).union(Self.relays)
        let without = offered.subtracting(asked).subtracting(elsewhere)
        #expect(without.isEmpty, "there is no command for \(without.sorted())")
        #expect(offered.count > 50)
    }

    /// Staff actions on players and the certificate authority.
    private func players(_ url: String, _ directory: TemporaryDirectory, _ home: String) async throws {
        func carrel(_ words: String..., input: String = "") async throws -> String {
            try await checkProcess([DemoServer.program] + words + ["--home", home], input: Array(input.utf8))
        }
        let reader = directory.file("reader")
        let personalized = try await checkProcess(
            [DemoServer.program, "device", "personalize", "--server", url, "--home", reader, "--json"],
            environment: ["CARREL_VAULT_PASSPHRASE": "correct horse", "PATH": "/usr/bin:/bin"]
        )
        let answer = Array(personalized.utf8)
        let player = try #require(try JSON.parse(answer.rawSpan)["player"]?.string)
        #expect(try await carrel("player", "list").contains(player))
        try await certify(directory, home)
        #expect(try await carrel("player", "show", player).contains("passphrase"))
        try await license(reader, directory, home)
        #expect(try await carrel("player", "suspend", player).contains("suspended"))
        #expect(try await carrel("player", "resume", player).contains("active"))
        #expect(try await carrel("player", "revoke", player).contains("revoked"))
        #expect(try await carrel("player", "licenses", player).contains("ID"))
        #expect(try await carrel("player", "redemptions", player).contains("CONTENT"))
        #expect(try await carrel("player", "denials", player).contains("MEANING"))
        #expect(try await carrel("player", "streams", "alice").contains("0 of 3 streams"))
        let kid = "000102030405060708090a0b0c0d0e0f"
        _ = try await carrel("content-key", "add", kid, input: kid + "\n")
        #expect(try await carrel("content-key", "list").contains(kid))
        _ = try await carrel("content-key", "set", kid, "--clear-key")
        _ = try await carrel("content-key", "remove", kid)
        #expect(try await !carrel("content-key", "list").contains(kid))
        _ = try await carrel("communication-key", "add", kid, input: kid + kid + "\n")
        let communicationKeys = try await carrel("communication-key", "list")
        #expect(communicationKeys.contains("00010203-0405-0607-0809-0a0b0c0d0e0f") && communicationKeys.contains("this server"))
        _ = try await carrel("communication-key", "remove", kid)
        #expect(try await !carrel("communication-key", "list").contains("00010203"))
        let keys = try await carrel("pki", "show")
        #expect(keys.contains("license") && keys.contains("current") && keys.contains("SHA-256 fingerprint of the root: "))
        #expect(try await carrel("pki", "rotate", "license").contains("new key"))
        #expect(try await carrel("pki", "show").contains("replaced"))
        let file = directory.file("root.json")
        _ = try await carrel("pki", "export-root", file, input: "correct horse battery\n")
        #expect(try await checkProcess(["stat", "-c", "%a", file]) == "600\n")
        let removed = directory.file("removed.json")
        _ = try await carrel("pki", "export-root", removed, "--remove", input: "correct horse battery\n")
        _ = try await carrel("pki", "import-root", removed, input: "correct horse battery\n")
    }

    /// A token of a title is redeemed; its license is explained and revoked.
    private func license(_ reader: String, _ directory: TemporaryDirectory, _ home: String) async throws {
        let listed = try await DemoServer.json(["title", "list", "--json", "--home", home])
        let title = listed["titles"]?.array?.first { $0["kind"] != "edition" }?["id"]?.string ?? ""
        let words = ["token", "create", "--title", title, "--output", directory.file("redeemed.xml"), "--json", "--home", home]
        let token = try await DemoServer.json(words)["jwt"]?.string ?? ""
        let redeemed = try await checkProcess(
            [DemoServer.program, "token", "redeem", token, "--home", reader, "--json"],
            environment: ["CARREL_VAULT_PASSPHRASE": "correct horse", "PATH": "/usr/bin:/bin"]
        )
        let bytes = Array(redeemed.utf8)
        let license = try #require(try JSON.parse(bytes.rawSpan)["license"]?.string)
        func explanation() async throws -> String {
            try await checkProcess([DemoServer.program, "explain", "--license", license, "--home", home])
        }
        #expect(try await explanation().contains("license \(license): live"))
        _ = try await checkProcess([DemoServer.program, "player", "revoke-license", license, "--home", home])
        #expect(try await explanation().contains("staff revoked it"))
    }

    /// A device without a network gets its certificate in a file.
    private func certify(_ directory: TemporaryDirectory, _ home: String) async throws {
        let reader = directory.file("offline")
        func device(_ words: String..., status: Int32 = 0) async throws -> ProcessResult {
            let result = try await runProcess(
                [DemoServer.program, "device"] + words + ["--home", reader],
                environment: ["CARREL_VAULT_PASSPHRASE": "correct horse", "PATH": "/usr/bin:/bin"]
            )
            #expect(result.status == .exited(status), "\(words): \(result.errorText)")
            return result
        }
        let request = directory.write("request.jose", try await device("request").output)
        let made = try await runProcess([DemoServer.program, "player", "certify", request, "--home", home])
        #expect(made.status.isSuccess, "\(made.errorText)")
        let bundle = directory.write("bundle.json", made.output)
        let inserted = try await device("insert", bundle)
        #expect(inserted.text.contains("player "))
        let root = try #require(made.errorText.split(whereSeparator: \.isWhitespace).last)
        #expect(root.count == 64 && inserted.errorText.contains(root), "both sides print the root's fingerprint")
        _ = try await device("insert", bundle, status: 77)
    }
}
