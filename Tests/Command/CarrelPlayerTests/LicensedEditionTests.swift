// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

/// `carrel edition set --licensed` on a real server: downloaded by curl, opened with the key by `carrel decrypt`.
struct `A protected edition that a command publishes` {
    private let directory = TemporaryDirectory()
    private let key = "00112233445566778899aabbccddeeff"

    @discardableResult
    private func carrel(_ words: String..., input: String = "") async throws -> ProcessResult {
        try await runProcess([DemoServer.program] + words + ["--home", directory.file("home")], input: Array(input.utf8))
    }

    private func curl(_ options: String...) async throws -> String {
        try await checkProcess(["curl", "-s", "-w", "%{http_code}", "-o", directory.file("answer")] + options)
    }

    @Test func `is encrypted while it is sent, whole and in parts`() async throws {
        let book = directory.file("book.epub")
        let script = """
            import sys, zipfile
            with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_STORED) as book:
                book.writestr("mimetype", "application/epub+zip")
                book.writestr("META-INF/container.xml", '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">'
                    '<rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>')
                book.writestr("book.opf", '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id"><metadata '
                    'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">x</dc:identifier><dc:title>Book</dc:title>'
                    '<dc:language>en</dc:language></metadata><manifest/><spine/></package>')
                book.writestr("picture.bin", bytes(i * 7 % 256 for i in range(1000000)))
            """
        try await checkProcess(["python3", "-c", script, book])
        let made = try await carrel("ingest", book, "--product-id", "book", "--json")
        try #require(made.status.isSuccess, "\(made.errorText)")
        let shown = try await DemoServer.json(["edition", "show", "book", "--json", "--home", directory.file("home")])
        let title = try #require(shown["id"]?.string)
        let digest = try await checkProcess(["sh", "-c", "printf urn:carrel:title:\(title) | sha256sum | cut -c1-32"])
        let kid = String(digest.prefix(32))
        // staff know the first key, because they added it
        try #require(try await carrel("content-key", "add", kid, input: "\(key)\n").status.isSuccess)
        let server = try BackgroundProcess([DemoServer.program, "serve", "--home", directory.file("home"), "--port", "0"])
        let line = try await server.waitForLine(containing: "listening on http")
        let url = "\(line.split(separator: " ").last ?? "")/editions/book"
        #expect(try await curl("\(url)/-/licensed.dcf") == "404")
        let set = try await carrel("edition", "set", "book", "--licensed", "only", "--json")
        try #require(set.status.isSuccess, "\(set.errorText)")
        #expect(try JSON.parse(set.output.rawSpan)["edition"]?["licensed"] == "only")
        #expect(try await curl("\(url)/") == "403")

        let file = directory.file("book.dcf")
        #expect(
            try await checkProcess(["curl", "-s", "-w", "%{content_type}", "-o", file, "\(url)/-/licensed.dcf"])
                == "application/vnd.oma.drm.dcf"
        )
        let clear = directory.file("clear.epub")
        let opened = try await runProcess([DemoServer.program, "decrypt", file, "--key", "\(kid):\(key)", "-o", clear])
        #expect(opened.status.isSuccess, "\(opened.errorText)")
        #expect(directory.read("clear.epub") == directory.read("book.epub"))
        let whole = try #require(directory.read("book.dcf"))
        for range in [0..<1, 100..<200_000, 65_000..<whole.count, whole.count - 40..<whole.count] {
            #expect(try await curl("-r", "\(range.lowerBound)-\(range.upperBound - 1)", "\(url)/-/licensed.dcf") == "206")
            #expect(directory.read("answer") == Array(whole[range]))
        }
        // an interrupted download continues where it stopped
        directory.write("half", Array(whole[..<500_003]))
        try await checkProcess(["curl", "-sf", "-C", "-", "-o", directory.file("half"), "\(url)/-/licensed.dcf"])
        #expect(directory.read("half") == whole)

        let token = try await carrel(
            "token",
            "create",
            "--title",
            title,
            "--copy",
            "2000",
            "--print",
            "10",
            "--no-export",
            "--watermark",
            "Alice"
        )
        #expect(token.status.isSuccess && token.text.contains("jwt: "), "\(token.errorText)")
        let wrong = try await carrel("token", "create", "--title", title, "--attended", "5")
        #expect(wrong.status == .exited(64))
        #expect(await server.terminate() == .exited(0))
        let check = try await carrel("blobs", "check", "--json")
        #expect(try JSON.parse(check.output.rawSpan)["damaged"] == [])
    }
}
