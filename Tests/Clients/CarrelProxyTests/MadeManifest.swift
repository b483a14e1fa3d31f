// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// An MPD that a test writes: periods of tracks, each with the durations of its segments.
struct MadeManifest {
    struct Track {
        var kind: String
        var id: String
        var codecs: String
        /// When the first segment begins, in milliseconds of the period.
        var first = 0
        /// The durations of segments in milliseconds.
        var durations: [Int]
        /// One duration of segments without an end, in milliseconds, in place of those.
        var step: Int?
        /// Written into the adaptation set.
        var inner = ""

        static func video(_ durations: [Int], first: Int = 0, step: Int? = nil) -> Track {
            Track(kind: "video", id: "v", codecs: "avc1.64000C", first: first, durations: durations, step: step)
        }
        static func audio(_ durations: [Int], first: Int = 0, step: Int? = nil) -> Track {
            Track(kind: "audio", id: "a", codecs: "mp4a.40.2", first: first, durations: durations, step: step)
        }
        static func text(_ durations: [Int], first: Int = 0, step: Int? = nil) -> Track {
            Track(kind: "text", id: "t", codecs: "", first: first, durations: durations, step: step)
        }
    }

    struct Period {
        var start: Int
        /// In seconds; nil if the manifest does not say.
        var duration: Int?
        var tracks: [Track]
    }

    var periods: [Period]
    var isLive = false
    /// Seconds that its first moment is before now.
    var age = 1000
    var window: Int?
    /// In seconds; nil for none.
    var updatePeriod: Int? = 1

    var text: String {
        var text = """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" minBufferTime="PT2S"
            """
        if isLive {
            text += " type=\"dynamic\" availabilityStartTime=\"\(Instant.now() - .seconds(age))\""
            if let updatePeriod { text += " minimumUpdatePeriod=\"PT\(updatePeriod)S\"" }
            if let window { text += " timeShiftBufferDepth=\"PT\(window)S\"" }
        } else {
            text += " type=\"static\""
        }
        text += ">\n"
        for period in periods {
            text += "<Period id=\"p\(period.start)\" start=\"PT\(period.start)S\""
            text += period.duration.map { " duration=\"PT\($0)S\">\n" } ?? ">\n"
            for track in period.tracks {
                text += "<AdaptationSet mimeType=\"\(track.kind)/\(track.kind == "text" ? "vtt" : "mp4")\""
                text += " contentType=\"\(track.kind)\" lang=\"en\">\(track.inner)"
                let initialization = "initialization=\"\(track.id)-init.mp4\" timescale=\"1000\""
                if let step = track.step {
                    text += "<SegmentTemplate media=\"\(track.id)-$Number$.m4s\" \(initialization) duration=\"\(step)\"/>"
                } else {
                    text +=
                        "<SegmentTemplate media=\"\(track.id)-\(period.start)-$Time$.m4s\" \(initialization)><SegmentTimeline>"
                    for (place, duration) in track.durations.enumerated() {
                        text += "<S \(place == 0 ? "t=\"\(track.first)\" " : "")d=\"\(duration)\"/>"
                    }
                    text += "</SegmentTimeline></SegmentTemplate>"
                }
                text += "<Representation id=\"\(track.id)\" bandwidth=\"100000\""
                text += track.codecs.isEmpty ? "/></AdaptationSet>\n" : " codecs=\"\(track.codecs)\"/></AdaptationSet>\n"
            }
            text += "</Period>\n"
        }
        return text + "</MPD>\n"
    }
}
