// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelBytes
import CarrelMP4

/// The DASH manifest of a package (ISO/IEC 23009-1), static.
///
/// It writes its own text: the model of `CarrelDASH` has no `@subsegmentAlignment` and `@subsegmentStartsWithSAP`, which the
/// profile for single files requires (ISO/IEC 23009-1 §8.3.3).
struct PackageManifest {
    private let contents: PackageContents

    init(_ contents: PackageContents) {
        self.contents = contents
    }

    private var renditions: [PackagedRendition] { contents.renditions }

    /// The text.
    var bytes: [UInt8] {
        var xml = XMLLines()
        let seconds = renditions.map(\.track.seconds).max() ?? 0
        let longest = renditions.flatMap { rendition in
            rendition.segments.map { Double($0.duration) / Double(rendition.track.timescale) }
        }.max()
        let profile = contents.options.layout == .ranges ? "isoff-on-demand" : "isoff-live"
        xml.open(
            "MPD",
            [
                ("xmlns", "urn:mpeg:dash:schema:mpd:2011"), ("xmlns:cenc", "urn:mpeg:cenc:2013"),
                ("xmlns:dashif", "https://dashif.org/CPS"), ("profiles", "urn:mpeg:dash:profile:\(profile):2011"),
                ("type", "static"), ("mediaPresentationDuration", Self.duration(seconds)),
                ("minBufferTime", Self.duration(longest ?? 2)),
            ]
        )
        xml.open("Period", [("id", "0"), ("start", "PT0S")])
        let sets = adaptationSets()
        for (id, set) in sets.enumerated() { write(set, id: id, isAlternate: Self.isAlternate(id, of: sets), to: &xml) }
        for text in contents.texts {
            var attributes = [("contentType", "text"), ("mimeType", "text/vtt")]
            if let language = text.language { attributes.append(("lang", language)) }
            xml.open("AdaptationSet", attributes)
            xml.empty("Role", [("schemeIdUri", "urn:mpeg:dash:role:2011"), ("value", "subtitle")])
            xml.open("Representation", [("id", text.name), ("bandwidth", "\(text.bandwidth)")])
            xml.text("BaseURL", text.wholePath)
            xml.close("Representation")
            xml.close("AdaptationSet")
        }
        if let thumbnails = contents.thumbnails { write(thumbnails, to: &xml) }
        xml.close("Period")
        xml.close("MPD")
        return Array(xml.lines.utf8)
    }

    /// Grids of thumbnails (DASH-IF IOP 4.3 §6.2.6).
    private func write(_ thumbnails: PackagedThumbnails, to xml: inout XMLLines) {
        xml.open("AdaptationSet", [("contentType", "image"), ("mimeType", "image/jpeg")])
        xml.empty(
            "SegmentTemplate",
            [
                ("timescale", "1000"), ("duration", "\(thumbnails.gridDuration)"), ("media", "thumbnails/$Number$.jpg"),
                ("startNumber", "1"),
            ]
        )
        xml.open(
            "Representation",
            [
                ("id", "thumbnails"), ("bandwidth", "\(max(1, thumbnails.bandwidth))"), ("width", "\(thumbnails.width)"),
                ("height", "\(thumbnails.height)"),
            ]
        )
        xml.empty(
            "EssentialProperty",
            [
                ("schemeIdUri", "http://dashif.org/guidelines/thumbnail_tile"),
                ("value", "\(thumbnails.columns)x\(thumbnails.rows)"),
            ]
        )
        xml.close("Representation")
        xml.close("AdaptationSet")
    }

    private static func duration(_ seconds: Double) -> String {
        "PT\(PackageTime.seconds(Int64((seconds * 1_000_000).rounded(.up))))S"
    }

    /// Renditions that a player may change between: of one kind, coding and language. Audio tracks alike of one file are choices, such
    /// as a commentary, and never bit rates of each other.
    private func adaptationSets() -> [[PackagedRendition]] {
        var sets: [[PackagedRendition]] = []
        for rendition in renditions {
            let track = rendition.track
            let fits = sets.firstIndex { set in
                Self.areAlike(set[0].track, track)
                    && (track.kind == .video || !set.contains { $0.track.source.name == track.source.name })
            }
            if let fits { sets[fits].append(rendition) } else { sets.append([rendition]) }
        }
        return sets
    }

