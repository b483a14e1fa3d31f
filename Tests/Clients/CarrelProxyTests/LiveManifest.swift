// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// A dynamic MPD that a test writes: pictures and audio in segments of two seconds.
struct LiveManifest {
    struct Period {
        var start: Int
        /// The places of its segments.
        var segments: Range<Int>
    }

    var periods: [Period] = []
    /// Seconds that its first moment is before now.
    var age = 1000
    var isStatic = false
    var published = 10
    var location: String?
    /// The seconds after which a manifest that does not change ends; nil for one that changes.
    var end: Int?
    /// Written verbatim.
    var clock = ""
    /// Whether segments have numbers and no timeline; then it is the length of the window in seconds.
    var window: Int?

    var text: String {
        let begin = Instant.now() - .seconds(age)
        var text = """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" minBufferTime="PT2S"
            """
        if isStatic {
            text += " type=\"static\""
        } else {
            text += " type=\"dynamic\" availabilityStartTime=\"\(begin)\""
            text += " publishTime=\"2026-01-01T00:00:\(published)Z\""
            text += end.map { " mediaPresentationDuration=\"PT\($0)S\"" } ?? " minimumUpdatePeriod=\"PT1S\""
            if let window { text += " timeShiftBufferDepth=\"PT\(window)S\"" }
        }
        text += ">\n"
        if let location { text += "<Location>\(location)</Location>\n" }
        text += clock
        for period in periods {
            text += "<Period id=\"p\(period.start)\" start=\"PT\(period.start)S\">\n"
            for (kind, id, codecs) in [("video", "v", "avc1.64000C"), ("audio", "a", "mp4a.40.2")] {
                text += "<AdaptationSet mimeType=\"\(kind)/mp4\" segmentAlignment=\"true\">"
                let initialization = "initialization=\"\(id)-init.mp4\" timescale=\"1000\""
                if window != nil {
                    text +=
                        "<SegmentTemplate media=\"\(id)-$Number$.m4s\" \(initialization) duration=\"2000\" startNumber=\"0\"/>"
                } else {
                    let first = period.segments.lowerBound * 2000
                    text += "<SegmentTemplate media=\"\(id)-\(period.start)-$Time$.m4s\" \(initialization)><SegmentTimeline>"
                    text +=
                        "<S t=\"\(first)\" d=\"2000\" r=\"\(period.segments.count - 1)\"/></SegmentTimeline></SegmentTemplate>"
                }
                text += "<Representation id=\"\(id)\" bandwidth=\"100000\" codecs=\"\(codecs)\"/></AdaptationSet>\n"
            }
            text += "</Period>\n"
        }
        return text + "</MPD>\n"
    }
}

/// The parts of a live playlist that tests compare.
struct LiveList: Equatable {
    var media: Int
    var discontinuities: Int
    var isEnded: Bool
    /// Seconds from the beginning of the presentation, negative where a discontinuity is in front.
    var segments: [Int]

    init(_ media: Int, _ discontinuities: Int, _ segments: [Int], isEnded: Bool = false) {
        (self.media, self.discontinuities, self.segments, self.isEnded) = (media, discontinuities, segments, isEnded)
    }

    init(_ text: String) {
        self.init(0, 0, [])
        var sign = 1
        for line in text.split(separator: "\n") {
            func number(_ tag: String) -> Int? { line.hasPrefix(tag) ? Int(line.dropFirst(tag.count)) : nil }
            if let value = number("#EXT-X-MEDIA-SEQUENCE:") { media = value }
            if let value = number("#EXT-X-DISCONTINUITY-SEQUENCE:") { discontinuities = value }
            if line == "#EXT-X-DISCONTINUITY" { sign = -1 }
            if line == "#EXT-X-ENDLIST" { isEnded = true }
            guard !line.hasPrefix("#") else { continue }
            var fields: [String: Int] = [:]
            for pair in line.split(separator: "?").last?.split(separator: "&") ?? [] {
                let parts = pair.split(separator: "=")
                if parts.count == 2 { fields[String(parts[0])] = Int(parts[1]) }
            }
            segments.append(sign * ((fields["period"] ?? 0) + (fields["t"] ?? 0)) / 1000)
            sign = 1
        }
    }
}
