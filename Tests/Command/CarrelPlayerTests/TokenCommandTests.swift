// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

/// `carrel token create`, with a running server and without one.
struct `A token that a command makes` {
    private let directory = TemporaryDirectory()

    private func carrel(_ words: String...) async throws -> ProcessResult {
        try await runProcess([DemoServer.program] + words + ["--home", directory.file("home")], directory: directory.path)
    }

    private func json(_ result: ProcessResult) throws -> JSON {
        let bytes = Array(result.text.utf8)
        return try JSON.parse(bytes.rawSpan)
    }

    /// A home with one title, whose id it returns.
    private func title() async throws -> String {
        let sound = directory.file("tone.mp3")
        try await checkProcess([
            "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=duration=5", "-c:a", "libmp3lame", sound,
        ])
        #expect(try await carrel("ingest", sound).status.isSuccess)
        let list = try json(try await carrel("title", "list", "--json"))
        return try #require(list["titles"]?.array?.first?["id"]?.string)
    }

    @Test func `is three forms, of which one may be a file`() async throws {
        let title = try await title()
        let file = directory.file("alice.xml")
        let made = try await carrel(
            "token",
            "create",
            "--title",
            title,
            "--account",
            "alice",
            "--rights",
            "rental",
            "--play-duration",
            "3600",
            "--period-end",
            "2096-01-01T00:00:00Z",
            "--output",
            file,
            "--json"
        )
        // more than ten years from now
        #expect(made.status == .exited(65) && made.errorText.contains("within the next ten years"))
        #expect(directory.read("alice.xml") == nil)
        let plain = try await carrel("token", "create", "--title", title, "--account", "alice", "--output", file, "--json")
        let answer = try json(plain)
        #expect(answer.object?.names.sorted() == ["bb", "jwt", "ms3"])
        #expect(plain.errorText.contains("warning: the token names http://127.0.0.1:8080, where a server of this home would"))
        #expect(answer["ms3"] == .null && plain.errorText.contains("set rights.port"))
        #expect(answer["bb"]?.string == file && answer["jwt"]?.string?.split(separator: ".").count == 3)
        let xml = String(decoding: try #require(directory.read("alice.xml")), as: UTF8.self)
        #expect(xml.contains("<LicenseAcquisition") && xml.contains("http://127.0.0.1:8080/hms/bb/configuration"))
        #expect(try await checkProcess(["stat", "-c", "%a", file]) == "600\n")
        let again = try await carrel("token", "create", "--title", title, "--output", file)
        #expect(again.status == .exited(64) && again.errorText.contains("alice.xml exists"))
        #expect(directory.read("alice.xml").map { String(decoding: $0, as: UTF8.self) } == xml)
        // all three are readable, and only named files are written
        let url = "https://books.example.org"
        let text = try await carrel("token", "create", "--title", title, "--url", url, "--valid-for", "1h")
        let lines = text.text.split(separator: "\n").map(String.init)
        #expect(!text.errorText.contains("warning"))
        #expect(lines.map { String($0.prefix(5)) } == ["ms3: ", "bb:  ", "jwt: "], "\(text.text)\(text.errorText)")
        #expect(lines[0].hasPrefix("ms3: \(url)/hms/ms3/rights/?b=") && lines[0].contains("#https%3A%2F%2Fbooks"))
        #expect(
            lines[1].hasPrefix("bb:  <?xml ") && lines[1].contains("<ActionToken ")
                && lines[1].contains("\(url)/hms/bb/configuration")
        )
        let inline = try json(
            try await carrel(
                "token",
                "create",
                "--title",
                title,
                "--json",
                "--rights",
                "rental",
                "--play-duration",
                "60",
                "--period-end",
                "+2d"
            )
        )
        #expect(inline["bb"]?.string?.contains("<ActionToken ") == true)
        let files = try await checkProcess(["ls", directory.path])
        #expect(!files.contains("token-"), "\(files)")
    }

    @Test func `needs a title of the catalog, and all of a rental`() async throws {
        let title = try await title()
        let unknown = try await carrel("token", "create", "--title", "nothing")
        #expect(unknown.status == .exited(65) && unknown.errorText.contains("no title of this id"))
        for words in [["--rights", "rental"], ["--play-duration", "60"], ["--redemptions", "0"], ["--rights", "loan"]] {
            let refused = try await runProcess(
                [DemoServer.program, "token", "create", "--title", title, "--home", directory.file("home")] + words
            )
            #expect(refused.status == .exited(64), "\(words): \(refused.errorText)")
        }
    }
}
