// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH
import Testing

private func references(_ text: String, url: String = "https://h/a/m.mpd") throws(Malformed) -> MPDReferences {
    try MPDReferences(Array(text.utf8), url: url)
}

private func resolve(_ text: String, _ entities: [String?]) throws(Malformed) -> String {
    let found = try references(text)
    let out = try found.resolve(entities.map { $0.map { .content(Array($0.utf8)) } ?? .failed })
    return String(decoding: out, as: UTF8.self)
}

private let head = "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" xmlns:xlink=\"http://www.w3.org/1999/xlink\">"

struct `Remote elements of an MPD` {
    /// A presentation with an advertisement between two parts of a film.
    private static let film = """
        <?xml version="1.0"?>
        \(head)<BaseURL>film/</BaseURL>
        <!-- <Period xlink:href="no"> --><Period id="1" duration="PT10S"/>
        <Period xlink:href="ads?a=1&amp;b=2" xlink:actuate="onLoad" id="2" duration="PT5S"><AdaptationSet/></Period >
        <Period id="3" duration="PT10S"><BaseURL>three/</BaseURL><AdaptationSet id="a"/>
        <AdaptationSet xlink:href="b.xml"/><EventStream schemeIdUri="u" xlink:href='https://e/>'><Event/></EventStream></Period></MPD>
        """

