// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Glibc
import Testing

@testable import CarrelPublication

@Suite("Pages of PDF documents are drawn")
struct DrawnDocumentTests {
    private let directory = TemporaryDirectory()
    private let programs = TemporaryDirectory()

    private func document(_ pdf: TestPDF) async throws -> RenderedDocument {
        _ = (try requirePeer("pdftoppm"), try requirePeer("pdftotext"))
        return try await RenderedDocument(BytesResource(Link(href: "a.pdf"), pdf.bytes))
    }

    /// Pixels, as the head of a PNG file has them.
    private func size(_ png: [UInt8]) throws -> [Int] {
        try #require(png.count > 24)
        return [16, 20].map { at in png[at..<at + 4].reduce(0) { $0 << 8 | Int($1) } }
    }

    @Test func `within their crop box, turned, and with words where they are seen`() async throws {
        let box = "/MediaBox [0 0 400 300] /CropBox [10 200 210 280]"
        let upright = try await document(TestPDF(words: ["Alpha beta\ngamma", "Delta"], page: box))
        #expect(upright.pageCount == 2)
        #expect(try size(await upright.picture(of: 1, size: 800)) == [800, 320])
        let words = try await upright.words(of: 1)
        #expect((words.width, words.height) == (200, 80))
        #expect(words.blocks.map { $0.map { $0.map(\.text) } } == [[["Alpha", "beta"], ["gamma"]]])
        let first = try #require(words.blocks.first?.first?.first)
        // 20 from the left and 250 from below, of which the box leaves out 10 and 200
        #expect(first.x == 10 && (20...30).contains(first.y + first.height / 2) && (25...40).contains(first.width))
        #expect(try await upright.words(of: 2).blocks.map { $0.map { $0.map(\.text) } } == [[["Delta"]]])

        let turned = try await document(TestPDF(words: ["Alpha beta"], page: box + " /Rotate 90"))
        #expect(try size(await turned.picture(of: 1, size: 800)) == [320, 800])
        let word = try #require(try await turned.words(of: 1).blocks.first?.first?.first)
        // what was 30 from above is 50 from the left, and what was 10 from the left is 10 from above
        #expect((45...60).contains(word.x + word.width / 2) && word.y == 10)
    }

    @Test func `in a size that the document does not choose, and not those that it only claims`() async throws {
        let field = try await document(TestPDF(words: ["Far"], page: "/MediaBox [0 0 14400 14400]"))
        let picture = try await field.picture(of: 1, size: 800)
        #expect(try size(picture) == [800, 800])
        let strip = try await document(TestPDF(words: ["Far"], page: "/MediaBox [0 0 14400 3]"))
        let narrow = try? await strip.picture(of: 1, size: 800)
        #expect(try narrow.map { try size($0)[0] } ?? 800 == 800)

        var claim = TestPDF(words: ["One", "Two"])
        claim.objects[1] = claim.objects[1].replacing("/Count 2", with: "/Count 1000000")
        let claiming = try await document(claim)
        #expect(claiming.pageCount == 2)
        for page in [0, -1, 3, 1_000_000] {
            await #expect(throws: ResourceError(.notFound, "")) { try await claiming.picture(of: page, size: 800) }
            await #expect(throws: ResourceError(.notFound, "")) { try await claiming.words(of: page) }
        }
    }

    @Test func `from one that is encrypted without a password, whatever it permits`() async throws {
        let (qpdf, plain) = (try requirePeer("qpdf"), directory.write("plain.pdf", TestPDF(words: ["Alpha"]).bytes))
        let path = directory.file("closed.pdf")
        try await checkProcess([qpdf, "--encrypt", "", "captain", "256", "--print=none", "--extract=n", "--", plain, path])
        let document = try await RenderedDocument(FileResource(Link(href: "a.pdf"), path: path))
        #expect(try await document.words(of: 1).blocks.first?.first?.first?.text == "Alpha")
        #expect(try size(await document.picture(of: 1, size: 800)) == [534, 800])
    }

