// SPDX-License-Identifier: Apache-2.0

import CMediaLoops
import CarrelBytes
import CarrelDASH

/// An MPD of 20,000 timeline entries compared with a bare SAX pass of libxml2 over the same bytes.
enum MPDLines {
    static let count = 20_000

    /// A live MPD whose entries all have other durations, so that none of them share a run.
    static func text() -> [UInt8] {
        var text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT80000S"><Period id="1"><AdaptationSet mimeType="video/mp4">
            <SegmentTemplate timescale="90000" media="$RepresentationID$/$Time$.m4s" initialization="$RepresentationID$/init.mp4"><SegmentTimeline>

            """
        var time = 0
        for number in 0..<count {
            let duration = 360_000 + number % 7
            text += "<S t=\"\(time)\" d=\"\(duration)\"/>\n"
            time += duration
        }
        text +=
            "</SegmentTimeline></SegmentTemplate><Representation id=\"v\" bandwidth=\"1000\"/></AdaptationSet></Period></MPD>\n"
        return Array(text.utf8)
    }

    /// Reads the MPD.
    static func read(_ text: [UInt8]) throws -> MPDSegments {
        guard let stream = try MPD.parse(text.rawSpan).streams(url: "https://h.example/m.mpd").first else {
            fatalError("it has no representation")
        }
        return try stream.segments()
    }

    /// Reads the MPD and makes the address of every segment.
    static func list(_ text: [UInt8]) throws {
        let segments = try read(text)
        var bytes = 0
        for index in 0..<(segments.count ?? 0) { bytes += segments[index]?.url.utf8.count ?? 0 }
        precondition(segments.count == count && bytes > count * 20)
    }

    /// The floor.
    static func parse(_ text: [UInt8]) {
        var attributes = 0
        let elements = unsafe text.withUnsafeBytes { text in
            unsafe loop_sax(text.baseAddress?.assumingMemoryBound(to: CChar.self), text.count, &attributes)
        }
        precondition(elements > count && attributes > 2 * count)
    }
}
