// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTesting
import CarrelXML
import Testing

struct `An XML writer` {
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func `writes elements, attributes in order, and empty elements`() {
        var writer = XMLWriter()
        writer.start("a", ["z": "1", "none": nil, "b": "2"])
        writer.element("c")
        writer.element("d", text: "e")
        #expect(
            text(writer.finish()) == """
                <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
                <a z="1" b="2"><c/><d>e</d></a>

                """
        )
    }

    @Test func `escapes what would be markup, and white space that parsers would change`() {
        var writer = XMLWriter()
        writer.start("a", ["b": "<&\"'>\t\n\r"])
        writer.text("<&\"'>]]>\t\n\r")
        #expect(
            text(writer.finish()).hasSuffix(
                "<a b=\"&lt;&amp;&quot;'&gt;&#9;&#10;&#13;\">&lt;&amp;\"'&gt;]]&gt;\t\n&#13;</a>\n"
            )
        )
    }

    @Test func `replaces what XML cannot hold`() {
        var writer = XMLWriter()
        writer.element("a", ["b": "\0\u{1}\u{b}"], text: "\u{fffe}\u{ffff}\u{1f}")
        #expect(text(writer.finish()).hasSuffix("<a b=\"\u{fffd}\u{fffd}\u{fffd}\">\u{fffd}\u{fffd}\u{fffd}</a>\n"))
    }

    @Test(arguments: ["--", "-", "---->", "a--b", "-->", "", "--\u{0}--"])
    func `writes comments that nothing ends early`(comment: String) async throws {
        var writer = XMLWriter()
        writer.element("a")
        let written = text(writer.finish() + XMLWriter.comment(comment))
        let inside = try #require(written.split(separator: "<!--").last).split(separator: "-->")[0]
        #expect(!inside.contains("--"))
        #expect(!inside.hasSuffix("-"))
        #expect(try await runProcess(["xmllint", "--noout", "-"], input: Array(written.utf8)).status == .exited(0))
    }

    @Test func `writes a tree that was read, with prefixes for its namespaces`() throws {
        let text = """
            <a xmlns="urn:a" xmlns:b="urn:b" xml:lang="en" b:c="&lt;&quot;"><b:d>1 &amp; 2</b:d><e xmlns=""/><f xmlns="urn:other"/></a>
            """
        let bytes = Array(text.utf8)
        let tree = try XMLElement.parse(bytes.rawSpan)
        var writer = XMLWriter()
        writer.root(tree, prefixes: ["urn:a": "x", "urn:b": "y"])
        let written = writer.finish()
        #expect(try XMLElement.parse(written.rawSpan) == tree)
        #expect(
            self.text(written).hasSuffix(
                "<x:a xmlns:x=\"urn:a\" xmlns:y=\"urn:b\" xmlns:ns3=\"urn:other\" xml:lang=\"en\" y:c=\"&lt;&quot;\">"
                    + "<y:d>1 &amp; 2</y:d><e/><ns3:f/></x:a>\n"
            )
        )
    }

    @Test func `gives the same bytes in pieces`() {
        func write(taking: Bool) -> [UInt8] {
            var writer = XMLWriter()
            var out: [UInt8] = []
            writer.start("list")
            for number in 0..<10 {
                writer.element("item", text: "\(number)")
                if taking { out += writer.take() }
            }
            return out + writer.finish()
        }
        #expect(write(taking: true) == write(taking: false))
    }
}
