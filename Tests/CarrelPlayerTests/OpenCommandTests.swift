import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

/// Publications at the command line, as scripts rely on it.
struct `Opening a publication at the command line` {
    private let directory = TemporaryDirectory()

    private func carrel(_ arguments: String...) async throws -> ProcessResult {
        try await runProcess([DemoServer.program] + arguments, timeout: .seconds(60))
    }

    @Test func `says what it is and gives what is in it`() async throws {
        let zip = try requirePeer("zip")
        directory.write("1.png", [1, 2, 3, 4, 5])
        directory.write("2.png", [6])
        try await checkProcess([zip, "-q", "Tale.cbz", "1.png", "2.png"], directory: directory.path)
        let opened = try await carrel("open", directory.file("Tale.cbz"), "--json")
        #expect(opened.status == .exited(0))
        let answer = try JSON.parse(opened.output.rawSpan)
        #expect(answer["format"]?.string == "application/vnd.comicbook+zip")
        #expect(answer["protection"] == .null)
        #expect(answer["isRestricted"]?.bool == false)
        #expect(answer["metadata"]?["title"]?.string == "Tale")
        #expect(answer["rights"]?["canCopy"]?.bool == true)
        #expect(answer["readingOrder"]?.array?.compactMap(\.string) == ["1.png", "2.png"])
        let table = try await carrel("open", directory.file("Tale.cbz"))
        #expect(table.text.hasPrefix("title "), "no empty line comes first")
        let part = try await carrel("cat", directory.file("Tale.cbz"), "1.png", "--range", "1-2")
        #expect(part.output == [2, 3])
        let none = try await carrel("cat", directory.file("Tale.cbz"), "3.png")
        #expect(none.status == .exited(66))
        #expect(none.errorText.contains("3.png"))
        let manifest = try await carrel("manifest", directory.file("Tale.cbz"))
        #expect(try JSON.parse(manifest.output.rawSpan)["readingOrder"]?.array?.count == 2)
    }

    @Test func `ends as scripts expect where it cannot`() async throws {
        let tool = try requirePeer("7z")
        directory.write("1.png", [1, 2, 3])
        try await checkProcess([tool, "a", "-tzip", "-mem=AES256", "-psesame", "a.cbz", "1.png"], directory: directory.path)
        directory.write("broken.epub", Array("PK\u{3}\u{4}".utf8) + [UInt8](repeating: 0, count: 64))
        for arguments in [["open", directory.file("a.cbz")], ["open", directory.file("a.cbz"), "--password", "guessed"]] {
            let refused = try await runProcess([DemoServer.program] + arguments + ["--json"], timeout: .seconds(60))
            #expect(refused.status == .exited(77))
            #expect(!refused.errorText.contains("guessed"))
        }
        let right = try await carrel("cat", directory.file("a.cbz"), "1.png", "--passphrase", "sesame")
        #expect(right.output == [1, 2, 3])
        #expect(try await carrel("open", directory.file("broken.epub"), "--json").status == .exited(65))
        #expect(try await carrel("open", directory.file("none.epub"), "--json").status == .exited(66))
        #expect(try await carrel("cat", directory.file("a.cbz"), "1.png", "--range", "5-1").status == .exited(64))
    }
}
