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

    @Test func `has the same bytes however often its server is killed while it computes the tags`() async throws {
        let padding = [UInt8](repeating: UInt8(ascii: " "), count: 48 << 20)
        let end = "\n1 0 obj << /Type /Catalog >> endobj\ntrailer << /Root 1 0 R >>\n%%EOF\n"
        let pdf = Array("%PDF-1.4\n%".utf8) + padding + Array(end.utf8)
        directory.write("large.pdf", pdf)
        let made = try await carrel("ingest", directory.file("large.pdf"), "--product-id", "large", "--json")
        try #require(made.status.isSuccess, "\(made.errorText)")
        try #require(try await carrel("edition", "set", "large", "--licensed", "only").status.isSuccess)
        func serve() async throws -> (process: BackgroundProcess, url: String) {
            let server = try BackgroundProcess([DemoServer.program, "serve", "--home", directory.file("home"), "--port", "0"])
            let line = try await server.waitForLine(containing: "listening on http")
            return (server, "\(line.split(separator: " ").last ?? "")/editions/large/-/licensed.dcf")
        }
        var random = SplitMix(seed: 28)
        for _ in 0..<8 {
            let (server, url) = try await serve()
            let client = try BackgroundProcess(["curl", "-s", "-o", directory.file("answer"), url])
            try await Task.sleep(for: .milliseconds(Int(random.next() % 200)))
            _ = await server.kill()
            _ = try await client.waitForExit()
        }
        let (server, url) = try await serve()
        #expect(try await curl(url) == "200")
        let file = try #require(directory.read("answer"))
        // a head, the contents, and 16 bytes for each 64 KiB
        #expect(file.count > pdf.count + pdf.count / 65_536 * 16)
        #expect(await server.terminate() == .exited(0))
        let (again, place) = try await serve()
        #expect(try await curl(place) == "200" && directory.read("answer") == file)
        #expect(await again.terminate() == .exited(0))
        let check = try await carrel("blobs", "check", "--json")
        #expect(try JSON.parse(check.output.rawSpan)["damaged"] == [])
        // the contents and the tags: nothing of the processes that were killed
        let blobs = try await checkProcess(["find", directory.file("home/blobs"), "-mindepth", "2", "-type", "f"])
        #expect(blobs.split(separator: "\n").count == 2, "\(blobs)")
    }
}
