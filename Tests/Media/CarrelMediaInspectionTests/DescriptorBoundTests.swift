// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia
import CarrelMediaInspection
import Testing

struct `The inspection of an MPD with many descriptors` {
    /// 429 KB of descriptors that each representation inherits took a minute and a gigabyte.
    @Test func `refuses 1,000 of a set with 8,000 representations in parallel`() {
        var text = "<MPD><Period><AdaptationSet>"
        for number in 0..<1_000 { text += "<ContentProtection schemeIdUri=\"urn:x:\(number)\"/>" }
        for number in 0..<8_000 { text += "<Representation id=\"\(number)\" bandwidth=\"1\"/>" }
        text += "</AdaptationSet></Period></MPD>"
        let bytes = Array(text.utf8)
        let time = ContinuousClock().measure {
            #expect(throws: Malformed.self) { _ = try MediaInspection.describe(BytesReader(bytes), name: "many.mpd") }
        }
        // a debug build; 8 million comparisons of descriptors with 1,000 others take minutes
        #expect(time < .seconds(10), "\(time)")
    }
}
