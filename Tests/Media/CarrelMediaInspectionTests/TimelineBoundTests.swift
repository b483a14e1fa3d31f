// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelMP4
import CarrelMedia
import CarrelMediaInspection
import Testing

struct `The inspection of an MPD with a long timeline` {
    @Test(.timeLimit(.minutes(1))) func `walks it once for all representations that inherit it`() throws {
        let (pairs, representations) = (10_000, 4_000)
        var text = "<MPD><Period><AdaptationSet><SegmentTemplate media=\"$RepresentationID$-$Time$\"><SegmentTimeline>"
        for _ in 0..<pairs { text += "<S d=\"1000\"/><S d=\"1001\"/>" }
        text += "</SegmentTimeline></SegmentTemplate>"
        for number in 0..<representations { text += "<Representation id=\"\(number)\" bandwidth=\"1\"/>" }
        text += "</AdaptationSet></Period></MPD>"
        let bytes = Array(text.utf8)
        // 80 million entries would take minutes in a debug build
        let json = try MediaInspection.describe(BytesReader(bytes), name: "long.mpd")
        let set = json["periods"]?.array?.first?["sets"]?.array?.first
        let found = try #require(set?["representations"]?.array)
        #expect(found.count == representations && found.allSatisfy { $0["segments"] == .integer(2 * pairs) })
    }
}
