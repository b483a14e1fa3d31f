// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Manifests whose parts multiply: they are short, and what they describe is long.
enum LargeManifest {
    private static let beginning = """
        <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" minBufferTime="PT2S"
        """

    private static func set(_ kind: String, _ codecs: String, _ inner: String) -> String {
        "<AdaptationSet mimeType=\"\(kind)/mp4\" contentType=\"\(kind)\" codecs=\"\(codecs)\">\(inner)</AdaptationSet>"
    }

    private static func template(_ timescale: Int, _ entries: String) -> String {
        """
        <SegmentTemplate timescale="\(timescale)" media="$RepresentationID$-$Time$.m4s" initialization="init.mp4">\
        <SegmentTimeline>\(entries)</SegmentTimeline></SegmentTemplate>
        """
    }

    /// A live source whose representations of pictures inherit one timeline that no runs shorten.
    ///
    /// - Parameters:
    ///   - entries: the timeline's entries, which ends in the future.
    ///   - representations: of pictures.
    /// - Returns: the MPD.
    static func live(entries: Int, representations: Int) -> String {
        var timeline = ""
        for _ in 0..<entries / 2 { timeline += "<S d=\"1000\"/><S d=\"1001\"/>" }
        var inner = template(1000, timeline)
        for number in 0..<representations { inner += "<Representation id=\"\(number)\" bandwidth=\"\(number + 1)\"/>" }
        let start = (Instant.now() - .seconds(entries / 2)).description
        return """
            \(beginning) type="dynamic" minimumUpdatePeriod="PT4S" availabilityStartTime="\(start)">\
            <Period start="PT0S">\(set("video", "avc1.64000C", inner))</Period></MPD>
            """
    }

    /// A film whose representations of pictures have timelines of their own, in different units.
    ///
    /// - Parameters:
    ///   - representations: of pictures.
    ///   - segments: of each.
    ///   - isEven: whether all have the same times; otherwise they drift by a millisecond in each segment.
    /// - Returns: the MPD.
    static func film(representations: Int, segments: Int = 200_000, isEven: Bool = true) -> String {
        func timeline(_ timescale: Int, _ more: Int) -> String {
            template(timescale, "<S t=\"0\" d=\"\(2 * timescale + more)\" r=\"\(segments - 1)\"/>")
        }
        var pictures = ""
        for number in 0..<representations {
            let more = isEven || number == 0 ? 0 : 1
            pictures +=
                "<Representation id=\"\(number)\" bandwidth=\"\(number + 1)\">\(timeline(1000 + number, more))</Representation>"
        }
        let audio = timeline(1000, 0) + "<Representation id=\"a\" bandwidth=\"1\"/>"
        return """
            \(beginning) type="static"><Period duration="PT\(2 * segments)S">\(set("video", "avc1.64000C", pictures))\
            \(set("audio", "mp4a.40.2", audio))</Period></MPD>
            """
    }

    /// A film whose descriptors of protection are inherited by all its representations.
    ///
    /// - Parameters:
    ///   - descriptors: the set's descriptors.
    ///   - representations: the set's representations.
    /// - Returns: the MPD.
    static func protected(descriptors: Int, representations: Int) -> String {
        var inner = ""
        for number in 0..<descriptors {
            inner += "<ContentProtection schemeIdUri=\"urn:mpeg:dash:mp4protection:2011\" value=\"c\(number)\"/>"
        }
        inner += template(1, "<S t=\"0\" d=\"2\" r=\"9\"/>")
        for number in 0..<representations { inner += "<Representation id=\"\(number)\" bandwidth=\"\(number + 1)\"/>" }
        return "\(beginning) type=\"static\"><Period duration=\"PT20S\">\(set("video", "avc1.64000C", inner))</Period></MPD>"
    }
}