    @Test func `are found with their addresses`() throws {
        let list = try references(Self.film).list
        #expect(list.map(\.link.element) == ["Period", "AdaptationSet", "EventStream"])
        #expect(list.map(\.url) == ["https://h/a/film/ads?a=1&b=2", "https://h/a/film/three/b.xml", "https://e/>"])
        #expect(list.map(\.link.isOnLoad) == [true, false, false])
        let bytes = Array(Self.film.utf8)
        for reference in list { #expect(bytes[reference.offset...].starts(with: Array("<\(reference.link.element) ".utf8))) }
    }

    @Test func `take the place of the element, several of them too`() throws {
        let ads = """
            \u{feff}<?xml version="1.0" encoding="UTF-8"?>
            <!-- made -->
            <Period id="ad1" duration="PT2S"/><Period id="ad2" duration="PT3S"><AdaptationSet/></Period>

            """
        let text = try resolve(Self.film, [ads, "<AdaptationSet id='b' lang='de'/>", "<EventStream schemeIdUri='v'/>"])
        let bytes = Array(text.utf8)
        let mpd = try MPD.parse(bytes.rawSpan)
        #expect(mpd.periods.map(\.id) == ["1", "ad1", "ad2", "3"])
        #expect(mpd.timings.map(\.start) == [0, 10, 12, 15].map { .seconds($0) })
        #expect(mpd.periods[3].adaptationSets.map(\.id) == ["a", "b"])
        #expect(mpd.periods[3].eventStreams.map(\.scheme) == ["v"])
        #expect(mpd.links.isEmpty)
        #expect(try MPDReferences(bytes).list.isEmpty)
        #expect(text.hasPrefix("<?xml") && text.contains("<!-- <Period xlink:href=\"no\"> -->"))
    }

    @Test func `leave existing content in place if a reference could not be fetched`() throws {
        let text = try resolve(Self.film, [nil, nil, nil])
        let bytes = Array(text.utf8)
        let mpd = try MPD.parse(bytes.rawSpan)
        #expect(mpd.periods.map(\.id) == ["1", "2", "3"] && mpd.links.isEmpty)
        #expect(mpd.periods[1].adaptationSets.count == 1 && mpd.periods[2].eventStreams[0].events.count == 1)
        #expect(text.contains("<Period id=\"2\" duration=\"PT5S\"><AdaptationSet/></Period >"))
    }

    @Test func `that are not fetched yet stay references`() throws {
        let found = try references(Self.film)
        #expect(try found.resolve([]) == Array(Self.film.utf8))
        let ads = Array("<Period id='ad'/>".utf8)
        let once = try MPDReferences(try found.resolve([.content(ads)]), url: "https://h/a/m.mpd")
        #expect(once.list.map(\.link.element) == ["AdaptationSet", "EventStream"])
    }

    @Test func `that are nothing are removed`() throws {
        let nothing = "xlink:href=\"urn:mpeg:dash:resolve-to-zero:2013\""
        let text = """
            \(head)<Period \(nothing)><AdaptationSet xlink:href="x"/></Period><Period id="p"><EventStream schemeIdUri="a" \(nothing)/>
            <AdaptationSet \(nothing)/><AdaptationSet><Representation id="r" bandwidth="1"><SegmentList \(nothing)/></Representation>
            </AdaptationSet></Period></MPD>
            """
        let found = try references(text)
        #expect(found.list.map(\.url) == [nil, "https://h/a/x", nil, nil, nil])
        let out = try found.resolve([])
        let mpd = try MPD.parse(out.rawSpan)
        #expect(!String(decoding: out, as: UTF8.self).contains("href"))
        // what reads the MPD without this takes them as removed too
        let bytes = Array(text.utf8)
        #expect(try MPD.parse(bytes.rawSpan).periods == mpd.periods)
        #expect(mpd.periods.map(\.id) == ["p"] && mpd.periods[0].eventStreams.isEmpty)
    }

    @Test func `may be lists of segments`() throws {
        let text = """
            \(head)<Period duration="PT4S"><AdaptationSet><Representation id="r" bandwidth="1"><SegmentList duration="2" \
            xlink:href="list.xml"/></Representation></AdaptationSet></Period></MPD>
            """
        let bytes = Array(
            try resolve(text, ["<SegmentList duration='2'><SegmentURL media='a'/><SegmentURL media='b'/></SegmentList>"]).utf8
        )
        let stream = try #require(MPD.parse(bytes.rawSpan).streams(url: "").first)
        #expect(try stream.segments().count == 2)
    }

    @Test(
        arguments: [
            ("<AdaptationSet/>", "remote element is not the one that it stands for", 0),
            ("<Period/> <AdaptationSet/>", "remote element is not the one that it stands for", 10),
            (
                "<?xml version='1.0'?> <Period><AdaptationSet xlink:href='a'/></Period>", "remote element refers to another one",
                30
            ),
            ("<Period xlink:href='urn:mpeg:dash:resolve-to-zero:2013'/>", "remote element refers to another one", 0),
            ("", "remote element is empty", 0), (" <!-- --> ", "remote element is empty", 0),
            ("<Period/>text", "remote element has text beside its elements", 0),
            ("<Period>", "remote element: an end tag of the XML does not match its start tag", nil),
            ("<Period/></r><r>", "remote element: the XML ends too early, or goes on behind its end", nil),
            ("<!DOCTYPE a><Period/>", nil, nil),
        ] as [(String, String?, Int?)]
    )
    func `are refused when they are not such elements`(entity: String, what: String?, place: Int?) throws {
        let error = #expect(throws: Malformed.self) { try resolve(Self.film, [entity]) }
        if let what { #expect(error?.what == what) }
        if let place { #expect(error?.offset == place) }
    }

    @Test func `are bounded`() throws {
        let found = try references(Self.film)
        let long = Array("<Period/>".utf8) + [UInt8](repeating: 0x20, count: 8 << 20)
        #expect(throws: Malformed("remote element is too long", at: 8 << 20)) { try found.resolve([.content(long)]) }
        // many references to one long element
        let many = try references(head + String(repeating: "<Period xlink:href='x'/>", count: 20) + "</MPD>")
        let entity = MPDResolution.content(
            Array(String(repeating: "<Period id='\(String(repeating: "a", count: 60_000))'/>", count: 100).utf8)
        )
        let error = #expect(throws: Malformed.self) { try many.resolve(Array(repeating: entity, count: 20)) }
        #expect(error?.what == "MPD with its remote elements is too long")
        #expect(throws: Malformed("MPD has too many references", at: 0)) {
            try references(head + String(repeating: "<Period xlink:href='x'/>", count: 10_001) + "</MPD>")
        }
    }

    @Test func `of a document in UTF-16 are refused by name`() throws {
        var bytes: [UInt8] = [0xff, 0xfe]
        for unit in (head + "<Period xlink:href='x'/></MPD>").utf16 { bytes += [UInt8(unit & 0xff), UInt8(unit >> 8)] }
        #expect(throws: Malformed("MPD with references is not in UTF-8", at: 0)) { try MPDReferences(bytes) }
    }

    @Test func `never trap, cut short or changed`() throws {
        let bytes = Array(Self.film.utf8)
        for end in bytes.indices { #expect(throws: Malformed.self) { try MPDReferences(Array(bytes[..<end])) } }
        var seed: UInt64 = 7
        for _ in 0..<3000 {
            var changed = bytes
            for _ in 0..<3 {
                seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                changed[Int(seed >> 33) % changed.count] = UInt8(truncatingIfNeeded: seed >> 24)
            }
            guard let found = try? MPDReferences(changed) else { continue }
            let entity = MPDResolution.content(Array("<Period/>".utf8))
            _ = try? found.resolve(found.list.map { $0.offset % 2 == 0 ? entity : .failed })
        }
    }
}