    @Test func `stops rendering when all callers cancel`() async throws {
        // fills a large page again and again
        let content = String(repeating: "0 0 300 300 re f\n", count: 200_000)
        let slow = try await document(
            TestPDF([
                "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R >>",
                "<< /Length \(content.utf8.count) >>\nstream\n\(content)\nendstream",
            ])
        )
        let start = ContinuousClock.now
        let drawing = Task { try await slow.picture(of: 1, size: 2700) }
        try await Task.sleep(for: .milliseconds(500))
        drawing.cancel()
        await #expect(throws: ResourceError(.cancelled, "")) { try await drawing.value }
        #expect(ContinuousClock.now - start < .seconds(5))
        // a canceled request is not started when its turn comes
        let never = Task { try await slow.picture(of: 1, size: 2700) }
        never.cancel()
        await #expect(throws: ResourceError(.cancelled, "")) { try await never.value }
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    @Test func `nowhere without the programs, and that is said`() async throws {
        let resource = BytesResource(Link(href: "a.pdf"), TestPDF(words: ["Alpha"]).bytes)
        do {
            _ = try await RenderedDocument(resource, Poppler(path: directory.path))
            Issue.record("it was opened")
        } catch {
            #expect(error == ResourceError(.unavailable, "") && error.message.contains("poppler-utils"))
        }
        let text = BytesResource(Link(href: "a.pdf"), Array("no document".utf8))
        await #expect(throws: ResourceError(.malformed, "")) { try await RenderedDocument(text) }
    }

    @Test func `with a reason where they are not`() async throws {
        func outcome(_ script: String, seconds: Int = 60) async throws -> [ResourceError] {
            for program in ["pdftoppm", "pdftotext"] {
                unsafe chmod(programs.write(program, Array("#!/bin/sh\n\(script)\n".utf8)), 0o755)
            }
            let document = try await RenderedDocument(
                BytesResource(Link(href: "a.pdf"), TestPDF(words: ["Alpha"]).bytes),
                // before the real ones
                Poppler(path: "\(programs.path):\(Poppler.path)", seconds: seconds)
            )
            var errors: [ResourceError] = []
            do throws(ResourceError) { _ = try await document.picture(of: 1, size: 800) } catch { errors.append(error) }
            do throws(ResourceError) { _ = try await document.words(of: 1) } catch { errors.append(error) }
            return errors
        }
        #expect(try await outcome("echo no picture") == [ResourceError(.malformed, "")], "the words of nothing are none")
        let missing = ResourceError(.unavailable, "")
        #expect(try await outcome("exit 127") == [missing, missing], "as prlimit says of what it cannot run")
        #expect(try await outcome("exit 3") == Array(repeating: ResourceError(.malformed, ""), count: 2))
        #expect(try await outcome("ulimit -t 1; while :; do :; done") == Array(repeating: ResourceError(.tooLarge, ""), count: 2))
        let flood = "while :; do echo 0123456789012345678901234567890123456789012345678901234567890123456789; done"
        let late = Array(repeating: ResourceError(.tooLarge, ""), count: 2)
        #expect(try await outcome("sleep 600", seconds: 1) == late)
        #expect(try await outcome("exec >&-; sleep 600", seconds: 1) == late, "having said all")
        #expect(try await outcome(flood) == Array(repeating: ResourceError(.tooLarge, ""), count: 2))
    }

    /// pdftotext's output.
    private func words(_ lines: String) -> PageWords {
        PageWords(
            Array(
                """
                <!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "x"><html xmlns="http://www.w3.org/1999/xhtml">
                <head><title>A\u{1}</title></head><body><doc><page width="200.000000" height="nan"><flow><block>\(lines)</block>
                </flow></page></doc></body></html>
                """.utf8
            )
        )
    }

    @Test func `with words that have a place, and not more than a page has`() {
        let word = { (text: String, right: String) in
            "<word xMin=\"1.004\" yMin=\"2\" xMax=\"\(right)\" yMax=\"4\">\(text)</word>"
        }
        let some = words(
            "<line>\(word("a\u{2}b", "3"))\(word("", "3"))\(word("c", "inf"))\(word("d", "1"))\(word("e", "1e300"))</line><line></line>"
        )
        #expect(some.blocks == [[[PageWords.Word(text: "ab", x: 1, y: 2, width: 2, height: 2)]]])
        #expect(some.width == 200 && some.height == 0)
        let many = words("<line>\(String(repeating: word("w", "3"), count: 20_001))</line>")
        #expect(many.blocks.joined().joined().count == 20_000)
        let long = words("<line>\(word(String(repeating: "w", count: 2000), "3"))</line>")
        #expect(long.blocks.first?.first?.first?.text.count == 1000)
        for broken in ["", "<html", "<html><body/></html>"] { #expect(PageWords(Array(broken.utf8)).blocks.isEmpty) }
    }
}
