// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelBytes
import CarrelDASH
import CarrelJSON
import CarrelMP4

/// The contents of a DASH MPD as JSON; `carrel dash print` lists the segments.
enum MPDInspection {
    /// Bytes of an MPD, at most.
    private static let limit: Int64 = 64 << 20
    /// Bytes in which the root element begins.
    private static let headLength: Int64 = 16 << 10

    /// Inspects a file; nil if it is not an MPD.
    static func describe(_ reader: any ByteReader) throws -> JSON? {
        guard try isMPD(reader) else { return nil }
        guard reader.length <= limit else { throw Malformed("MPD is longer than \(limit) bytes", at: 0) }
        let bytes = try reader.readAll(0..<reader.length)
        return try describe(try MPD.parse(bytes.rawSpan), size: reader.length)
    }

    /// Whether the first element is named `MPD`, with or without a prefix.
    private static func isMPD(_ reader: any ByteReader) throws -> Bool {
        let head = try reader.readAll(0..<min(reader.length, headLength))
        var text = Substring(String(decoding: head, as: UTF8.self))
        while true {
            text = text.drop { $0.isWhitespace || $0 == "\u{feff}" }
            let end: String
            if text.hasPrefix("<?") {
                end = "?>"
            } else if text.hasPrefix("<!--") {
                end = "-->"
            } else {
                break
            }
            guard let range = text.firstRange(of: end) else { return false }
            text = text[range.upperBound...]
        }
        guard text.first == "<" else { return false }
        let name = text.dropFirst().prefix { !$0.isWhitespace && $0 != ">" && $0 != "/" }
        return name == "MPD" || name.hasSuffix(":MPD")
    }

    private static func describe(_ mpd: MPD, size: Int64) throws -> JSON {
        var facts: JSONObject = [
            "kind": "dash", "size": .integer(size), "type": .string(mpd.kind.rawValue),
            "live": .bool(mpd.kind == .dynamic),
        ]
        if !mpd.profiles.isEmpty { facts["profiles"] = .string(mpd.profiles) }
        if let duration = mpd.mediaPresentationDuration { facts["duration"] = .seconds(duration) }
        if let time = mpd.availabilityStartTime { facts["availabilityStartTime"] = .string(time.description) }
        if let time = mpd.publishTime { facts["publishTime"] = .string(time.description) }
        for (name, duration) in [
            ("minimumUpdatePeriod", mpd.minimumUpdatePeriod), ("timeShiftBufferDepth", mpd.timeShiftBufferDepth),
            ("suggestedPresentationDelay", mpd.suggestedPresentationDelay),
        ] { if let duration { facts[name] = .seconds(duration) } }
        if !mpd.locations.isEmpty { facts["locations"] = .texts(mpd.locations) }
        try checkDescriptors(mpd)
        let streams = mpd.streams()
        var remainder = streams[...]
        var periods: [JSON] = []
        // thousands of representations may share one timeline, whose last segment determines the number
        var timelines = MPDTimelines(keepsRuns: false, workLimit: MPD.timelineLimit)
        for (periodIndex, (period, timing)) in zip(mpd.periods, mpd.timings).enumerated() {
            var object: JSONObject = [:]
            if let id = period.id { object["id"] = .string(id) }
            object["start"] = .seconds(timing.start)
            if let duration = timing.duration { object["duration"] = .seconds(duration) }
            if !period.eventStreams.isEmpty { object["eventStreams"] = .integer(period.eventStreams.count) }
            var sets: [JSON] = []
            for (setIndex, set) in period.adaptationSets.enumerated() {
                let members = remainder.prefix { $0.position.period == periodIndex && $0.position.adaptationSet == setIndex }
                remainder = remainder.dropFirst(members.count)
                sets.append(try describe(set, Array(members), &timelines))
            }
            object["sets"] = .array(sets)
            periods.append(.object(object))
        }
        facts["periods"] = .array(periods)
        if !mpd.links.isEmpty {
            facts["links"] = .array(mpd.links.map { ["element": .string($0.element), "url": .string($0.href)] })
        }
        facts["protection"] = protection(of: streams).json
        return .object(facts)
    }

    private static func describe(_ set: MPDAdaptationSet, _ streams: [MPDStream], _ timelines: inout MPDTimelines) throws
        -> JSON
    {
        var object: JSONObject = [:]
        if let id = set.id { object["id"] = .string(id) }
        if let kind = set.kind { object["contentType"] = .string(kind) }
        if let language = set.language { object["language"] = .string(language) }
        let roles = set.roles.compactMap(\.value)
        if !roles.isEmpty { object["roles"] = .texts(roles) }
        object["representations"] = .array(try streams.map { try describe($0, &timelines) })
        let protections = descriptors(of: streams)
        if !protections.isEmpty { object["protection"] = .array(protections.map { describe($0) }) }
        return .object(object)
    }

