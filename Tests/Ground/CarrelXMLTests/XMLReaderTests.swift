// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTesting
import CarrelXML
import Testing

struct `An XML reader` {
    /// The events of a document that arrives in pieces of this size.
    private func events(
        _ bytes: [UInt8],
        pieces size: Int = 1 << 20,
        limits: XMLLimits = XMLLimits()
    ) throws(Malformed) -> [XMLEvent] {
        var reader = XMLReader(limits: limits)
        var events: [XMLEvent] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            events += try reader.read(bytes.rawSpan.extracting(start..<min(start + size, bytes.count)))
        }
        return events + (try reader.finish())
    }

    private func refusal(_ text: String, limits: XMLLimits = XMLLimits()) -> Malformed? {
        do throws(Malformed) {
            _ = try events(Array(text.utf8), limits: limits)
            return nil
        } catch {
            return error
        }
    }

    @Test func `tells elements, attributes, texts and name spaces in order`() throws {
        let text = """
            <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
            <!-- before --><a xmlns="urn:a" xmlns:x='urn:x' x:one="1 &lt;&amp;&#38; &#x32;" two=""><x:b/>t&amp;<!-- in -->u<![CDATA[<v>]]></a>
            <?end?>
            """
        let a = XMLName("a", namespace: "urn:a")
        let b = XMLName("b", namespace: "urn:x")
        let attributes = [
            XMLAttribute(XMLName("one", namespace: "urn:x"), "1 <&& 2"), XMLAttribute(XMLName("two"), ""),
        ]
        let expected: [XMLEvent] = [
            .start(a, attributes: attributes), .start(b, attributes: []), .end(b), .text("t&u<v>"), .end(a),
        ]
        #expect(try events(Array(text.utf8)) == expected)
    }

    /// Writes down what it is told, as events.
    private final class Writer: XMLVisitor {
        var events: [XMLEvent] = []
        var open: [XMLName] = []
        let takesText: Bool

        init(takesText: Bool) {
            self.takesText = takesText
        }

        func start(_ tag: borrowing XMLTag) {
            let element = tag.element
            events.append(.start(element.name, attributes: element.attributes))
            open.append(element.name)
            for attribute in element.attributes where attribute.name.local == "one" {
                #expect(
                    tag.value("one") == attribute.value && tag.has("one", attribute.value)
                        && !tag.has("one", attribute.value + "x")
                )
                #expect(tag["one"] == (attribute.name.namespace == nil ? attribute.value : nil))
            }
            #expect(tag.value("none") == nil && tag["none"] == nil && !tag.has("none", "") && !tag.isNamed("") && !tag.isIn(""))
            #expect(tag.isNamed("a") == (tag.local == "a") && tag.isIn("urn:a") == (element.name.namespace == "urn:a"))
        }

        func take(_ text: String) { events.append(.text(text)) }

        func end() {
            if let name = open.popLast() { events.append(.end(name)) }
        }
    }

    @Test(arguments: [true, false])
    func `tells a visitor what it tells in events`(takesText: Bool) throws {
        let text = """
            <!-- --><a xmlns="urn:a" xmlns:x='urn:x' x:one="1 &lt;&amp;" two=""><x:b/>t&amp;u<![CDATA[<v>]]><aa one="é"/>w</a>
            """
        let bytes = Array(text.utf8)
        let expected = try events(bytes).filter { event in
            if case .text = event { takesText } else { true }
        }
        #expect(expected.count == (takesText ? 8 : 6))
        for size in [1, 7, 1000] {
            let writer = Writer(takesText: takesText)
            var reader = XMLReader()
            for start in stride(from: 0, to: bytes.count, by: size) {
                try reader.read(bytes.rawSpan.extracting(start..<min(start + size, bytes.count)), telling: writer)
            }
            try reader.finish(telling: writer)
            #expect(writer.events == expected, "pieces of \(size) bytes")
        }
    }

    @Test(arguments: [true, false])
    func `has the same limits for a visitor`(takesText: Bool) {
        let limits = XMLLimits(bytes: 200, depth: 3, elements: 5, attributes: 2, text: 8, totalAttributes: 6)
        func refusal(_ text: String) -> String? {
            var reader = XMLReader(limits: limits)
            let writer = Writer(takesText: takesText)
            let bytes = Array(text.utf8)
            do throws(Malformed) {
                try reader.read(bytes.rawSpan, telling: writer)
                try reader.finish(telling: writer)
                return nil
            } catch { return error.what }
        }
        #expect(refusal("<a><b><c/></b>12345678<d>12345678</d></a>") == nil)
        for (text, words) in [
            ("<a><b><c><d/></c></b></a>", "deeper than 3"), ("<a><b/><b/><b/><b/><b/></a>", "more than 5 elements"),
            ("<a b='' c='' d=''/>", "more than 2 attributes"), ("<a>123456789</a>", "longer than 8 bytes"),
            ("<a>12345<!-- -->6789</a>", "longer than 8 bytes"), ("<a b='123456789'/>", "longer than 8 bytes"),
            ("<a b='' c=''><b b='' c=''/><b b='' c=''/><b b=''/></a>", "more than 6 attributes"),
            ("<a>\(String(repeating: "<!-- -->", count: 30))</a>", "longer than 200 bytes"), ("<a><b></a>", "does not match"),
        ] {
            #expect(refusal(text)?.contains(words) == true, "\(text): \(refusal(text) ?? "taken")")
        }
    }

    /// The position and the reason of a document's refusal.
    private func refusal(_ text: String, pieces size: Int, skippingDocumentType isSkipping: Bool = false) -> Malformed? {
        let limits = XMLLimits(bytes: 16 << 20, elements: 200_000, text: 8 << 20)
        var reader = XMLReader(limits: limits, documentType: isSkipping ? .skipped : .refused)
        let bytes = Array(text.utf8)
        do throws(Malformed) {
            for start in stride(from: 0, to: bytes.count, by: size) {
                _ = try reader.read(bytes.rawSpan.extracting(start..<min(start + size, bytes.count)))
            }
            _ = try reader.finish()
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [16 << 20, 100_000, 1000, 7])
    func `has no more attributes counted than a tag may have, however many there are`(size: Int) throws {
        // the library would compare each with all others before it reports any
        let attributes = (0..<200_000).map { "a\($0) = ''" }.joined(separator: " ")
        for tag in ["<a \(attributes)/>", "<b c='>'>\(String(repeating: " ", count: 70_000))<a \(attributes)/></b>"] {
            let found = try #require(refusal(tag, pieces: size))
            #expect(found.what == "an element of the XML has more than 32 attributes")
            #expect(found.offset < 200_000, "\(found)")
        }
    }

    @Test(arguments: [16 << 20, 100_000, 7])
    func `takes no text for attributes`(size: Int) {
        // of what has not ended the library looks through all again with every piece
        let count = size == 7 ? 2000 : 50_000
        let text = String(repeating: "a=\"c\" ", count: count)
        let value = String(repeating: "a=\"c\"> ", count: count)
        for document in [
            "<a>\(text)</a>", "<a><![CDATA[\(text)]]></a>", "<a><!--\(text)--></a>", "<a b='\(value)'/>", "<?p \(text)?><a/>",
        ] {
            #expect(refusal(document, pieces: size) == nil, "\(document.prefix(20))")
        }
    }

    @Test(arguments: [16 << 20, 1000, 7])
    func `takes no more of a DOCTYPE than the library makes short work of`(size: Int) {
        func declared(_ count: Int, _ prefix: String) -> String {
            "<!DOCTYPE a [<!ATTLIST b \((0..<count).map { "\(prefix)\($0) CDATA ''" }.joined(separator: " "))>]><a/>"
        }
        let words = "the XML's DOCTYPE declares more attributes than are taken"
        #expect(refusal(declared(256, "c"), pieces: size, skippingDocumentType: true) == nil)
        #expect(refusal(declared(257, "c"), pieces: size, skippingDocumentType: true)?.what == words)
        #expect(refusal(declared(4, "xmlns:c"), pieces: size, skippingDocumentType: true) == nil)
        #expect(refusal(declared(5, "xmlns:c"), pieces: size, skippingDocumentType: true)?.what == words)
        let values = (0..<100_000).map { "v\($0)" }.joined(separator: "|")
        for long in [
            declared(50_000, "c"), "<!DOCTYPE a [<!ATTLIST a b (\(values)) #IMPLIED>]><a/>",
            "<!DOCTYPE a [<!--\(values)--><!ATTLIST a b (v) #IMPLIED>]><a/>",
        ] {
            let found = refusal(long, pieces: size, skippingDocumentType: true)
            #expect(found?.what == "the XML's DOCTYPE is longer than 32768 bytes")
            #expect((32_768...40_000).contains(found?.offset ?? 0))
        }
    }

    @Test func `has no more than 256 name spaces in scope`() {
        func nested(_ depth: Int, _ count: Int) -> String {
            let names = (0..<count).map { " xmlns:p\($0)='urn:\($0)'" }.joined()
            // what declares nothing ends no scope but its own
            return String(repeating: "<a\(names)><b/>", count: depth) + String(repeating: "</a>", count: depth)
        }
        #expect(refusal("<r>\(String(repeating: nested(8, 32), count: 3))</r>", pieces: 1 << 20) == nil)
        let found = refusal("<r xmlns='urn:r'>\(nested(8, 32))</r>", pieces: 1 << 20)
        #expect(found?.what == "the XML has more than 256 name spaces in scope")
    }

    @Test func `reads what comes in any pieces as the same document`() throws {
        let long = String(repeating: "aé€😀\r\n", count: 400)
        let text =
            "\u{feff}<?xml version='1.0'?>\r\n<r a='é😀&#10;'>\(long)<é>€</é>&#x1F600;<![CDATA[]]]]>\(long)</r>\n<!-- é -->\n"
        let bytes = Array(text.utf8)
        let whole = try events(bytes)
        #expect(whole.count == 7)
        for size in [1, 2, 3, 5, 7, 64, 299, 300, 301, 511, 1000] {
            #expect(try events(bytes, pieces: size) == whole, "pieces of \(size) bytes")
        }
        let short = Array("\u{feff}<r a='é'>x&amp;y<b/>\r\n<!-- z --></r>".utf8)
        let all = try events(short)
        for place in 0...short.count {
            var reader = XMLReader()
            var found = try reader.read(short.rawSpan.extracting(0..<place))
            found += try reader.read(short.rawSpan.extracting(place..<short.count))
            found += try reader.finish()
            #expect(found == all, "split at \(place)")
        }
    }

    @Test(arguments: [
        ("", "the XML ends too early"),
        ("text", "the XML is empty or does not begin with a tag"),
        ("{\"json\": true}", "the XML is empty or does not begin with a tag"),
        ("<a>", "the XML ends too early"),
        ("<a></b>", "does not match its start tag"),
        ("<a/><b/>", "the XML ends too early, or goes on behind its end"),
        ("<a b='1' b='2'/>", "an attribute twice"),
        ("<a>&other;</a>", "an entity that is not declared"),
        ("<a>&#0;</a>", "a character that it cannot hold"),
        ("<a>\u{1}</a>", "a character that it cannot hold"),
        ("<x:a/>", "a prefix of the XML is not declared"),
        ("<!DOCTYPE a><a/>", "has a DOCTYPE"),
        (
            "<?xml version='1.0'?><!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN' 'http://127.0.0.1:1/x.dtd'><html/>",
            "has a DOCTYPE"
        ),
        ("<html><body><br></body></html>", "does not match its start tag"),
        ("<a>]]></a>", "not well-formed"),
        ("<a b=<c/>/>", "not well-formed"),
    ])
    func `refuses what is not well-formed`(text: String, problem: String) throws {
        let failure = try #require(refusal(text))
        #expect(failure.what.contains(problem), "\(failure)")
        for size in [1, 3] { #expect(throws: Malformed.self) { try events(Array(text.utf8), pieces: size) } }
    }

    @Test(arguments: [
        [0x3c, 0x61, 0x3e, 0xff, 0x3c, 0x2f, 0x61, 0x3e], [0x3c, 0x61, 0x3e, 0xc3, 0x28, 0x3c, 0x2f, 0x61, 0x3e],
        [0x3c, 0x61, 0x3e, 0xc0, 0xaf, 0x3c, 0x2f, 0x61, 0x3e], [0x3c, 0x61, 0x3e, 0xed, 0xa0, 0x80, 0x3c, 0x2f, 0x61, 0x3e],
        [0x3c, 0x61, 0x20, 0x62, 0x3d, 0x27, 0xe2, 0x82, 0x27, 0x2f, 0x3e],
        [0xef, 0xbb], [0x3c, 0x61, 0x3e, 0xc3],
    ])
    func `refuses bytes that are not UTF-8`(bytes: [UInt8]) {
        #expect(throws: Malformed.self) { try events(bytes) }
        #expect(throws: Malformed.self) { try events(bytes, pieces: 1) }
    }

    @Test func `takes the bytes as UTF-8 whatever they declare`() throws {
        let text = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>é</a>"
        #expect(try events(Array(text.utf8)).contains(.text("é")))
    }

    @Test func `says where the problem is`() throws {
        let found = try #require(refusal("<a>\n" + String(repeating: " ", count: 100) + "</b>"))
        #expect((100...110).contains(found.offset), "\(found)")
        #expect(refusal("<a/>", limits: XMLLimits(bytes: 3)) == Malformed("the XML is longer than 3 bytes", at: 3))
    }

    @Test func `neither expands nor fetches entities`() throws {
        var laughs = "<!DOCTYPE a [<!ENTITY l0 \"lol\">"
        for n in 1...30 { laughs += "<!ENTITY l\(n) \"" + String(repeating: "&l\(n - 1);", count: 10) + "\">" }
        let started = ContinuousClock.now
        for text in [
            laughs + "]><a>&l30;</a>",
            "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>",
            "<!DOCTYPE a [<!ENTITY % x SYSTEM \"http://127.0.0.1:1/\"> %x;]><a/>",
            "<!DOCTYPE a SYSTEM \"http://127.0.0.1:1/\"><a/>",
            "<!DOCTYPE a [<!ATTLIST a b CDATA 'default'>]><a/>",
        ] {
            #expect(refusal(text)?.what == "the XML has a DOCTYPE, which is not taken")
        }
        #expect(ContinuousClock.now - started < .seconds(2))
    }

    @Test func `keeps its limits`() {
        let limits = XMLLimits(bytes: 1 << 20, depth: 4, elements: 10, attributes: 3, text: 8)
        func nested(_ depth: Int) -> String {
            String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
        }
        #expect(refusal(nested(4), limits: limits) == nil)
        #expect(refusal(nested(5), limits: limits)?.what == "the XML nests its elements deeper than 4")
        #expect(refusal(nested(100_000), limits: XMLLimits()) != nil)
        #expect(refusal("<a>" + String(repeating: "<b/>", count: 9) + "</a>", limits: limits) == nil)
        let problem = refusal("<a>" + String(repeating: "<b/>", count: 10) + "</a>", limits: limits)?.what
        #expect(problem == "the XML has more than 10 elements")
        #expect(refusal("<a b='' c='' d=''/>", limits: limits) == nil)
        #expect(refusal("<a b='' c='' d='' e=''/>", limits: limits)?.what == "an element of the XML has more than 3 attributes")
        #expect(refusal("<a b='12345678'>12345678</a>", limits: limits) == nil)
        #expect(refusal("<a b='123456789'/>", limits: limits)?.what == "an attribute of the XML is longer than 8 bytes")
        #expect(refusal("<a>1234<!-- -->56789</a>", limits: limits)?.what == "a text of the XML is longer than 8 bytes")
        #expect(refusal("<a>" + String(repeating: "&amp;", count: 9) + "</a>", limits: limits) != nil)
        #expect(refusal("<a b='" + String(repeating: "x", count: 1 << 19) + "'/>") != nil)
    }

    @Test func `keeps a name space once, however many names are in it`() throws {
        let uri = "http://" + String(repeating: "a", count: 2041)
        #expect(refusal("<a xmlns='\(uri)'/>") == nil)
        for document in ["<a xmlns='\(uri)a'/>", "<b><a xmlns='' xmlns:p='\(uri)a'/></b>"] {
            #expect(refusal(document)?.what == "a name space of the XML is longer than 2048 bytes")
        }
        let document = "<a xmlns='\(uri)' xmlns:p='\(uri)'>" + String(repeating: "<b p:c=''/>", count: 1000) + "</a>"
        var names: [XMLName] = []
        for event in try events(Array(document.utf8)) {
            switch event {
            case .start(let name, let attributes): names += [name] + attributes.map(\.name)
            case .end(let name): names.append(name)
            case .text: break
            }
        }
        #expect(names.count == 3002)
        #expect(names.allSatisfy { $0.namespace == uri })
        // The same bytes in memory, not a copy for each.
        let places = names.map { name in
            unsafe name.namespace?.utf8.withContiguousStorageIfAvailable { UInt(bitPattern: $0.baseAddress) }
        }
        #expect(Set(places).count == 1 && places[0] != nil)
    }

    @Test func `reads back what the writer wrote`() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            func text() -> String {
                let scalars = (0..<Int.random(in: 0...30, using: &generator)).compactMap { _ in
                    Unicode.Scalar(
                        UInt32.random(in: 0...0x10ffff, using: &generator) >> UInt32.random(in: 0...16, using: &generator)
                    )
                }
                return String(String.UnicodeScalarView(scalars))
            }
            func held(_ text: String) -> String {
                let scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
                    let value = scalar.value
                    return value == 9 || value == 10 || value == 13 || (value >= 0x20 && value != 0xfffe && value != 0xffff)
                        ? scalar : "\u{fffd}"
                }
                return String(String.UnicodeScalarView(scalars))
            }
            let (attribute, content, comment) = (text(), text(), text())
            var writer = XMLWriter()
            writer.start("a", ["b": attribute])
            writer.text(content)
            let root = try XMLElement.parse((writer.finish() + XMLWriter.comment(comment)).rawSpan)
            #expect(
                root == XMLElement(XMLName("a"), attributes: [XMLAttribute(XMLName("b"), held(attribute))], text: held(content))
            )
        }
    }
}

struct `An XML element` {
    @Test func `holds its attributes, children and own text`() throws {
        let root = try XMLElement.parse(Array("<a k='v'>x<b>1</b>y<b>2</b><n:c xmlns:n='urn:n' n:k='w'/></a>".utf8).rawSpan)
        #expect(root["k"] == "v")
        #expect(root["none"] == nil)
        #expect(root.text == "xy")
        #expect(root.children.map(\.text) == ["1", "2", ""])
        #expect(root.child("b")?.text == "1")
        #expect(root.child("c")?["k"] == nil)
        #expect(root.child("d") == nil)
    }
}
