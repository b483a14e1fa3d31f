// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import Testing

@testable import CarrelXML

/// Documents in UTF-16, and the names of HTML's characters.
struct `An XML reader of other encodings` {
    private static let text = "<?xml version=\"1.0\" encoding=\"UTF-16\"?><a b=\"é\">São Paulo 𝄞 &#x1d11e;</a>"

    private func utf16(_ text: String, isBigEndian: Bool, mark: Bool) -> [UInt8] {
        ((mark ? [0xfeff] : []) + Array(text.utf16)).flatMap { unit in
            let bytes = [UInt8(unit >> 8), UInt8(truncatingIfNeeded: unit)]
            return isBigEndian ? bytes : bytes.reversed()
        }
    }

    private func events(_ bytes: [UInt8], pieces size: Int, limits: XMLLimits = XMLLimits()) throws(Malformed) -> [XMLEvent] {
        var reader = XMLReader(limits: limits)
        var events: [XMLEvent] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            events += try reader.read(bytes.rawSpan.extracting(start..<min(start + size, bytes.count)))
        }
        return events + (try reader.finish())
    }

    @Test(arguments: [true, false], [true, false])
    func `reads UTF-16 of either order, with a mark or without, in whatever pieces`(isBigEndian: Bool, mark: Bool) throws {
        let bytes = utf16(Self.text, isBigEndian: isBigEndian, mark: mark)
        let expected: [XMLEvent] = [
            .start(XMLName("a"), attributes: [XMLAttribute(XMLName("b"), "é")]), .text("São Paulo 𝄞 𝄞"), .end(XMLName("a")),
        ]
        for size in 1...7 { #expect(try events(bytes, pieces: size) == expected, "\(size)") }
        #expect(try events(bytes, pieces: bytes.count) == expected)
    }

    @Test func `refuses UTF-16 that is cut in a character or has half a pair`() {
        let whole = utf16("<a>𝄞</a>", isBigEndian: true, mark: true)
        var halved = whole
        halved.removeSubrange(8..<10)
        var swapped = whole
        swapped.swapAt(8, 10)
        for bytes in [Array(whole.dropLast()), halved, swapped, Array(whole.prefix(9)), [0xfe, 0xff, 0xd8, 0x34]] {
            for size in [1, 100] { #expect(throws: Malformed.self) { try events(bytes, pieces: size) } }
        }
        #expect(throws: Malformed.self) { try events(whole, pieces: 4, limits: XMLLimits(bytes: whole.count - 1)) }
    }

    @Test(arguments: [
        ("m&aacute;s S&atilde;o", "más São"), ("&#109;&#xE1;s &#X41;", "más A"), ("&CounterClockwiseContourIntegral;", "∳"),
        ("&NotEqualTilde;", "≂\u{338}"), ("&nonsense; & &; &#; &#x; &#xg;", "&nonsense; & &; &#; &#x; &#xg;"),
        ("AT&ampT &eacute &notit; &copy2026", "AT&T é ¬it; ©2026"),
        ("&#0;&#xd800;&#x110000;&#99999999999;", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        ("&#151;&#x80;", "—€"), ("&lang;&rang;", "⟨⟩"),
    ])
    func `knows the names and numbers of HTML's characters`(text: String, decoded: String) {
        #expect(HTMLEntities.decoded(text) == decoded)
    }

    @Test func `takes references in attributes with their semicolons only`() {
        #expect(HTMLEntities.decoded("?a=1&copy=2&amp;b&eacute;", isAttribute: true) == "?a=1&copy=2&bé")
    }

    @Test func `knows all names of HTML`() {
        #expect(HTMLEntities.table.description.split(separator: " ").count == 2 * 2125)
        for name in ["Aacute", "aacute", "hearts", "zwnj", "fjlig", "bne", "AMP", "ThickSpace"] {
            #expect(HTMLEntities.characters(named: name) != nil, "\(name)")
        }
        #expect(HTMLEntities.characters(named: "Nonsense") == nil)
    }

    @Test func `gives what came before a limit`() throws {
        var reader = XMLReader(limits: XMLLimits(elements: 3))
        let bytes = Array("<a><b/><c/><d/></a>".utf8)
        #expect(throws: Malformed.self) { try reader.read(bytes.rawSpan) }
        let isReaderOverLimit = reader.isOverLimit
        #expect(isReaderOverLimit)
        let names = reader.readSoFar().compactMap { if case .start(let name, _) = $0 { name.local } else { nil } }
        #expect(names == ["a", "b", "c"])
        var tree = XMLTree(limits: XMLLimits(elements: 3))
        #expect(throws: Malformed.self) { try tree.read(bytes.rawSpan) }
        let isTreeOverLimit = tree.isOverLimit
        #expect(isTreeOverLimit)
        let root = tree.finishEarly()
        #expect(root?.children.map(\.name.local) == ["b", "c"])
        var broken = XMLReader()
        #expect(throws: Malformed.self) { try broken.read(Array("<a></b>".utf8).rawSpan) }
        let isOverLimit = broken.isOverLimit
        #expect(!isOverLimit)
    }
}