    /// Whether an audio set is another choice than the main one: its track is disabled and another one is not, or an earlier set is
    /// alike.
    private static func isAlternate(_ id: Int, of sets: [[PackagedRendition]]) -> Bool {
        let track = sets[id][0].track
        guard track.kind == .audio else { return false }
        let hasDefault = sets.contains { $0[0].track.kind == .audio && $0[0].track.track.isEnabled }
        return hasDefault && !track.track.isEnabled || sets[..<id].contains { areAlike($0[0].track, track) }
    }

    private static func areAlike(_ first: PackagedTrack, _ second: PackagedTrack) -> Bool {
        first.kind == second.kind && first.entry.format == second.entry.format && first.language == second.language
            && first.channels == second.channels
    }

    private func write(_ set: [PackagedRendition], id: Int, isAlternate: Bool, to xml: inout XMLLines) {
        let kind = set[0].track.kind
        var attributes = [("id", "\(id)"), ("contentType", kind.rawValue), ("mimeType", "\(kind.rawValue)/mp4")]
        if let language = set[0].track.language { attributes.append(("lang", language)) }
        let accessType = "\(set.map(\.accessType).max() ?? 1)"
        if contents.options.layout == .ranges {
            attributes += [("subsegmentAlignment", "true"), ("subsegmentStartsWithSAP", accessType)]
        } else {
            attributes += [("segmentAlignment", "true"), ("startWithSAP", accessType)]
        }
        xml.open("AdaptationSet", attributes)
        if let scheme = set[0].scheme, let key = set[0].defaultKey { writeProtection(scheme, key, set[0].keys, to: &xml) }
        xml.empty("Role", [("schemeIdUri", "urn:mpeg:dash:role:2011"), ("value", isAlternate ? "alternate" : "main")])
        for rendition in set { write(rendition, to: &xml) }
        xml.close("AdaptationSet")
    }

    private func writeProtection(
        _ scheme: CommonEncryptionScheme,
        _ key: PackagingKey,
        _ keys: [PackagingKey],
        to xml: inout XMLLines
    ) {
        let id = Self.uuid(key.id.bytes)
        xml.empty(
            "ContentProtection",
            [("schemeIdUri", "urn:mpeg:dash:mp4protection:2011"), ("value", scheme.rawValue), ("cenc:default_KID", id)]
        )
        for header in ProtectionSystemHeader.standard(for: contents.options.rotation > 0 ? keys.map(\.id) : [key.id]) {
            var writer = BoxWriter()
            header.write(to: &writer)
            var attributes = [("schemeIdUri", "urn:uuid:\(Self.uuid(header.system))")]
            let isClearKey = header.system == ProtectionSystemHeader.clearKey
            if isClearKey { attributes.append(("value", "ClearKey1.0")) }
            xml.open("ContentProtection", attributes)
            if isClearKey { writeAddresses(to: &xml) }
            xml.text("cenc:pssh", Base64.encode(writer.bytes))
            xml.close("ContentProtection")
        }
    }

    /// The license server, and the address of its tokens (DASH-IF, Content Protection and Security §4). The first versions of the element
    /// had a capital letter, which players such as Shaka still read alone.
    private func writeAddresses(to xml: inout XMLLines) {
        if let address = contents.options.licenseURI {
            xml.text("dashif:laurl", address)
            xml.text("dashif:Laurl", address)
        }
        if let address = contents.options.authorizationURI { xml.text("dashif:authzurl", address) }
    }

