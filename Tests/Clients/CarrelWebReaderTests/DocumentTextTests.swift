// SPDX-License-Identifier: Apache-2.0

import CarrelReader
import CarrelBytes
import CarrelJSON
import CarrelPublication
import CarrelTesting
import Testing

@testable import CarrelWebReader

@Suite("The text of a document")
struct DocumentTextTests {
    @Test(arguments: [
        ("<p>One</p><p>two</p>", "One two"),
        ("<p>aw<b>ay</b> with <i>it</i></p>", "away with it"),
        ("a&amp;b &#8212; &#x201C;c&#x201D; &eacute; &unknown; & d", "a&b — “c” é &unknown; & d"),
        ("<head><title>no</title></head><body>yes<script>if (a < b) no()</script><style>no{}</style> more</body>", "yes more"),
        ("<SCRIPT>no</Script>yes", "yes"),
        ("x<!-- no <p> -->y<?pi no?>z", "xyz"),
        ("<![CDATA[1 < 2]]>", "1 < 2"),
        ("<p title='a > b'>c</p>", "c"),
        ("soft\u{ad}hyphen &shy; and\u{a0}space", "softhyphen and space"),
        ("  \n a \t b  ", "a b"),
        ("<script/>seen", "seen"),
        ("m&aacute;s S&atilde;o &CounterClockwiseContourIntegral; &fjlig; AT&ampT", "más São ∳ fj AT&T"),
        ("<p", ""), ("<", ""), ("&", "&"), ("<!--", ""), ("<script>", ""), ("<![CDATA[", ""),
    ])
    func `is what its reader sees`(source: String, text: String) {
        #expect(String(String.UnicodeScalarView(DocumentText(source).scalars)) == text)
    }

    @Test func `ends whatever is cut off`() {
        let source = Array(
            "<?xml version='1.0'?><!DOCTYPE html [<!ENTITY a 'b'>]><html><p title=\"x\">a&amp;<b>c</b></p><!-- d --></html>".utf8
        )
        for end in source.indices { _ = DocumentText(Array(source[..<end])) }
        #expect(DocumentText([0xff, 0xfe, 0x3c]) == nil)
        #expect(DocumentText([0xff, 0xfe, 0x3c, 0, 0x62, 0, 0x3e, 0, 0xe1, 0])?.scalars == ["á"])
    }
}

@Suite("The place for the reader's script")
struct RootTagTests {
    @Test(arguments: [
        ("<html>|<head/>", true), ("<?xml version=\"1.0\"?>\n<!DOCTYPE html>\n<html lang=\"en\">|<head>", true),
        ("<!DOCTYPE html [<!ENTITY a \"]>\"> <!ENTITY b '>'>]><h:html xmlns:h=\"a>b\">|x", true),
        ("\u{feff}<!-- <html> --><html>|", true), ("<!-- a --><!-- b --> <svg viewBox='0 0 1 1'>|", true),
        ("<!DOCTYPE html [<!-- it's one --><?it's another> ?>]><html>|", true),
        ("<html/>", false), ("plain", false), ("", false), ("<html", false), ("<!-- <html>", false), ("<!DOCTYPE html", false),
        ("< html>", false), ("<?xml", false),
    ])
    func `is after the root's start tag`(source: String, isThere: Bool) {
        let parts = source.split(separator: "|", omittingEmptySubsequences: false)
        let bytes = Array(parts.joined().utf8)
        #expect(RootTag.end(in: bytes) == (isThere ? parts[0].utf8.count : nil))
        for end in bytes.indices { _ = RootTag.end(in: Array(bytes[..<end])) }
    }

    @Test func `moves every byte after it without loss`() async throws {
        let source = Array("<!DOCTYPE html><html><body>text</body></html>".utf8)
        let plain = BytesResource(Link(href: "a.html"), source)
        let scripted = try #require(try await ScriptedDocument.adding(to: plain))
        let length = try await scripted.length()
        let whole = try await scripted.read(0..<length)
        #expect(
            String(decoding: whole, as: UTF8.self)
                == "<!DOCTYPE html><html><script xmlns=\"http://www.w3.org/1999/xhtml\" src=\"/assets/read-words.js\"></script>"
                + "<script xmlns=\"http://www.w3.org/1999/xhtml\" src=\"/assets/read-styles.js\"></script>"
                + "<script xmlns=\"http://www.w3.org/1999/xhtml\" src=\"/assets/read-frame.js\"></script><body>text</body></html>"
        )
        for first in 0..<length {
            for last in first..<length {
                let part = try await scripted.read(first..<last)
                #expect(part == Array(whole[Int(first)..<Int(last)]))
            }
        }
        let past = try await scripted.read(length - 2..<length + 10)
        #expect(past == Array(whole.suffix(2)))
        let unscripted = try await ScriptedDocument.adding(to: BytesResource(Link(href: "a.html"), Array("no tag".utf8)))
        #expect(unscripted?.link == nil)
    }
}

@Suite("An annotation")
struct ReaderAnnotationTests {
    private func annotation(_ change: (inout JSONObject) -> Void) -> ReaderAnnotation? {
        var object: JSONObject = [
            "@context": "http://www.w3.org/ns/anno.jsonld", "id": "urn:uuid:1", "type": "Annotation",
            "created": "2026-01-02T03:04:05.678Z", "motivation": "highlighting",
            "target": [
                "source": "EPUB/a.xhtml", "styleClass": "blue",
                "selector": [
                    ["type": "TextQuoteSelector", "exact": "words", "prefix": "some ", "suffix": " more"],
                    ["type": "ProgressionSelector", "value": 0.25],
                ],
            ],
        ]
        change(&object)
        return ReaderAnnotation(.object(object))
    }

