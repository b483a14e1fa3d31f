// SPDX-License-Identifier: Apache-2.0

import CarrelPublication
import Testing

@Suite("The path of a resource")
struct ResourcePathTests {
    @Test(arguments: [
        ("a b.xhtml", "a b.xhtml"), ("a%20b.xhtml", "a b.xhtml"), ("./a%20b.xhtml?x=1#p2", "a b.xhtml"),
        ("/a%20b.xhtml", "a b.xhtml"),
        ("x/../a b.xhtml", "a b.xhtml"), ("100%.xhtml", "100%.xhtml"), ("100%25.xhtml", "100%.xhtml"), ("a//b", "a/b"),
        ("caf%C3%A9.xhtml", "cafe\u{301}.xhtml"), ("a%3Ab/c", "a:b/c"),
    ])
    func `is one for all spellings of an address`(href: String, path: String) throws {
        let found = try #require(ResourcePath(href: href))
        #expect(found == ResourcePath(decoded: path))
        #expect(ResourcePath(href: found.href) == found)
    }

    @Test(arguments: [
        "../a", "a/../../b", "%2e%2e/a", "http://example.org/a", "urn:isbn:1", "//host/a", "", "#only", "a%2Fb", "%00",
    ])
    func `is none where an address leads out of the publication`(href: String) {
        #expect(ResourcePath(href: href) == nil)
    }

    @Test(arguments: [
        ("img/a.png", "OPS/text/c1.xhtml", "OPS/text/img/a.png"), ("../img/a.png", "OPS/text/c1.xhtml", "OPS/img/a.png"),
        ("#p2", "OPS/c1.xhtml", "OPS/c1.xhtml"), ("/a.png", "OPS/c1.xhtml", "a.png"), ("a.png", "c1.xhtml", "a.png"),
    ])
    func `is resolved against its containing resource`(href: String, base: String, path: String) throws {
        let base = try #require(ResourcePath(decoded: base))
        #expect(ResourcePath(href: href, relativeTo: base)?.string == path)
    }

    @Test func `escapes what an address cannot hold`() throws {
        let path = try #require(ResourcePath(decoded: "a b/ü%?#.png"))
        #expect(path.href == "a%20b/%C3%BC%25%3F%23.png")
        #expect(path.name == "ü%?#.png")
        #expect(path.fileExtension == "png")
    }
}