    private static func uuid(_ bytes: [UInt8]) -> String {
        let text = Hex.encode(bytes)
        var parts: [Substring] = []
        var rest = text[...]
        for length in [8, 4, 4, 4, 12] {
            parts.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return parts.joined(separator: "-")
    }

    private func write(_ rendition: PackagedRendition, to xml: inout XMLLines) {
        let track = rendition.track
        var attributes = [
            ("id", rendition.name), ("bandwidth", "\(max(1, rendition.peakBandwidth))"), ("codecs", track.codecs),
        ]
        switch track.kind {
        case .video:
            let size = track.size ?? (track.entry.width, track.entry.height)
            attributes += [("width", "\(size.width)"), ("height", "\(size.height)")]
            let (pictures, units) = Self.reduced(Int64(track.sampleCount) * track.timescale, track.end - track.start)
            attributes.append(("frameRate", units == 1 ? "\(pictures)" : "\(pictures)/\(units)"))
        case .audio: attributes.append(("audioSamplingRate", "\(track.sampleRate)"))
        case .text: break
        }
        xml.open("Representation", attributes)
        if track.kind == .audio, track.channels > 0 {
            xml.empty(
                "AudioChannelConfiguration",
                [
                    ("schemeIdUri", "urn:mpeg:dash:23003:3:audio_channel_configuration:2011"),
                    ("value", "\(track.channels == 8 ? 7 : track.channels)"),
                ]
            )
        }
        switch rendition.layout {
        case .ranges:
            xml.text("BaseURL", rendition.initializationPath)
            let index = rendition.index
            xml.open(
                "SegmentBase",
                Self.clock(rendition) + [("indexRange", "\(index.lowerBound)-\(index.upperBound - 1)")]
            )
            xml.empty("Initialization", [("range", "0-\(rendition.initializationLength - 1)")])
            xml.close("SegmentBase")
        case .segments: writeTemplate(rendition, to: &xml)
        }
        xml.close("Representation")
    }

    /// The units of a rendition, and the media time at which the period begins (ISO/IEC 23009-1 §5.3.9.2).
    private static func clock(_ rendition: PackagedRendition) -> [(String, String)] {
        let units = [("timescale", "\(rendition.track.timescale)")]
        return rendition.origin == 0 ? units : units + [("presentationTimeOffset", "\(rendition.origin)")]
    }

    private func writeTemplate(_ rendition: PackagedRendition, to xml: inout XMLLines) {
        xml.open(
            "SegmentTemplate",
            Self.clock(rendition) + [
                ("initialization", rendition.initializationPath), ("media", "\(rendition.name)/$Number$.m4s"),
                ("startNumber", "1"),
            ]
        )
        xml.open("SegmentTimeline", [])
        // the timeline begins with the presentation: media that a player drops before it are not counted
        let spans = rendition.segments.map { segment in
            (start: max(0, segment.start), end: max(0, segment.start + segment.duration))
        }
        var i = 0
        while i < spans.count {
            let span = spans[i]
            var repeats = 0
            while i + repeats + 1 < spans.count, spans[i + repeats + 1].start == spans[i + repeats].end,
                spans[i + repeats + 1].end - spans[i + repeats + 1].start == span.end - span.start
            {
                repeats += 1
            }
            var attributes = [("t", "\(span.start + rendition.origin)"), ("d", "\(span.end - span.start)")]
            if repeats > 0 { attributes.append(("r", "\(repeats)")) }
            xml.empty("S", attributes)
            i += repeats + 1
        }
        xml.close("SegmentTimeline")
        xml.close("SegmentTemplate")
    }

    private static func reduced(_ numerator: Int64, _ denominator: Int64) -> (Int64, Int64) {
        var a = max(1, numerator)
        var b = max(1, denominator)
        let (x, y) = (a, b)
        while b != 0 { (a, b) = (b, a % b) }
        return (x / a, y / a)
    }
}

/// Elements of XML, one a line.
private struct XMLLines {
    private(set) var lines = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    private var depth = 0

    /// The text with the characters of markup as references; control characters, which XML 1.0 has no form for, are replaced.
    private static func escaped(_ text: String) -> String {
        let clean = String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{fffd}" : $0 })
        )
        return clean.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;").replacing(
            "\"",
            with: "&quot;"
        )
    }

    private mutating func line(_ text: String) { lines += String(repeating: "  ", count: depth) + text + "\n" }

    private static func tag(_ name: String, _ attributes: [(String, String)]) -> String {
        name + attributes.map { " \($0.0)=\"\(escaped($0.1))\"" }.joined()
    }

    mutating func open(_ name: String, _ attributes: [(String, String)]) {
        line("<\(Self.tag(name, attributes))>")
        depth += 1
    }

    mutating func close(_ name: String) {
        depth -= 1
        line("</\(name)>")
    }

    mutating func empty(_ name: String, _ attributes: [(String, String)]) { line("<\(Self.tag(name, attributes))/>") }

    mutating func text(_ name: String, _ text: String) { line("<\(name)>\(Self.escaped(text))</\(name)>") }
}
