// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Glibc
import Testing

/// `carrel ingest` on a home where a server runs: the command makes the blobs, and the server writes its database.
struct `An ingest outside a running server` {
    enum Engine: CaseIterable {
        case sqlite
        case postgres

        /// The options that name a server's state.
        func options() async throws -> [String] {
            switch self {
            case .sqlite: []
            case .postgres: ["--database", try await PrivatePostgres.shared().newDatabase()]
            }
        }
    }

    private let directory = TemporaryDirectory()
    private var home: String { directory.file("home") }

    private func serve(_ options: [String]) async throws -> (process: BackgroundProcess, url: String) {
        let process = try BackgroundProcess([DemoServer.program, "serve", "--home", home, "--port", "0"] + options)
        let line = try await process.waitForLine(containing: "listening on http")
        return (process, line.split(separator: " ").last.map(String.init) ?? "")
    }

    private func carrel(_ arguments: String...) async throws -> ProcessResult {
        try await runProcess([DemoServer.program] + arguments + ["--home", home], timeout: .seconds(60))
    }

    private func makeSound(_ name: String, seconds: Int, codec: String) async throws -> String {
        let path = directory.file(name)
        try await checkProcess([
            "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=duration=\(seconds)", "-c:a", codec, path,
        ])
        return path
    }

    private func makePages(_ text: String) throws -> String {
        unsafe mkdir(directory.file("issue"), 0o700)
        directory.write("issue/index.html", Array("<!doctype html><title>Issue</title><p>\(text)</p>".utf8))
        return directory.file("issue")
    }

    private func blobs() async throws -> Set<Substring> {
        Set(try await checkProcess(["find", "\(home)/blobs", "-type", "f"]).split(separator: "\n"))
    }

