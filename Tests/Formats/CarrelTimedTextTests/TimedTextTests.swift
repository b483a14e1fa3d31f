// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelTesting
import CarrelTimedText
import Testing

struct `Timed text of fragments` {
    private static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        out.append(bigEndian: UInt32(content.count + 8))
        return out + Array(type.utf8) + content
    }

    private static func cue(_ text: String, id: UInt8? = nil, name: String? = nil, settings: String? = nil) -> [UInt8] {
        var content: [UInt8] = []
        if let id { content += box("vsid", [0, 0, 0, id]) }
        if let name { content += box("iden", Array(name.utf8)) }
        if let settings { content += box("sttg", Array(settings.utf8)) }
        return box("vttc", content + box("payl", Array(text.utf8)))
    }

    private static func entry(_ format: String) throws -> SampleEntry {
        let header = Array("WEBVTT\n\nSTYLE\n::cue { color: red }\n".utf8)
        let reference: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 1]
        let names = Array("http://www.w3.org/ns/ttml\0\0\0".utf8)
        let content = reference + (format == "wvtt" ? box("vttC", header) : names)
        let movie = MovieTrack(id: 1, handler: "text", timescale: 1000, entries: [box(format, content)])
        let writer = ProgressiveWriter([movie])
        return try #require(try MP4File(BytesReader(writer.beginningWithIndex)).tracks.first?.entries.first)
    }

    @Test func `reads the cues of wvtt, each once`() throws {
        var cues = try #require(TimedTextCues(try Self.entry("wvtt")))
        let empty = Self.box("vtte", [])
        let samples: [(Int64, Int64, [UInt8])] = [
            (0, 1000, empty),
            (1000, 2000, Self.cue("One", id: 1, name: "first", settings: "line:0")),
            (2000, 3000, Self.cue("One", id: 1, name: "first", settings: "line:0") + Self.cue("Two\n\nlines --> here", id: 2)),
            (3000, 3500, Self.cue("Two\n\nlines --> here", id: 2) + Self.box("vtta", Array("note".utf8))),
            (3500, 4000, []),
            (4000, 4500, Self.cue("Same")),
            (4500, 5000, Self.cue("Same")),
        ]
        for (start, end, bytes) in samples { try cues.append(bytes.rawSpan, start: start, end: end) }
        #expect(cues.definitions == [["STYLE", "::cue { color: red }"]])
        let found = cues.finish()
        #expect(
            found.map(\.lines) == [
                ["first", "00:00:01.000 --> 00:00:03.000 line:0", "One"],
                ["00:00:02.000 --> 00:00:03.500", "Two", "lines --&gt; here"],
                ["00:00:04.000 --> 00:00:04.500", "Same"],
                ["00:00:04.500 --> 00:00:05.000", "Same"],
            ]
        )
        // what is written is read again
        let file = WebVTTFile(cues: found, definitions: cues.definitions)
        let segment = file.segment(0..<5000, origin: 900_000)
        #expect(String(decoding: segment, as: UTF8.self).hasPrefix("WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:900000,LOCAL:00:00:00.000\n"))
        let again = try WebVTTFile(segment.rawSpan)
        #expect(again.cues == found)
        #expect(cues.finish().isEmpty)
    }

    @Test func `refuses damaged samples without a trap`() throws {
        let sample = Self.cue("One", id: 1, name: "first", settings: "line:0") + Self.cue("Zwei – drei", id: 2)
        #expect(try WebVTTSample(sample.rawSpan).cues.count == 2)
        let ends: Set<Int> = [0, Self.cue("One", id: 1, name: "first", settings: "line:0").count]
        for count in 0..<sample.count where !ends.contains(count) {
            #expect(throws: Malformed.self) { _ = try WebVTTSample(sample.rawSpan.extracting(0..<count)) }
        }
        var random = SplitMix(seed: 7)
        for _ in 0..<5000 {
            var changed = sample
            for _ in 0..<3 {
                changed[Int.random(in: changed.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = try? WebVTTSample(changed.rawSpan)
        }
        let many = (0..<1025).flatMap { _ in Self.cue("a") }
        #expect(throws: Malformed.self) { _ = try WebVTTSample(many.rawSpan) }
    }

    private static func document(_ body: String, _ attributes: String = "") -> [UInt8] {
        let spaces = "xmlns='http://www.w3.org/ns/ttml' xmlns:ttp='http://www.w3.org/ns/ttml#parameter'"
        let head = "<head><metadata><p>no text</p></metadata><layout><region xml:id='r'/></layout></head>"
        return Array("<tt \(spaces) xml:lang='en' \(attributes)>\(head)\(body)</tt>".utf8)
    }

    @Test(
        arguments: [
            ("00:00:01.5", "00:01:00", 1500, 60_000), ("1s", "2500ms", 1000, 2500), ("0.5m", "0.01h", 30_000, 36_000),
            ("50f", "00:00:04:05", 2000, 4200), ("20t", "35t", 2000, 3500),
        ] as [(String, String, Int64, Int64)]
    )
    func `reads the times of TTML`(begin: String, end: String, start: Int64, stop: Int64) throws {
        let text = Self.document(
            "<body><div><p begin='\(begin)' end='\(end)'>A</p></div></body>",
            "ttp:frameRate='25' ttp:tickRate='10'"
        )
        let cues = try TTMLText(text.rawSpan).cues
        #expect(cues == [TTMLText.Cue(start: start, end: stop, text: "A")])
    }

    @Test func `reads the paragraphs of TTML`() throws {
        let text = Self.document(
            """
            <body begin='10s'><div begin='1s' end='20s'>
              <p begin='1s' dur='2s'>  One <span>and</span>
                 two<br/> &lt;three&gt; &amp; four</p>
              <p begin='5s'>Until the end of its division</p>
              <p xml:space='preserve' begin='6s' end='7s'>  kept  </p>
              <p begin='8s' end='8s'>never</p><p begin='8s' end='9s'> </p>
            </div><div timeContainer='seq'><p dur='1s'>a</p><p dur='1s'>b</p></div></body>
            """
        )
        let cues = try TTMLText(text.rawSpan).cues
        #expect(
            cues == [
                TTMLText.Cue(start: 12_000, end: 14_000, text: "One and two\n&lt;three&gt; &amp; four"),
                TTMLText.Cue(start: 16_000, end: 30_000, text: "Until the end of its division"),
                TTMLText.Cue(start: 17_000, end: 18_000, text: "  kept  "),
                TTMLText.Cue(start: 10_000, end: 11_000, text: "a"),
                TTMLText.Cue(start: 11_000, end: 12_000, text: "b"),
            ]
        )
    }

    @Test func `cuts the text of stpp to its samples`() throws {
        var cues = try #require(TimedTextCues(try Self.entry("stpp")))
        let document = Self.document("<body><p begin='1s' end='5s'>long</p><p begin='3s' end='4s'>short</p></body>")
        try cues.append(document.rawSpan, start: 0, end: 2000)
        try cues.append(document.rawSpan, start: 2000, end: 3500)
        #expect(
            cues.finish().map(\.lines) == [
                ["00:00:01.000 --> 00:00:03.500", "long"], ["00:00:03.000 --> 00:00:03.500", "short"],
            ]
        )
    }

    @Test func `refuses what is no TTML`() throws {
        for text in ["", "<a/>", "<tt", "<tt xmlns='http://www.w3.org/ns/ttml'><body><p begin='1x'>a</p></body></tt>"] {
            #expect(throws: Malformed.self) { _ = try TTMLText(Array(text.utf8).rawSpan) }
        }
        let document = Self.document("<body><p begin='1s' end='5s'>long</p></body>")
        for count in 0..<document.count {
            #expect(throws: Malformed.self) { _ = try TTMLText(document.rawSpan.extracting(0..<count)) }
        }
        var random = SplitMix(seed: 9)
        for _ in 0..<2000 {
            var changed = document
            changed[Int.random(in: changed.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            _ = try? TTMLText(changed.rawSpan)
        }
        #expect(TimedTextCues(try Self.entry("tx3g")) == nil)
    }

    @Test(arguments: ["stpp", "wvtt"]) func `takes little time for many cues that are shown all the time`(format: String) throws {
        var cues = try #require(TimedTextCues(try Self.entry(format)))
        let clock = ContinuousClock.now
        if format == "stpp" {
            // the cues of a document, and the cues that the next one repeats
            let text = (0..<45_000).map { "<p>\($0)</p>" }.joined()
            let document = Array("<tt xmlns=\"http://www.w3.org/ns/ttml\"><body><div>\(text)</div></body></tt>".utf8)
            for time in [Int64(0), 1000] { try cues.append(document.rawSpan, start: time, end: time + 1000) }
            #expect(cues.finish().count == 45_000)
        } else {
            let sample = (0..<1000).flatMap { Self.cue("a text that is long enough to be compared \($0)", id: 1) }
            for time in 0..<Int64(200) { try cues.append(sample.rawSpan, start: time, end: time + 1) }
            let found = cues.finish()
            #expect(found.count == 1000 && found.allSatisfy { $0.start == 0 && $0.end == 200 })
        }
        guard !PeakCost.isSanitized else { return }
        #expect(ContinuousClock.now - clock < .seconds(10))
    }

    @Test func `counts identifiers and settings towards its limit`() throws {
        var cues = try #require(TimedTextCues(try Self.entry("wvtt")))
        let long = String(repeating: "a", count: 1 << 20)
        let sample = Self.cue("a", name: long, settings: long)
        #expect(throws: Malformed.self) {
            for time in 0..<Int64(9) { try cues.append(sample.rawSpan, start: time, end: time + 1) }
        }
    }

    @Test func `keeps two equal consecutive paragraphs separate`() throws {
        var cues = try #require(TimedTextCues(try Self.entry("stpp")))
        let document = Array("<tt xmlns=\"http://www.w3.org/ns/ttml\"><body><div><p>A</p><p>A</p></div></body></tt>".utf8)
        for time in [Int64(0), 1000, 3000] { try cues.append(document.rawSpan, start: time, end: time + 1000) }
        #expect(cues.finish().map { [$0.start, $0.end] } == [[0, 2000], [0, 2000], [3000, 4000], [3000, 4000]])
    }
}
