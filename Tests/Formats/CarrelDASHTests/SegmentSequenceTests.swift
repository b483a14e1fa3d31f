// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH
import Testing

struct `Segment sequences of an MPD` {
    private static func document(_ information: String, period: String = "duration=\"PT10S\"") -> String {
        """
        <MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><Period \(period)><AdaptationSet mimeType="video/mp4">
        <Representation id="r" bandwidth="5000">\(information)</Representation></AdaptationSet></Period></MPD>
        """
    }

    private static func read(_ information: String, period: String = "duration=\"PT10S\"") throws -> MPDSegments {
        let bytes = Array(document(information, period: period).utf8)
        return try #require(try MPD.parse(bytes.rawSpan).streams(url: "http://h/").first).segments()
    }

    private static func all(_ segments: MPDSegments) throws -> [MPDSegment] {
        try (0..<(try #require(segments.count))).map { try #require(segments[$0]) }
    }

    @Test func `of a timeline have a number each and a sub-number for each segment`() throws {
        let found = try Self.all(
            Self.read(
                """
                <SegmentTemplate timescale="10" startNumber="5" media="$Number$-$SubNumber%02d$.m4s"><SegmentTimeline>
                <S t="0" d="20" k="2" r="1"/><S d="15" k="3"/><S d="10"/></SegmentTimeline></SegmentTemplate>
                """
            )
        )
        #expect(
            found.map(\.url)
                == ["5-00", "5-01", "6-00", "6-01", "7-00", "7-01", "7-02", "8-00"].map { "http://h/\($0).m4s" }
        )
        #expect(found.map(\.start) == [0, 1000, 2000, 3000, 4000, 4500, 5000, 5500].map { .milliseconds($0) })
        #expect(found.map(\.duration) == [1000, 1000, 1000, 1000, 500, 500, 500, 1000].map { .milliseconds($0) })
        #expect(found.map(\.number) == [5, 5, 6, 6, 7, 7, 7, 8])
        #expect(found.map(\.subNumber) == [0, 1, 0, 1, 0, 1, 2, nil])
        #expect(found.map(\.index) == Array(0..<8))
    }

    @Test func `by time share the time of the sequence`() throws {
        let found = try Self.all(
            Self.read(
                """
                <SegmentTemplate timescale="10" presentationTimeOffset="80" media="$Time$/$SubNumber$"><SegmentTimeline>
                <S t="80" d="30" k="3" r="-1"/></SegmentTimeline></SegmentTemplate>
                """,
                period: "duration=\"PT6S\""
            )
        )
        #expect(found.map(\.url) == ["80/0", "80/1", "80/2", "110/0", "110/1", "110/2"].map { "http://h/\($0)" })
        #expect(found.map(\.start) == (0..<6).map { .seconds($0) })
    }

    @Test func `by duration end with the period and with the end number`() throws {
        let template = "<SegmentTemplate duration=\"4\" k=\"4\" END media=\"$Number$.$SubNumber$\"/>"
        let found = try Self.all(Self.read(template.replacing("END", with: "endNumber=\"2\"")))
        #expect(found.map(\.url) == (0..<8).map { "http://h/\($0 / 4 + 1).\($0 % 4)" })
        #expect(found.map(\.start) == (0..<8).map { .seconds($0) })
        let whole = try Self.read(template.replacing("END", with: ""), period: "duration=\"PT8S\"")
        #expect(whole.count == 8)
    }

    @Test func `makes continuing segments available one after another`() throws {
        let text = """
            <MPD type="dynamic" availabilityStartTime="1970-01-01T00:00:00Z"><Period start="PT0S"><AdaptationSet>
            <Representation id="r" bandwidth="1"><SegmentTemplate duration="4" k="4" media="$Number$.$SubNumber$"/>
            </Representation></AdaptationSet></Period></MPD>
            """
        let bytes = Array(text.utf8)
        let mpd = try MPD.parse(bytes.rawSpan)
        let segments = try #require(mpd.streams().first).segments()
        for second in 0..<20 {
            #expect(segments.available(in: mpd, at: Instant(milliseconds: Int64(second) * 1000 + 500)) == 0..<second)
        }
    }

    @Test func `are written again`() throws {
        let text = Self.document(
            "<SegmentTemplate k=\"2\" media=\"$Number$$SubNumber$\"><SegmentTimeline><S d=\"2\" k=\"7\"/></SegmentTimeline></SegmentTemplate>"
        )
        let bytes = Array(text.utf8)
        let mpd = try MPD.parse(bytes.rawSpan)
        let written = mpd.write()
        #expect(try MPD.parse(written.rawSpan) == mpd)
        #expect(String(decoding: written, as: UTF8.self).contains("k=\"7\""))
    }

    @Test(arguments: [
        (
            "<SegmentTemplate media=\"$Number$\"><SegmentTimeline><S d=\"2\" k=\"2\"/></SegmentTimeline></SegmentTemplate>",
            "segment sequences need a template with $SubNumber$"
        ),
        ("<SegmentTemplate duration=\"2\" k=\"2\" media=\"$Number$\"/>", "segment sequences need a template with $SubNumber$"),
        (
            "<SegmentList><SegmentTimeline><S d=\"2\" k=\"2\"/></SegmentTimeline><SegmentURL/></SegmentList>",
            "list of segments has segment sequences"
        ),
    ])
    func `that cannot be addressed are refused at the representation`(information: String, what: String) throws {
        let text = Self.document(information)
        let bytes = Array(text.utf8)
        let error = #expect(throws: Malformed.self) { try MPD.parse(bytes.rawSpan) }
        #expect(error?.what == what)
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("<Representation".utf8)) })
        #expect(error?.offset == place)
    }

    @Test(arguments: ["0", "-1", "x", "100001", "4611686018427387904"])
    func `of impossible lengths are refused at the entry`(count: String) throws {
        let text = Self.document(
            "<SegmentTemplate media=\"$Number$$SubNumber$\"><SegmentTimeline><S d=\"2\"/><S d=\"2\" k=\"\(count)\"/></SegmentTimeline></SegmentTemplate>"
        )
        let bytes = Array(text.utf8)
        let error = #expect(throws: Malformed.self) { try MPD.parse(bytes.rawSpan) }
        #expect(error?.what.hasPrefix("number of segments in a sequence") == true)
        let place = try #require(bytes.indices.last { bytes[$0...].starts(with: Array("<S ".utf8)) })
        #expect(error?.offset == place)
    }

    @Test func `at the edge of their range never trap`() throws {
        for duration in ["4611686018427387903", "100000", "46116860184273"] {
            for repeats in ["0", "-1", "1099511627775"] {
                let segments = try? Self.read(
                    "<SegmentTemplate media=\"$Number$$SubNumber$\"><SegmentTimeline><S d=\"\(duration)\" r=\"\(repeats)\" k=\"100000\"/></SegmentTimeline></SegmentTemplate>"
                )
                for index in [0, 99_999, 100_000, 1 << 40, .max] { _ = segments?[index] }
            }
        }
        #expect(throws: Malformed.self) { try Self.read("<SegmentTemplate duration=\"1\" media=\"$SubNumber$\"/>") }
    }
}