    @Test func `reads a document as written`() throws {
        let plain = try #require(annotation { _ in })
        #expect(plain.color == .blue && plain.progression == 0.25 && plain.note == nil)
        #expect(ReaderAnnotation(plain.json) == plain)
        let note = try #require(annotation { $0["body"] = ["type": "TextualBody", "value": "A note"] })
        #expect(note.note == "A note" && note.json["motivation"]?.string == "commenting")
        #expect(ReaderAnnotation(note.json) == note)
    }

    @Test func `imports third-party documents in any wrapper`() throws {
        let one = try #require(
            annotation { $0["target"] = ["source": "a.xhtml", "selector": ["type": "TextQuoteSelector", "exact": "x"]] }
        )
        #expect(one.color == .yellow && one.progression == nil)
        let wrapped: [JSON] = [
            one.json, [one.json], ["type": "AnnotationPage", "items": [one.json]],
            ["type": "AnnotationSet", "items": [one.json]],
            ["type": "AnnotationCollection", "first": ["type": "AnnotationPage", "items": [one.json]]],
            ReaderAnnotation.collection([one], of: "A book"),
        ]
        for json in wrapped { #expect(ReaderAnnotation.list(json) == [one]) }
    }

    @Test func `that is none is refused`() {
        #expect(annotation { $0["type"] = "Other" } == nil)
        #expect(annotation { $0["id"] = nil } == nil)
        #expect(annotation { $0["id"] = "a/b" } == nil)
        #expect(annotation { $0["id"] = .string(String(repeating: "x", count: 201)) } == nil)
        #expect(annotation { $0["target"] = "EPUB/a.xhtml" } == nil)
        #expect(annotation { $0["target"] = ["source": "https://elsewhere.example/", "selector": []] } == nil)
        #expect(
            annotation { $0["target"] = ["source": "../../a", "selector": ["type": "TextQuoteSelector", "exact": "x"]] } == nil
        )
        #expect(
            annotation { $0["body"] = ["type": "TextualBody", "value": .string(String(repeating: "x", count: 64_001))] } == nil
        )
    }
}

@Suite("What a reader leaves in a publication")
struct ReadingRecordTests {
    private let directory = TemporaryDirectory()

    @Test func `is kept for its owner alone, under the same name for every copy`() async throws {
        let book = TestBook.sentences(chapters: 1, paragraphs: 1)
        let publication = try await book.open()
        let folder = directory.file("a/b")
        let records = try ReadingRecords(folder: folder, publication: publication)
        let place = Locator(href: "EPUB/chapter1.xhtml", mediaType: Manifest.mediaType)
        #expect(try await records.place() == nil)
        try await records.setPlace(place)
        #expect(try await records.place() == place)
        let names = try await checkProcess([
            "stat", "-c", "%a %n", folder, folder + "/" + (try await checkProcess(["ls", folder])).split(separator: "\n")[0],
        ])
        #expect(names.split(separator: "\n").map { $0.prefix(3) } == ["700", "600"])
        let copy = try await TestBook.sentences(chapters: 1, paragraphs: 1).open(packed: true)
        #expect(try await ReadingRecords(folder: folder, publication: copy).place() == place)
        #expect(try await records.update { _ in false } == false)
        publication.close()
        copy.close()
    }

    @Test func `is not overwritten when it cannot be read`() async throws {
        let publication = try await TestBook.sentences(chapters: 1, paragraphs: 1).open()
        let records = try ReadingRecords(folder: directory.path, publication: publication)
        _ = try await records.update { _ in true }
        let name = try #require(try await checkProcess(["ls", directory.path]).split(separator: "\n").first.map(String.init))
        directory.write(name, "{ broken")
        await #expect(throws: ReaderError.self) { try await records.update { _ in true } }
        #expect(directory.read(name) == Array("{ broken".utf8))
        publication.close()
    }

    @Test func `is refused where it would be too long, and stays as it was`() async throws {
        let publication = try await TestBook.sentences(chapters: 1, paragraphs: 1).open()
        let records = try ReadingRecords(folder: directory.path, publication: publication, limit: 4000)
        func annotation(_ number: Int) throws -> ReaderAnnotation {
            let quote: JSON = ["type": "TextQuoteSelector", "exact": .string(String(repeating: "x", count: 1000))]
            let target: JSON = ["source": "a", "selector": quote]
            return try #require(ReaderAnnotation(["id": .string("urn:\(number)"), "type": "Annotation", "target": target]))
        }
        var kept: [Bool] = []
        for number in 0..<5 {
            let one = try annotation(number)
            kept.append(try await records.update { $0.put(one) })
        }
        #expect(kept == [true, true, true, false, false])
        #expect(try await records.record().annotations.count == 3)
        // and the existing records can be read again and shortened
        _ = try await records.update {
            $0.annotations.removeLast(); return true
        }
        #expect(try await records.record().annotations.count == 2)
        publication.close()
    }

    @Test func `has a limit`() throws {
        func annotation(_ id: String) throws -> ReaderAnnotation {
            let target: JSON = ["source": "a", "selector": ["type": "TextQuoteSelector", "exact": "x"]]
            return try #require(ReaderAnnotation(["id": .string(id), "type": "Annotation", "target": target]))
        }
        var record = ReadingRecord()
        record.annotations = Array(repeating: try annotation("urn:a"), count: ReadingRecord.annotationLimit)
        let isReplaced = record.put(try annotation("urn:a"))
        let isAdded = record.put(try annotation("urn:b"))
        #expect(isReplaced && !isAdded)
    }
}
