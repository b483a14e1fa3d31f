// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

@testable import CarrelPDF

@Suite("A PDF document")
struct PDFDocumentTests {
    private let directory = TemporaryDirectory()

    private func describe(_ pdf: TestPDF) throws -> PDFDescription { try describe(pdf.bytes) }

    private func describe(_ bytes: [UInt8]) throws -> PDFDescription {
        let path = directory.write("a.pdf", bytes)
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        return try PDFReader(descriptor: descriptor).describe()
    }

    @Test func `says who wrote it in its information, its XMP packet, and its catalog`() throws {
        var plain = TestPDF(
            pages: 2,
            catalog: "/Lang (fr-CH)",
            others: [
                "<< /Title <FEFF00C900740065> /Author (A. One; B. Two) /Keywords (sea, ships) /Subject (On ships)"
                    + " /ModDate (D:20240131120000+01'00') >>"
            ]
        )
        plain.trailer = "/Info 5 0 R /ID [<00FF10> <00FF10>]"
        let said = try describe(plain)
        #expect(said.metadata.title == "Éte")
        #expect(said.metadata.authors == ["A. One", "B. Two"])
        #expect(said.metadata.subjects == ["sea", "ships"])
        #expect(said.metadata.description == "On ships")
        #expect(said.metadata.modified == "2024-01-31T12:00:00+01:00")
        #expect(said.metadata.languages == ["fr-CH"])
        #expect(said.metadata.identifier == "00ff10")
        #expect(said.pageCount == 2)
        #expect(said.outline.isEmpty && said.pageLabels.isEmpty && said.encryption == nil && said.warnings.isEmpty)

        let xmp = """
            <?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">\
            <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/" \
            xmlns:xmp="http://ns.adobe.com/xap/1.0/"><rdf:Description rdf:about="" xmp:ModifyDate="2023-05-06">\
            <dc:title><rdf:Alt><rdf:li xml:lang="de">Meer</rdf:li><rdf:li xml:lang="x-default">Sea</rdf:li></rdf:Alt></dc:title>\
            <dc:creator><rdf:Seq><rdf:li>C. Three</rdf:li></rdf:Seq></dc:creator><dc:identifier>urn:isbn:9780000000002</dc:identifier>\
            <dc:language><rdf:Bag><rdf:li>en</rdf:li></rdf:Bag></dc:language></rdf:Description></rdf:RDF></x:xmpmeta>
            """
        plain.objects[0] = "<< /Type /Catalog /Pages 2 0 R /Metadata 6 0 R >>"
        plain.objects.append("<< /Type /Metadata /Subtype /XML /Length \(xmp.utf8.count) >>\nstream\n\(xmp)\nendstream")
        let both = try describe(plain).metadata
        #expect(both.title == "Sea")
        #expect(both.authors == ["C. Three"])
        #expect(both.languages == ["en"])
        #expect(both.identifier == "urn:isbn:9780000000002")
        #expect(both.modified == "2023-05-06")
        // what the packet does not say
        #expect(both.subjects == ["sea", "ships"])
    }

