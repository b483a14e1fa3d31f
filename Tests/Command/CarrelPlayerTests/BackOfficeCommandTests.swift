// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

/// The commands of a shop, with and without a server on the home, and the forms that scripts rely on.
struct `The commands of a back office` {
    private let directory = TemporaryDirectory()
    private var home: String { directory.file("home") }

    private func carrel(_ arguments: String...) async throws -> ProcessResult {
        try await runProcess([DemoServer.program] + arguments + ["--home", home], timeout: .seconds(60))
    }

    private func json(_ arguments: String...) async throws -> JSON {
        try await DemoServer.json(arguments + ["--home", home, "--json"])
    }

    /// Two chapters of a tone, with a picture.
    private func makeSound() async throws -> String {
        let metadata = directory.write(
            "chapters.txt",
            ";FFMETADATA1\ntitle=By the file\nartist=Ann Author\ncomposer=Nils Narrator\n"
                + "[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=2000\ntitle=One\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=2000\nEND=4000\ntitle=Two\n"
        )
        let path = directory.file("tone.mp3")
        let inputs = ["-f", "lavfi", "-i", "sine=duration=4", "-i", metadata, "-map", "0:a", "-map_metadata", "1"]
        let ffmpeg = [try requirePeer("ffmpeg"), "-nostdin", "-v", "error"]
        try await checkProcess(ffmpeg + inputs + ["-map_chapters", "1", "-c:a", "libmp3lame", path])
        return path
    }

    private func ingest() async throws -> JSON {
        try #require(try await json("ingest", try await makeSound(), "--isbn", "9780306406157")["titles"]?.array?.first)
    }

    private func serve() async throws -> (process: BackgroundProcess, url: String) {
        let process = try BackgroundProcess([DemoServer.program, "serve", "--home", home, "--port", "0"])
        let line = try await process.waitForLine(containing: "listening on http")
        return (process, line.split(separator: " ").last.map(String.init) ?? "")
    }

    private func members(_ value: JSON?) -> Set<String> { Set(value?.object?.map(\.name) ?? []) }

    @Test func `say where the server listens in their first line`() async throws {
        let (process, url) = try await serve()
        let first = try #require(process.output.split(separator: "\n").first)
        #expect(first == "listening on \(url)")
        let port = try #require(url.split(separator: ":").last.flatMap { Int($0) })
        #expect(url == "http://127.0.0.1:\(port)" && port > 0)
        #expect(process.output.split(separator: "\n").count == 1, "and nothing else on standard output")
        #expect(await process.terminate() == .exited(0))
    }