    /// On PostgreSQL the command is not told where the database is, so that it can only be the server that writes.
    @Test(arguments: Engine.allCases)
    func `creates a title that the server can stream immediately, and recognizes it again`(engine: Engine) async throws {
        let (server, url) = try await serve(try await engine.options())
        let sound = try await makeSound("tone.mp3", seconds: 25, codec: "libmp3lame")
        let made = try await carrel("ingest", sound, "--title", "Tone", "--json")
        #expect(made.status == .exited(0), "\(made.errorText)")
        let title = try #require(try JSON.parse(made.output.rawSpan)["titles"]?.array?.first)
        #expect(title["title"] == "Tone")
        let id = try #require(title["id"]?.string)
        let ordered = try await carrel("order", "create", "--title", id, "--account", "alice", "--json")
        let order = try #require(try JSON.parse(ordered.output.rawSpan)["id"]?.string)
        let base = "\(url)/v1/stream/hls/\(order)/"
        let playlist = try await checkProcess(["curl", "-sf", "\(base)playlist.m3u8"])
        let segments = playlist.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(segments.count == 3)
        try await checkProcess(["curl", "-sf", "-o", "/dev/null", "\(base)\(segments.last ?? "")"])

        let before = try await blobs()
        let picture = directory.write("cover.png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3])
        let again = try await carrel("ingest", sound, "--author", "A. Writer", "--cover", picture)
        #expect(again.text == "\(id)  Tone (in the catalog already)\n", "\(again.errorText)")
        let shown = try await carrel("title", "show", id)
        #expect(shown.text.contains("A. Writer"))
        #expect(try await blobs().subtracting(before).count == 1, "the cover")
        #expect(try await runProcess(["curl", "-sf", "\(base)cover"]).output == directory.read("cover.png"))

        #expect(await server.terminate() == .exited(0))
        let entered = server.errors.split(separator: "\n").filter { $0.contains("admin/v1/accessions/titles") }
        #expect(entered.count == 3, "asked, entered, asked again: \(entered)")
    }

    @Test(arguments: Engine.allCases)
    func `creates an edition that can be read immediately, like its replacement`(engine: Engine) async throws {
        let (server, url) = try await serve(try await engine.options())
        func page() async throws -> String { try await checkProcess(["curl", "-sf", "\(url)/editions/issue-1/index.html"]) }
        for text in ["first words", "second and longer words", "third"] {
            let taken = try await carrel("ingest", try makePages(text), "--product-id", "issue-1", "--price", "free")
            #expect(taken.status == .exited(0), "\(taken.errorText)")
            #expect(taken.text.hasSuffix(" (replaced)\n") == (text != "first words"), "\(taken.text)")
            // Right away: nothing may be remembered of what was.
            #expect(try await page().contains("<p>\(text)</p>"))
            #expect(try await page().contains("<p>\(text)</p>"))
        }
        let again = try await carrel("ingest", try makePages("third"), "--product-id", "issue-1")
        #expect(again.text.hasSuffix(" (in the catalog already)\n"), "\(again.text)")
        let feed = try await checkProcess(["curl", "-sf", "\(url)/editions/issue-1/content.xml"])
        #expect(!feed.contains("1970") && feed.contains("<updated>"))
        // One content may be several products.
        let second = try await carrel("ingest", try makePages("third"), "--product-id", "issue-2", "--price", "free")
        #expect(second.status == .exited(0), "\(second.errorText)")
        let other = try await checkProcess(["curl", "-sf", "\(url)/editions/issue-2/index.html"])
        #expect(try await page() == other)
        #expect(await server.terminate() == .exited(0))
    }

    @Test func `that the server refuses in the end keeps nothing`() async throws {
        let (server, _) = try await serve([])
        #expect(try await carrel("ingest", try makePages("one"), "--product-id", "issue-1").status == .exited(0))
        let before = try await blobs()
        // What a draft may be is decided when it is entered: the contents are new to the server until then.
        let refused = try await carrel("ingest", try makePages("two"), "--product-id", "issue-1", "--draft")
        #expect(refused.status == .exited(65), "\(refused.errorText)")
        #expect(refused.errorText.contains("only a new product can be a draft"))
        #expect(try await blobs() == before, "what it had made is taken back")
        #expect(await server.terminate() == .exited(0))
        // an answer is logged after it was sent
        #expect(server.errors.contains("admin/v1/accessions/take-back"))
    }

    /// The server goes while the command transcodes; what the command made is then entered by itself or, where it was not told
    /// where the database is, not at all.
    @Test(arguments: [(Engine.sqlite, SIGTERM), (.sqlite, SIGKILL), (.postgres, SIGTERM)])
    func `outlives the server, or says that it could not`(engine: Engine, signal: Int32) async throws {
        let options = try await engine.options()
        let (server, _) = try await serve(options)
        let sound = try await makeSound("tone.flac", seconds: 600, codec: "flac")
        let ingest = try BackgroundProcess([DemoServer.program, "ingest", sound, "--home", home, "--json"])
        _ = try await server.waitForLine(containing: "admin/v1/accessions/titles")
        ingest.signal(SIGSTOP)
        server.signal(signal)
        try await server.waitForExit()
        ingest.signal(SIGCONT)
        let status = try await ingest.waitForExit(timeout: .seconds(60))
        switch engine {
        case .sqlite:
            #expect(status == .exited(0), "\(ingest.errors)")
            let listed = try await DemoServer.json(["title", "list", "--home", home, "--json"])["titles"]?.array
            #expect(listed?.count == 1)
        case .postgres:
            #expect(status == .exited(75), "\(ingest.errors)")
            #expect(ingest.errors.contains("stopped, and its catalog"), "\(ingest.errors)")
            #expect(ingest.errors.contains("run this command again"), "\(ingest.errors)")
            #expect(try await carrelOn(options, "title", "list", "--json").contains("\"titles\": []"))
            let (again, _) = try await serve(options)
            #expect(try await carrel("ingest", sound).status == .exited(0))
            #expect(await again.terminate() == .exited(0))
        }
        #expect(try await checkProcess(["find", home, "-path", "*/scratch/*"]) == "")
    }

    private func carrelOn(_ options: [String], _ arguments: String...) async throws -> String {
        try await checkProcess([DemoServer.program] + arguments + ["--home", home] + options)
    }
}
