// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

@testable import CarrelPresentation
@testable import CarrelProxy

struct `The time map of a subtitle file` {
    private static func shifted(_ text: String) -> String {
        String(decoding: WebVTTClock.shifted(Array(text.utf8)), as: UTF8.self)
    }

    private static let map = "X-TIMESTAMP-MAP=MPEGTS:900000,LOCAL:00:00:00.000"

    @Test(arguments: ["\n", "\r\n", "\r"]) func `follows the first line, with the line ends of the file`(end: String) {
        let cue = "\(end)00:01.000 --> 00:02.000\(end)Hello\(end)"
        #expect(Self.shifted("WEBVTT\(end)\(cue)") == "WEBVTT\(end)\(Self.map)\(end)\(cue)")
        // without an end of the last line
        #expect(Self.shifted("WEBVTT - a\(end)\(cue)\(end)x") == "WEBVTT - a\(end)\(Self.map)\(end)\(cue)\(end)x")
        #expect(Self.shifted("\u{feff}WEBVTT\(end)") == "WEBVTT\(end)\(Self.map)\(end)")
    }

    @Test(arguments: ["\n", "\r\n", "\r"]) func `is shifted if the file has one, and nothing else changes`(end: String) {
        let cue = "\(end)\(end)00:01.000 --> 00:02.000\(end)X-TIMESTAMP-MAP=MPEGTS:1,LOCAL:00:00:00.000"
        let text = "WEBVTT\(end)NOTE\(end)X-TIMESTAMP-MAP=LOCAL:00:00:00.000, MPEGTS:100\(cue)"
        let wanted = "WEBVTT\(end)NOTE\(end)X-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900100\(cue)"
        #expect(Self.shifted(text) == wanted)
        // the text of a cue is not a map
        #expect(Self.shifted("WEBVTT\(cue)") == "WEBVTT\(end)\(Self.map)\(cue)")
    }

    @Test func `is added to a first line alone, and to no other file`() {
        #expect(Self.shifted("WEBVTT") == "WEBVTT\n\(Self.map)\n")
        #expect(Self.shifted("1\r\n00:01 --> 00:02\r\n") == "1\r\n00:01 --> 00:02\r\n")
        #expect(WebVTTClock.shifted([]) == [])
    }
}
