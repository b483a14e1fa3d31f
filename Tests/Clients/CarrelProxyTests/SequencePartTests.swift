// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH
import CarrelTesting
import Testing

@testable import CarrelPresentation
@testable import CarrelProxy

struct `Segments that share a number` {
    private static func segments(_ first: Int, repeats: Int) throws -> MPDSegments {
        let text = """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="dynamic" availabilityStartTime="2026-01-01T00:00:00Z">\
            <Period start="PT0S"><AdaptationSet mimeType="video/mp4">\
            <SegmentTemplate media="$Time$-$SubNumber$.m4s" initialization="i.mp4" timescale="1000"><SegmentTimeline>\
            <S t="\(first)" d="2000" r="\(repeats)" k="4"/></SegmentTimeline></SegmentTemplate>\
            <Representation id="v" bandwidth="1" codecs="avc1.64000C"/></AdaptationSet></Period></MPD>
            """
        let bytes = Array(text.utf8)
        let mpd = try MPD.parse(bytes.rawSpan, limit: bytes.count)
        let stream = try #require(mpd.streams(url: "http://made.example/made.mpd").first)
        return try stream.segments()
    }

    @Test(arguments: [4, -1]) func `are found again each by its own name when the first ones have gone`(repeats: Int) throws {
        let before = try Self.segments(20_000, repeats: 9)
        let after = try Self.segments(24_000, repeats: repeats)
        for index in 8..<28 {
            let segment = try #require(before[index])
            let place = SegmentPlaces.Place(segment)
            let found = SegmentPlaces.segment(after, index: index, time: place.time)
            #expect(found?.url == segment.url)
            #expect(found?.subNumber == Int64(index % 4))
        }
        let gone = SegmentPlaces.Place(try #require(before[3]))
        #expect(SegmentPlaces.segment(after, index: 3, time: gone.time) == nil)
    }
}
