// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTesting
import CarrelTimedText
import Testing

struct `A WebVTT file` {
    private static let text = """
        WEBVTT - some title

        STYLE
        ::cue { color: red }

        NOTE a comment

        1
        00:00:01.000 --> 00:00:03.500 line:0
        Hello
        there

        01:00.000 --> 01:00:00.250
        Good bye

        """

    @Test(arguments: ["\n", "\r\n", "\r"], ["", "\u{feff}"])
    func `is read whatever its line ends`(lineEnd: String, mark: String) throws {
        let bytes = Array((mark + Self.text.replacing("\n", with: lineEnd)).utf8)
        let file = try WebVTTFile(bytes.rawSpan)
        #expect(file.cues.map(\.start) == [1000, 60_000])
        #expect(file.cues.map(\.end) == [3500, 3_600_250])
        #expect(file.cues[0].lines == ["1", "00:00:01.000 --> 00:00:03.500 line:0", "Hello", "there"])
        #expect(file.definitions == [["STYLE", "::cue { color: red }"]])
    }

    @Test func `has segments whose times count from the beginning of the presentation`() throws {
        let file = try WebVTTFile(Array(Self.text.utf8).rawSpan)
        let text = String(decoding: file.segment(0..<2000, origin: 900_000), as: UTF8.self)
        #expect(text.hasPrefix("WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:900000,LOCAL:00:00:00.000\n"))
    }

    @Test func `has each cue in all segments that it reaches into`() throws {
        let file = try WebVTTFile(Array(Self.text.utf8).rawSpan)
        let parts = [0..<2000, 2000..<4000, 4000..<60_000, 60_000..<62_000].map {
            String(decoding: file.segment($0), as: UTF8.self)
        }
        #expect(parts.map { $0.contains("Hello") } == [true, true, false, false])
        #expect(parts.map { $0.contains("Good bye") } == [false, false, false, true])
        for part in parts {
            #expect(part.hasPrefix("WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000\n"))
            #expect(part.contains("::cue"))
            _ = try WebVTTFile(Array(part.utf8).rawSpan)
        }
    }

    @Test func `leaves out cues that end when they begin, and reads hours of one digit`() throws {
        let text = "WEBVTT\r\n\r\n00:01.000 --> 00:01.000\r\nnever\r\n\r\n1:00:02.000 --> 1:00:03.000\r\nlate\r\n"
        let file = try WebVTTFile(Array(text.utf8).rawSpan)
        #expect(file.cues.map(\.start) == [3_602_000])
    }

    @Test(arguments: [
        "", "WEBVT", "WEBVTTX", "WEBVTT\n\n00:01.000 --> 00:00.500\nx", "WEBVTT\n\n00:01 --> 00:02.000\nx",
        "WEBVTT\n\n00:61.000 --> 01:62.000\nx", "WEBVTT\n\n-->\nx", "WEBVTT\n\n99999999999999999999:00:00.000 --> 00:02.000\n",
    ])
    func `is refused when it is damaged`(text: String) {
        #expect(throws: Malformed.self) { _ = try WebVTTFile(Array(text.utf8).rawSpan) }
    }

    @Test func `never traps when it is cut or changed`() {
        let bytes = Array(Self.text.utf8)
        for count in 0...bytes.count { _ = try? WebVTTFile(Array(bytes.prefix(count)).rawSpan) }
        var random = SplitMix(seed: 5)
        for _ in 0..<2000 {
            var changed = bytes
            for _ in 0..<3 {
                changed[Int.random(in: 0..<changed.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = try? WebVTTFile(changed.rawSpan)
        }
    }
}
