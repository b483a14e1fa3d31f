// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Testing

/// Editions on a real server, through the nginx of docs/edge-nginx.md, requested by curl like apps.
struct `An edge with nginx` {
    private let directory = TemporaryDirectory()
    private let page = Array("<html><title>Seven</title>for subscribers</html>".utf8)

    private var home: String { directory.file("home") }

    private func carrel(_ arguments: String..., input: String = "") async throws {
        let ended = try await runProcess([DemoServer.program] + arguments + ["--home", home], input: Array(input.utf8))
        try #require(ended.status.isSuccess, "\(arguments): \(ended.errorText)")
    }

    private func server(_ options: String...) async throws -> (process: BackgroundProcess, url: String) {
        let zip = directory.file("issue.zip")
        for (name, bytes) in [
            ("index.html", page), ("free.html", Array("open".utf8)), ("big.bin", (0..<300_000).map { UInt8($0 % 251) }),
        ] { directory.write(name, bytes) }
        let files = ["index.html", "free.html", "big.bin"].map(directory.file)
        try await checkProcess([try requirePeer("zip"), "-qj", zip] + files)
        try await carrel("ingest", zip, "--product-id", "com.example.7", "--price", "paid", "--sample", "free.html")
        try await carrel("plan", "create", "gold")
        for name in ["alice", "bob"] {
            try await carrel("account", "create", name, "--password-stdin", input: "correct horse battery\n")
            try await carrel("plan", "grant", name, "gold")
        }
        let process = try BackgroundProcess([DemoServer.program, "serve", "--home", home, "--port", "0"] + options)
        let line = try await process.waitForLine(containing: "listening on http")
        return (process, line.split(separator: " ").last.map(String.init) ?? "")
    }

    /// The configuration of the documentation, filled in.
    private func nginx(before url: String) async throws -> (process: BackgroundProcess, url: String) {
        let program = try requirePeer("nginx")
        let text = try await checkProcess(["cat", "\(Repository.path)/docs/edge-nginx.md"])
        let block = try #require(text.split(separator: "```nginx\n").last?.split(separator: "\n```\n").first)
        let port = LoopbackPort.free()
        let filled = String(block).replacing("@CACHE@", with: directory.file("cache"))
            .replacing("@CARREL@", with: url.dropFirst("http://".count)).replacing("@LISTEN@", with: "127.0.0.1:\(port)")
        directory.write(
            "nginx.conf",
            """
            daemon off; master_process off; pid nginx.pid; error_log stderr warn;
            events { worker_connections 256; }
            http {
            access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
            \(filled)
            }
            """
        )
        let process = try BackgroundProcess([program, "-p", directory.path, "-c", directory.file("nginx.conf"), "-e", "stderr"])
        try await process.waitForPort(port)
        return (process, "http://127.0.0.1:\(port)")
    }

    /// Status, `X-Cache` and body.
    private func get(_ url: String, _ options: String...) async throws -> (status: String, cache: String, body: [UInt8]) {
        try await get(url, options)
    }

    private func get(_ url: String, _ options: [String]) async throws -> (status: String, cache: String, body: [UInt8]) {
        let out = directory.file("answer")
        let words = try await checkProcess(
            ["curl", "-s", "--path-as-is", "-o", out, "-w", "%{http_code} %header{x-cache}"] + options + [url]
        ).split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        return (words[0], words.count > 1 ? words[1] : "", directory.read("answer") ?? [])
    }

    @Test func `is not needed: curl downloads in parts with the credentials that an app has`() async throws {
        let (server, origin) = try await server()
        let alice = try await DemoServer.credentials(origin, "alice")
        let big = "\(origin)/editions/com.example.7/big.bin"
        let whole = (0..<300_000).map { UInt8($0 % 251) }
        #expect(try await get(big, "-u", alice).body == whole)
        let part = try await get(big, "-u", alice, "-r", "299900-")
        #expect(part.status == "206" && part.body == Array(whole[299_900...]))
        let tail = try await get(big, "-u", alice, "-r", "-10")
        #expect(tail.status == "206" && tail.body == Array(whole.suffix(10)))
        #expect(try await get(big, "-u", alice, "-r", "300000-").status == "416")
        #expect(try await get(big, "-r", "0-9").status == "403")
        // An interrupted download continues where it stopped.
        directory.write("half", Array(whole[..<100_000]))
        try await checkProcess(["curl", "-sf", "-C", "-", "-u", alice, "-o", directory.file("half"), big])
        #expect(directory.read("half") == whole)
        #expect(await server.terminate() == .exited(0))
    }