    @Test func `has an outline that leads to its pages, by page, by name, and by action`() throws {
        let pdf = TestPDF(
            pages: 3,
            catalog: "/Outlines 6 0 R /Names << /Dests 11 0 R >> /Dests << /old [4 0 R /Fit] >>",
            others: [
                "<< /First 7 0 R /Last 10 0 R >>",
                "<< /Title (One) /Dest [3 0 R /Fit] /Next 8 0 R /First 12 0 R >>",
                "<< /Title (Two) /A << /S /GoTo /D (second) >> /Next 9 0 R >>",
                "<< /Title (Old) /Dest /old /Next 10 0 R >>",
                "<< /Title (Web) /A << /S /URI /URI (https://example.org) >> >>",
                "<< /Names [(second) << /D [5 0 R /XYZ 0 0 0] >>] >>",
                "<< /Title (One and a half) /Dest [1 /Fit] >>",
            ]
        )
        #expect(
            try describe(pdf).outline == [
                PDFOutlineItem(title: "One", page: 0, children: [PDFOutlineItem(title: "One and a half", page: 1)]),
                PDFOutlineItem(title: "Two", page: 2), PDFOutlineItem(title: "Old", page: 1),
                PDFOutlineItem(title: "Web", page: nil),
            ]
        )
    }

    @Test func `has names for its pages`() throws {
        let labels = "/PageLabels << /Nums [0 << /S /r >> 4 << /S /D /St 7 >> 6 << /P (A-) /S /A >> 7 << /P (end) >>] >>"
        let pdf = TestPDF(pages: 8, catalog: labels)
        #expect(try describe(pdf).pageLabels == ["i", "ii", "iii", "iv", "7", "8", "A-A", "end"])
        #expect(PDFPageLabels.number(1994, "/R") == "MCMXCIV")
        #expect(PDFPageLabels.number(27, "/a") == "aa")
        #expect(PDFPageLabels.number(54, "/A") == "BBB")
        #expect(PDFPageLabels.number(1_000_000_000, "/R") == "1000000000")
    }

    @Test func `whose outline goes in circles ends, with a warning`() throws {
        let pdf = TestPDF(
            pages: 1,
            catalog: "/Outlines 4 0 R",
            others: [
                "<< /First 5 0 R >>", "<< /Title (A) /Dest [3 0 R] /Next 6 0 R >>", "<< /Title (B) /First 5 0 R /Next 5 0 R >>",
            ]
        )
        let said = try describe(pdf)
        #expect(said.outline == [PDFOutlineItem(title: "A", page: 0), PDFOutlineItem(title: "B", page: nil)])
        #expect(said.warnings == ["a part of the outline is left out"])
    }

    @Test func `cuts off an outline beyond the depth limit, with a warning`() throws {
        let items = (0..<20_000).map { "<< /Title (\($0)) /First \($0 + 6) 0 R >>" }
        let pdf = TestPDF(pages: 1, catalog: "/Outlines 4 0 R", others: ["<< /First 5 0 R >>"] + items)
        #expect(try describe(pdf).warnings.contains("a part of the outline is left out"))
    }

    @Test func `whose page tree goes in circles, or is as deep as the sea, loses pages, with a warning`() throws {
        var pdf = TestPDF(pages: 2)
        pdf.objects[1] = "<< /Type /Pages /Count 3 /Kids [3 0 R 2 0 R 4 0 R] >>"
        let circle = try describe(pdf)
        #expect(circle.pageCount == 2)
        #expect(circle.warnings.contains("some pages of the document cannot be found"))
        var deep = TestPDF(pages: 1)
        deep.objects[1] = "<< /Type /Pages /Count 1 /Kids [3 0 R 4 0 R] >>"
        deep.objects += (0..<50_000).map { "<< /Type /Pages /Count 1 /Kids [\($0 + 5) 0 R] >>" }
        let said = try describe(deep)
        #expect(said.pageCount == 1)
        #expect(said.warnings.contains("some pages of the document cannot be found"))
        let path = directory.write("deep.pdf", deep.bytes)
        let (from, to) = unsafe (open(path, O_RDONLY), open(directory.file("out"), O_RDWR | O_CREAT, 0o600))
        defer { _ = (close(from), close(to)) }
        // libqpdf would walk it by calling itself
        #expect(throws: PDFError(.damaged, "")) { try PDFDocument(descriptor: from).writeDecrypted(to: to) }
    }

    @Test func `that says it has more pages than it has is counted`() throws {
        var pdf = TestPDF(pages: 3)
        pdf.objects[1] = "<< /Type /Pages /Count 2000000000 /Kids [3 0 R 4 0 R 5 0 R 3 0 R] >>"
        #expect(try describe(pdf).pageCount == 4)
    }

    @Test(arguments: ["", "%PDF-1.7\n", "%PDF-1.7\ntrailer << /Root 1 0 R >>\n%%EOF", "not a document"])
    func `that is none is an error`(text: String) {
        #expect(throws: PDFError(.damaged, "")) { try describe(Array(text.utf8)) }
    }

    /// As honest ones of others: pages by the ten thousand, pages full of links. Under a sanitizer a tenth of them.
    @Test func `that is large gets the memory and the time that reading it takes`() throws {
        let scale = unsafe getenv("CARREL_SANITIZER") != nil ? 10 : 1
        #expect(try describe(TestPDF(pages: 60_000 / scale)).pageCount == 60_000 / scale)
        let (pages, links) = (2500 / scale, 100)
        var pdf = TestPDF(pages: pages)
        for page in 0..<pages {
            let first = pdf.objects.count + 1
            let all = (first..<first + links).map { "\($0) 0 R" }.joined(separator: " ")
            pdf.objects[page + 2] = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Annots [\(all)] >>"
            pdf.objects += (0..<links).map {
                "<< /Type /Annot /Subtype /Link /Rect [0 \($0) 9 9] /A << /S /URI /URI (https://example.org/\($0)) >> >>"
            }
        }
        #expect(try describe(pdf).pageCount == pages)
    }

    /// With the allocator of the command, which the tests link, too.
    @Test(
        .enabled(if: unsafe getenv("CARREL_SANITIZER") == nil, "sanitizers keep what is freed"),
        arguments: [200, 1024, 4096, 100 << 10]
    )
    func `cannot use what the process that opens it had and gave back`(size: Int) throws {
        /// With every second one of the large ones kept, so that there are holes.
        func isKept(_ place: Int) -> Bool { size > 4096 && place % 2 == 1 }
        let pieces = unsafe (0..<(256 << 20) / size).map { _ in
            let piece = unsafe malloc(size)
            unsafe piece?.initializeMemory(as: UInt8.self, repeating: 1, count: size)
            return unsafe piece
        }
        func free(_ isWanted: (Int) -> Bool) {
            for place in unsafe pieces.indices where isWanted(place) { unsafe Glibc.free(pieces[place]) }
        }
        free { !isKept($0) }
        defer { free(isKept) }
        let answer = try PDFChild.run(keeping: [], .init(memory: 32 << 20, milliseconds: 10_000)) { () throws(PDFError) in
            var taken = 0
            while taken < 200 << 20, let piece = unsafe malloc(size) {
                unsafe piece.initializeMemory(as: UInt8.self, repeating: 2, count: size)
                taken += size
            }
            return .integer(Int64(taken))
        }
        let taken = try #require(answer.int)
        #expect((16 << 20...40 << 20).contains(taken), "\(taken >> 20) MiB")
    }

    @Test func `may ask for more the longer it is, and is told how much`() throws {
        let limits = PDFChild.Limits(fileSize: 1 << 20)
        #expect(limits.memory == 96 << 20 && limits.milliseconds == 1500)
        #expect(PDFChild.Limits(fileSize: 0).memory == 32 << 20)
        #expect(PDFChild.Limits(fileSize: 1 << 40).memory == 2 << 30)
        #expect(PDFChild.Limits(fileSize: 1 << 40).milliseconds == 300_000)
        let error = #expect(throws: PDFError(.tooLarge, "")) {
            try PDFChild.run(keeping: [], .init(memory: 64 << 20, milliseconds: 200)) { () throws(PDFError) in
                while getppid() > 0 {}
                return .null
            }
        }
        #expect(error?.message.contains("200 ms of processor time; 500 ms and 1 s for each MiB") == true)
    }

    @Test func `whose reader dies or does not end is refused`() throws {
        let limits = PDFChild.Limits(memory: 64 << 20, milliseconds: 300)
        #expect(throws: PDFError(.tooLarge, "")) {
            try PDFChild.run(keeping: [], limits) { () throws(PDFError) in
                while getppid() > 0 {}
                return .null
            }
        }
        #expect(throws: PDFError(.tooLarge, "")) {
            try PDFChild.run(keeping: [], limits) { () throws(PDFError) in
                abort()
            }
        }
        let answer = try PDFChild.run(keeping: [], limits) { () throws(PDFError) in .bool(true) }
        #expect(answer.bool == true)
        #expect(throws: PDFError(.password, "")) {
            try PDFChild.run(keeping: [], limits) { () throws(PDFError) in throw PDFError(.password, "no") }
        }
    }

    @Test func `whose reader closes its pipe and stays is refused, and the reader is killed and reaped`() throws {
        var ends: [Int32] = [-1, -1]
        let isMade = unsafe pipe(&ends) == 0
        #expect(isMade)
        defer { for end in ends { close(end) } }
        let (waiting, start) = (ends[0], ContinuousClock.now)
        let limits = PDFChild.Limits(memory: 64 << 20, milliseconds: 20_000)
        #expect(throws: PDFError(.tooLarge, "")) {
            try PDFChild.run(keeping: [waiting], limits, patience: 200) { () throws(PDFError) in
                for descriptor in Int32(3)..<1024 where descriptor != waiting { close(descriptor) }
                var byte: UInt8 = 0
                _ = unsafe read(waiting, &byte, 1)
                return .null
            }
        }
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    @Test func `releases a canceled document's reader immediately`() throws {
        let cancellation = PDFCancellation()
        startThread(name: "cancel") {
            usleep(300_000)
            cancellation.cancel()
        }
        let limits = PDFChild.Limits(memory: 64 << 20, milliseconds: 20_000)
        let start = ContinuousClock.now
        #expect(throws: PDFError(.cancelled, "")) {
            try PDFChild.run(keeping: [], limits, cancellation) { () throws(PDFError) in
                while getppid() > 0 {}
                return .null
            }
        }
        #expect(ContinuousClock.now - start < .seconds(10))
        // what waits for a thread still does not begin
        let path = directory.write("a.pdf", TestPDF(pages: 1).bytes)
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(throws: PDFError(.cancelled, "")) {
            try PDFReader(descriptor: descriptor, cancellation: cancellation).describe()
        }
        let others = PDFReader(descriptor: descriptor, cancellation: PDFCancellation())
        #expect(try others.describe().pageCount == 1)
    }

    @Test func `is given what its bytes are worth, and nothing for holes`() throws {
        let path = directory.write("hole.pdf", TestPDF(pages: 1).bytes)
        let descriptor = unsafe open(path, O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        let before = PDFReader(descriptor: descriptor).limits
        try #require(ftruncate(descriptor, 8 << 40) == 0)
        let after = PDFReader(descriptor: descriptor).limits
        #expect(after.memory <= before.memory + 1 << 20 && after.milliseconds <= before.milliseconds + 10)
        // more than there is
        let most = PDFChild.Limits(fileSize: .max)
        #expect(most.memory == 2 << 30 && most.milliseconds == 300_000)
    }

    @Test func `whose reader writes without end is refused`() throws {
        let path = directory.write("out", "")
        let target = unsafe open(path, O_RDWR | O_CLOEXEC)
        defer { close(target) }
        let limits = PDFChild.Limits(memory: 8 << 20, milliseconds: 5000)
        #expect(throws: PDFError(.tooLarge, "")) {
            try PDFChild.run(keeping: [target], limits) { () throws(PDFError) in
                let piece = [UInt8](repeating: 1, count: 1 << 20)
                while unsafe write(target, piece, piece.count) > 0 {}
                return .null
            }
        }
        var status = stat()
        #expect(unsafe fstat(target, &status) == 0 && status.st_size <= 8 << 20)
    }

    /// The possible damage by a document that takes over its reader.
    @Test func `whose reader is taken over reaches no file, socket or process`() throws {
        let path = directory.write("own", [1, 2, 3])
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let answer = try PDFChild.run(keeping: [descriptor], .init(memory: 64 << 20, milliseconds: 5000)) { () throws(PDFError) in
            let tries: [(String, () -> Int32)] = [
                ("its own", { unsafe open("/proc/self/fd/\(descriptor)", O_RDONLY) }),
                ("its own, to write", { unsafe open("/proc/self/fd/\(descriptor)", O_WRONLY | O_TRUNC) }),
                ("its owner", { fcntl(descriptor, F_SETOWN, getppid()) }),
                ("another", { unsafe open("/etc/passwd", O_RDONLY) }),
                ("the same by its name", { unsafe open(path, O_RDONLY) }),
                ("new", { unsafe open(path + ".new", O_WRONLY | O_CREAT, 0o600) }),
                ("socket", { socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) }),
                ("signal", { kill(getppid(), 0) }),
                ("process", { fork() }),
                ("removed", { unsafe unlink(path) }),
                ("renamed", { unsafe rename(path, path + ".old") }),
            ]
            return .array(tries.filter { $0.1() >= 0 }.map { .string($0.0) })
        }
        let done = answer.array?.compactMap { $0.string }
        // by Landlock and seccomp, which the tests of transcoding need, too
        #expect(done == ["its own", "the same by its name"])
    }

    @Test func `with a broken table of its objects is put together again`() throws {
        var bytes = TestPDF(pages: 2).bytes
        let place = try #require(bytes.indices.last { bytes[$0...].starts(with: "xref\n0".utf8) })
        bytes.replaceSubrange(place..<bytes.count, with: Array("trailer << /Root 1 0 R /Size 5 >> startxref 99999 %%EOF".utf8))
        let said = try describe(bytes)
        #expect(said.pageCount == 2)
        #expect(!said.warnings.isEmpty)
    }

    @Test func `reads dates of every precision`() {
        #expect(PDFText.date("D:2024") == "2024")
        #expect(PDFText.date("D:20241") == "2024")
        #expect(PDFText.date("202412") == "2024-12")
        #expect(PDFText.date("D:20241231") == "2024-12-31")
        #expect(PDFText.date("D:202412312359Z") == "2024-12-31T23:59:00Z")
        #expect(PDFText.date("D:20241231235959-08'30'") == "2024-12-31T23:59:59-08:30")
        #expect(PDFText.date("D:20241399") == "2024")
        #expect(PDFText.date("yesterday") == nil)
    }

    @Test func `takes a password in both encodings that are about`() {
        #expect(PDFDocument.encodings(of: "abc") == [Array("abc".utf8)])
        #expect(PDFDocument.encodings(of: "é") == [[0xc3, 0xa9], [0xe9]])
        #expect(PDFDocument.encodings(of: "€•ž") == [Array("€•ž".utf8), [0xa0, 0x80, 0x9e]])
        #expect(PDFDocument.encodings(of: "日") == [Array("日".utf8)])
    }
}