    /// Descriptors of all representations, at most: inherited descriptors come with each representation.
    private static let descriptorLimit = 100_000

    /// Refuses an MPD whose representations inherit too many descriptors for memory.
    private static func checkDescriptors(_ mpd: MPD) throws(Malformed) {
        var count = 0
        for set in mpd.periods.lazy.flatMap(\.adaptationSets) {
            for representation in set.representations {
                count += set.properties.contentProtections.count + representation.properties.contentProtections.count
                guard count <= descriptorLimit else {
                    throw Malformed("the representations have more than \(descriptorLimit) descriptors of protection", at: 0)
                }
            }
        }
    }

    /// The descriptors of some streams, each once, in order.
    private static func descriptors(of streams: some Sequence<MPDStream>) -> [MPDContentProtection] {
        var list: [MPDContentProtection] = []
        var seen: Set<MPDContentProtection> = []
        for stream in streams {
            for descriptor in stream.properties.contentProtections where seen.insert(descriptor).inserted {
                list.append(descriptor)
            }
        }
        return list
    }

    private static func describe(_ stream: MPDStream, _ timelines: inout MPDTimelines) throws -> JSON {
        let properties = stream.properties
        var object: JSONObject = ["id": .string(stream.id), "bandwidth": .count(stream.bandwidth)]
        if let type = properties.mimeType { object["mimeType"] = .string(type) }
        if let codecs = properties.codecs { object["codecs"] = .string(codecs) }
        if let width = properties.width, let height = properties.height {
            object["width"] = .integer(width)
            object["height"] = .integer(height)
        }
        if let rate = properties.frameRate { object["frameRate"] = .string(rate) }
        if let rate = properties.audioSamplingRate { object["sampleRate"] = .string(rate) }
        object["addressing"] = .string(stream.information?.kind.rawValue ?? "BaseURL")
        // a live presentation may be unbounded
        if let count = try stream.segments(&timelines).count { object["segments"] = .integer(count) }
        if !stream.keyIDs.isEmpty { object["keyIds"] = .texts(stream.keyIDs) }
        return .object(object)
    }

    private static func describe(_ protection: MPDContentProtection) -> JSON {
        var object: JSONObject = ["scheme": .string(protection.scheme)]
        if let system = protection.system { object["system"] = .string(system.rawValue) }
        if let value = protection.value { object["value"] = .string(value) }
        if !protection.defaultKeyIDs.isEmpty { object["keyIds"] = .texts(protection.defaultKeyIDs) }
        if !protection.protectionBoxes.isEmpty { object["pssh"] = .integer(protection.protectionBoxes.count) }
        if !protection.licenseURLs.isEmpty { object["licenseUrls"] = .texts(protection.licenseURLs) }
        if !protection.authorizationURLs.isEmpty { object["authorizationUrls"] = .texts(protection.authorizationURLs) }
        if !protection.marlinContentIDs.isEmpty { object["contentIds"] = .texts(protection.marlinContentIDs) }
        if let encryption = protection.segmentEncryption {
            if let scheme = encryption.scheme { object["cipher"] = .string(scheme) }
            object["cryptoPeriods"] = .integer(encryption.periods.count)
        }
        return .object(object)
    }

    private static func protection(of streams: [MPDStream]) -> ProtectionFacts {
        var facts = ProtectionFacts()
        for protection in descriptors(of: streams) {
            for id in protection.defaultKeyIDs { ProtectionFacts.add(id, to: &facts.keyIDs) }
            for id in protection.marlinContentIDs { ProtectionFacts.add(id, to: &facts.contentIDs) }
            for url in protection.licenseURLs { ProtectionFacts.add(url, to: &facts.licenseURLs) }
            switch protection.system {
            case .commonEncryption: add(.commonEncryption(protection.value?.lowercased() ?? "cenc"), to: &facts)
            case .segmentEncryption:
                let cipher = protection.segmentEncryption?.scheme ?? "segments"
                ProtectionFacts.add("DASH segment encryption (\(cipher))", to: &facts.kinds)
                facts.isSupported = facts.isSupported && MediaSegmentDecrypter.isSupported(protection.segmentEncryption)
                for period in protection.segmentEncryption?.periods ?? [] {
                    ProtectionFacts.add(
                        KeyAddress.shown(period.keyURITemplate ?? ""),
                        to: &facts.keyURLs
                    )
                }
            case let system?: ProtectionFacts.add(system.rawValue, to: &facts.systems)
            case nil: ProtectionFacts.add(protection.scheme, to: &facts.systems)
            }
        }
        facts.isClear = facts.kinds.isEmpty && facts.systems.isEmpty
        return facts
    }

    private static func add(_ protection: MediaProtection, to facts: inout ProtectionFacts) {
        ProtectionFacts.add(protection.description, to: &facts.kinds)
        if case .commonEncryption(let scheme) = protection, CommonEncryptionScheme(rawValue: scheme) == nil {
            facts.isSupported = false
        }
    }
}