    @Test func `tells Carrel who asks, whatever they say themselves`() async throws {
        let (server, origin) = try await server("--http-trusted-proxies", "127.0.0.0/8")
        let (nginx, edge) = try await nginx(before: origin)
        let forged = [
            "-H", "X-Forwarded-For: 203.0.113.9", "-H", "X-Forwarded-Proto: https", "-H", "X-Forwarded-Host: localhost",
        ]
        let alice = try await DemoServer.credentials(edge, "alice")
        for (path, options, status) in [
            ("/editions/com.example.7/index.html", ["-u", alice], "200"), ("/editions/com.example.7/index.html", [], "403"),
            ("/opds/v2/editions/com.example.7/index.html", ["-u", "alice:a guess"], "401"), ("/healthz", [], "200"),
        ] as [(String, [String], String)] {
            #expect(try await get(edge + path, forged + options).status == status, "\(path)")
        }
        let manifest = try await get("\(edge)/editions/com.example.7/-/manifest.xml", forged + ["-u", alice])
        let text = String(decoding: manifest.body, as: UTF8.self)
        #expect(text.contains("\"\(edge)/editions/"), "\(text)")
        _ = await nginx.terminate()
        #expect(await server.terminate() == .exited(0))
        let log = server.errors.split(separator: "\n").filter { $0.contains("\"peer\"") }
        for route in ["/edge/v1/authorize", "/editions/", "/opds/v2/editions/", "/healthz"] {
            #expect(log.contains { $0.contains("\"path\":\"\(route)") }, "\(route): \(log)")
        }
        #expect(log.filter { $0.contains("203.0.113") } == [])
    }

    @Test func `keeps one copy for all who may read it, and asks for each request`() async throws {
        let (server, origin) = try await server()
        let (nginx, edge) = try await nginx(before: origin)
        let (alice, bob) = (try await DemoServer.credentials(edge, "alice"), try await DemoServer.credentials(edge, "bob"))
        let address = "\(edge)/editions/com.example.7/index.html"
        let first = try await get(address, "-u", alice)
        #expect(first.status == "200" && first.cache == "MISS" && first.body == page)
        for who in [alice, bob] {
            let again = try await get(address, "-u", who)
            #expect(again.status == "200" && again.cache == "HIT" && again.body == page)
        }
        for options in [["-H", "X: y"], ["-u", "alice:x"], ["-u", "\(alice)x"]] {
            let refused = try await get(address, options[0], options[1])
            #expect(refused.status == "403")
            #expect(String(decoding: refused.body, as: UTF8.self) == "You are not authorized to view this page.")
        }
        let challenged = try await get("\(edge)/opds/v2/editions/com.example.7/index.html")
        #expect(challenged.status == "401" && challenged.body.starts(with: "{".utf8))
        #expect(try await get("\(edge)/editions/com.example.7/free.html").status == "200")
        #expect(try await get("\(edge)/editions/none/").status == "404", "Carrel words the refusal")

        // What nginx makes of an address is not what decides.
        for path in [
            "free.html/../index.html", "free.html%2f..%2findex.html", "./index.html", "/index.html", "%2e/index.html",
            "..%2fcom.example.7%2findex.html",
        ] {
            let dodged = try await get("\(edge)/editions/com.example.7/\(path)")
            #expect(dodged.status.hasPrefix("4") && dodged.body != page, "\(path): \(dodged.status)")
        }

        let big = "\(edge)/editions/com.example.7/big.bin"
        #expect(try await get(big, "-u", alice).cache == "MISS")
        let part = try await get(big, "-u", bob, "-r", "100000-100099")
        #expect(part.status == "206" && part.cache == "HIT" && part.body == (100_000..<100_100).map { UInt8($0 % 251) })
        #expect(try await get(big, "-r", "0-9").status == "403")

        try await carrel("account", "suspend", "alice")
        try await Task.sleep(for: .milliseconds(1100))
        #expect(try await get(address, "-u", alice).status == "403", "revoked, though a copy is kept")
        #expect(try await get(address, "-u", bob).cache == "HIT")
        try await carrel("edition", "withdraw", "com.example.7")
        try await Task.sleep(for: .milliseconds(1100))
        #expect(try await get(address, "-u", bob).status == "410")
        _ = await nginx.terminate()
        #expect(await server.terminate() == .exited(0))
    }
}