    @Test func `tell scripts of a title in a form that stays`() async throws {
        let printed = try await json("ingest", try await makeSound())
        #expect(members(printed) == ["titles"])
        let title = try #require(printed["titles"]?.array?.first)
        #expect(
            members(title) == [
                "id", "kind", "duration", "title", "subtitle", "authors", "narrators", "publisher", "language", "description",
                "published", "isbn", "chapters", "hasCover", "sampleDuration", "createdAt",
            ]
        )
        #expect(title["kind"] == "audiobook")
        #expect(abs((title["duration"]?.double ?? 0) - 4) < 0.03)
        #expect(title["authors"] == ["Ann Author"] && title["narrators"] == ["Nils Narrator"])
        #expect(
            title["chapters"] == [["title": "One", "start": 0], ["title": "Two", "start": 2]] as JSON,
            "\(String(describing: title["chapters"]))"
        )
        let id = try #require(title["id"]?.string)
        #expect(try await json("title", "show", id) == title)
        #expect(try await json("title", "list")["titles"]?.array == [title])
        let missing = try await carrel("title", "show", "none")
        #expect(missing.status == .exited(65) && missing.errorText == "carrel: error: there is no such title\n")
    }

    @Test func `let the operator name a title, first and later`() async throws {
        let path = try await makeSound()
        let picture: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]
        let title = try #require(
            try await json(
                "ingest",
                path,
                "--title",
                "Said",
                "--subtitle",
                "So",
                "--author",
                "A",
                "--author",
                "B",
                "--narrator",
                "N",
                "--publisher",
                "P",
                "--language",
                "da",
                "--description",
                "D",
                "--isbn",
                "0-306-40615-2",
                "--cover",
                directory.write("cover.png", picture),
                "--sample-seconds",
                "2"
            )["titles"]?.array?.first
        )
        let expected: [(String, JSON)] = [
            ("title", "Said"), ("subtitle", "So"), ("authors", ["A", "B"]), ("narrators", ["N"]), ("publisher", "P"),
            ("language", "da"), ("description", "D"), ("isbn", "9780306406157"), ("hasCover", true),
        ]
        for (name, value) in expected { #expect(title[name] == value, "\(name)") }
        #expect(abs((title["sampleDuration"]?.double ?? 0) - 2) < 0.03)
        let later = try await json("ingest", path, "--title", "Said again")["titles"]?.array ?? []
        #expect(later.map { $0["id"] } == [title["id"]])
        #expect(later.first?["title"] == "Said again" && later.first?["subtitle"] == "So")
        let wrong = try await carrel("ingest", path, "--isbn", "9780306406158")
        #expect(wrong.status == .exited(64) && wrong.errorText.contains("is not an ISBN"))
    }

    @Test(arguments: [false, true]) func `show, cancel, return and revoke orders`(besideServer: Bool) async throws {
        let title = try await ingest()
        let server = besideServer ? try await serve() : nil
        func order() async throws -> String {
            let made = try await json("order", "create", "--isbn", "9780306406157", "--account", "alice")
            let id = try #require(made["id"]?.string)
            #expect(made["playlist"]?.string == "/v1/stream/hls/\(id)/playlist.m3u8")
            return id
        }
        let (first, second, third) = (try await order(), try await order(), try await order())
        let shown = try await json("order", "show", first)
        #expect(shown["state"] == "ready" && shown["account"] == "alice" && shown["kind"] == "sale")
        #expect(shown["title"] == title["id"])
        let table = try await carrel("order", "show", first).text
        #expect(table.contains(first) && table.contains("ready"))

        #expect(try await json("order", "cancel", first)["state"] == "cancelled")
        #expect(try await json("order", "show", first)["state"] == "cancelled")
        #expect(try await json("order", "return", second)["state"] == "returned")
        #expect(try await json("order", "revoke", third)["state"] == "revoked")
        let late = try await carrel("order", "cancel", second)
        #expect(late.status == .exited(65) && late.errorText.hasPrefix("carrel: error: "), "\(late.errorText)")
        #expect(try await json("order", "show", second)["state"] == "returned")
        let unknown = try await carrel("order", "show", "106d9ba0-125c-4b44-a410-2889d53f42bd")
        #expect(unknown.status == .exited(65) && unknown.errorText.contains("there is no such order"), "\(unknown.errorText)")
        let listed = try await json("order", "list", "--account", "alice")["orders"]?.array ?? []
        #expect(listed.map { $0["state"]?.string } == ["cancelled", "returned", "revoked"])
        _ = await server?.process.terminate()
    }

    @Test func `list orders by number, and print where a truncated list continues`() async throws {
        _ = try await ingest()
        var ids: [String] = []
        for number in ["R 1", "R 2", "R 3"] {
            let made = try await json(
                "order",
                "create",
                "--isbn",
                "9780306406157",
                "--account",
                "bob",
                "--order-number",
                number
            )
            ids.append(try #require(made["id"]?.string))
        }
        func listed(_ options: String...) async throws -> (ids: [String], note: String) {
            let result = try await runProcess([DemoServer.program, "order", "list", "--home", home] + options)
            return (result.text.split(separator: "\n").dropFirst().map { String($0.prefix(36)) }, result.errorText)
        }
        let all = try await listed()
        #expect(all.ids == ids && all.note == "")
        let one = try await listed("--order-number", "R 2")
        #expect(one.ids == [ids[1]] && one.note == "")
        let first = try await listed("--limit", "2")
        #expect(first.ids == Array(ids.prefix(2)))
        #expect(first.note.hasPrefix("there may be more: continue with --after "), "\(first.note)")
        let mark = try #require(first.note.split(separator: " ").first { $0.contains("_") })
        let rest = try await listed("--limit", "2", "--after", String(mark))
        #expect(rest.ids == [ids[2]] && rest.note == "", "\(rest)")
    }

    /// Only an order whose key was not issued can be canceled.
    @Test func `cancel no order whose key was given`() async throws {
        _ = try await ingest()
        let (process, url) = try await serve()
        let made = try await json("order", "create", "--isbn", "9780306406157", "--account", "alice")
        let id = try #require(made["id"]?.string)
        let playlist = try await checkProcess(["curl", "-sf", "\(url)\(made["playlist"]?.string ?? "")"])
        let key = try #require(playlist.split(separator: "\"").first { $0.hasPrefix("http") })
        try await checkProcess(["curl", "-sf", "-o", "/dev/null", String(key)])
        #expect(try await json("order", "show", id)["state"] == "active")
        let refused = try await carrel("order", "cancel", id)
        #expect(refused.status == .exited(65), "\(refused.errorText)")
        #expect(try await json("order", "show", id)["state"] == "active")
        _ = await process.terminate()
    }

    @Test func `make, list and end keys of back offices`() async throws {
        _ = try await ingest()
        let (process, url) = try await serve()
        let made = try await json("key", "create", "--role", "service", "--name", "shop")
        let text = try #require(made["key"]?.string)
        let id = try #require(made["id"]?.string)
        func place() async throws -> String {
            let body = "{\"account\":\"bob\",\"isbn\":\"9780306406157\"}"
            return try await checkProcess([
                "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Authorization: Bearer \(text)", "-H",
                "Content-Type: application/json", "-d", body, "\(url)/v1/orders",
            ])
        }
        #expect(try await place() == "201")
        let listed = try await json("key", "list")["keys"]?.array ?? []
        #expect(listed.map { $0["name"]?.string } == ["shop"])
        #expect(listed.first?["revokedAt"] == .null && listed.first?["key"] == nil)
        #expect(try await carrel("key", "list").text.contains("shop"))
        #expect(try await !carrel("key", "list").text.contains(text), "a key is shown once")
        #expect(try await carrel("key", "revoke", id).status == .exited(0))
        #expect(try await place() == "401")
        #expect(try await json("key", "list")["keys"]?.array?.first?["revokedAt"]?.string != nil)
        #expect(try await carrel("key", "revoke", "none").status == .exited(65))
        _ = await process.terminate()
    }

    @Test func `serve health and metrics to who watches over them`() async throws {
        let (process, url) = try await serve()
        for path in ["healthz", "readyz"] {
            let answer = try await checkProcess(["curl", "-s", "-w", " %{http_code} %{content_type}", "\(url)/\(path)"])
            #expect(answer.hasSuffix(" 200 application/json"), "\(answer)")
        }
        _ = try await checkProcess(["curl", "-s", "\(url)/v1/stream/hls/106d9ba0-125c-4b44-a410-2889d53f42bd/playlist.m3u8"])
        let metrics = try await checkProcess(["curl", "-s", "\(url)/metrics"])
        #expect(metrics.contains("# TYPE "))
        #expect(metrics.contains("playlist.m3u8") && metrics.contains("404"), "\(metrics)")
        #expect(!metrics.contains("106d9ba0"), "an order id is a capability")
        _ = await process.terminate()
    }

    /// The names of the demo titles are a new user's first impression.
    @Test func `know all metadata of the demo titles`() async throws {
        let server = try await DemoServer()
        for (title, name) in zip(server.titles, ["A Desk by the Window", "The Eleven-Minute Library"]) {
            let shown = try await DemoServer.json(["title", "show", title.id, "--home", server.home, "--json"])
            #expect(shown["title"]?.string == name)
            #expect(shown["authors"] == ["The Carrel Project"] && shown["narrators"] == ["eSpeak NG"])
            #expect(["en", "eng"].contains(shown["language"]?.string), "\(shown)")
            #expect(shown["description"]?.string?.isEmpty == false && shown["hasCover"] == true)
            #expect((shown["chapters"]?.array ?? []).count >= 3)
            #expect((30...60).contains(shown["sampleDuration"]?.double ?? 0))
        }
        _ = await server.stop()
    }
}
