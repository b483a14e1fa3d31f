// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH
import CarrelJSON

/// An MPD with its segments as JSON, written segment by segment.
struct MPDJSON {
    private(set) var text: [UInt8] = []

    init(_ mpd: MPD, _ streams: [(stream: MPDStream, segments: MPDSegments, range: Range<Int>)]) {
        var head: JSONObject = ["kind": .string(mpd.kind.rawValue)]
        if let time = mpd.availabilityStartTime { head["availabilityStartTime"] = .string(time.description) }
        if let duration = mpd.mediaPresentationDuration { head["duration"] = .seconds(duration) }
        if let period = mpd.minimumUpdatePeriod { head["minimumUpdatePeriod"] = .seconds(period) }
        if let delay = mpd.suggestedPresentationDelay { head["suggestedPresentationDelay"] = .seconds(delay) }
        if !mpd.locations.isEmpty { head["locations"] = .array(mpd.locations.map { .string($0) }) }
        if !mpd.utcTimings.isEmpty {
            head["utcTimings"] = .array(mpd.utcTimings.map { ["scheme": .string($0.scheme), "value": .optional($0.value)] })
        }
        if !mpd.links.isEmpty {
            head["links"] = .array(
                mpd.links.map { ["element": .string($0.element), "href": .string($0.href), "isOnLoad": .bool($0.isOnLoad)] }
            )
        }
        text += JSON.object(head).write().dropLast()
        text += ",\"periods\":[".utf8
        var rest = streams[...]
        for (place, (period, timing)) in zip(mpd.periods, mpd.timings).enumerated() {
            if place > 0 { text.append(UInt8(ascii: ",")) }
            var object: JSONObject = ["id": .optional(period.id), "start": .seconds(timing.start)]
            object["duration"] = timing.duration.map { .seconds($0) } ?? .null
            text += JSON.object(object).write().dropLast()
            text += ",\"representations\":[".utf8
            var isFirst = true
            while let (stream, segments, range) = rest.first, stream.position.period == place {
                rest = rest.dropFirst()
                if !isFirst { text.append(UInt8(ascii: ",")) }
                isFirst = false
                write(stream, period.adaptationSets[stream.position.adaptationSet], segments, range)
            }
            text += "]}".utf8
        }
        text += "]}\n".utf8
    }

    private mutating func write(_ stream: MPDStream, _ set: MPDAdaptationSet, _ segments: MPDSegments, _ range: Range<Int>) {
        var object: JSONObject = [
            "id": .string(stream.id), "bandwidth": .integer(Int64(clamping: stream.bandwidth)),
            "keyIds": .array(stream.keyIDs.map { .string($0) }), "contentType": .optional(set.kind),
            "mimeType": .optional(stream.properties.mimeType), "codecs": .optional(stream.properties.codecs),
            "language": .optional(set.language), "roles": .array(set.roles.map { .optional($0.value) }),
        ]
        if let width = stream.properties.width, let height = stream.properties.height {
            object["width"] = .integer(width)
            object["height"] = .integer(height)
        }
        object["protection"] = .array(stream.properties.contentProtections.map(Self.json))
        if let initialization = stream.initialization {
            object["initialization"] = ["url": .string(initialization.url), "byteRange": Self.json(initialization.byteRange)]
        }
        text += JSON.object(object).write().dropLast()
        text += ",\"segments\":[".utf8
        for index in range {
            guard let segment = segments[index] else { break }
            if index > range.lowerBound { text.append(UInt8(ascii: ",")) }
            var object: JSONObject = [
                "url": .string(segment.url), "start": .seconds(segment.start),
                "duration": segment.duration.map { .seconds($0) } ?? .null, "number": .integer(segment.number),
                "time": .integer(segment.time), "byteRange": Self.json(segment.byteRange),
            ]
            if let indexRange = segment.indexRange { object["indexRange"] = Self.json(indexRange) }
            JSON.object(object).write(into: &text)
        }
        text += "]}".utf8
    }

    private static func json(_ protection: MPDContentProtection) -> JSON {
        var object: JSONObject = ["scheme": .string(protection.scheme), "system": .optional(protection.system?.rawValue)]
        if let value = protection.value { object["value"] = .string(value) }
        if !protection.licenseURLs.isEmpty { object["licenseUrls"] = .array(protection.licenseURLs.map { .string($0) }) }
        if !protection.authorizationURLs.isEmpty {
            object["authorizationUrls"] = .array(protection.authorizationURLs.map { .string($0) })
        }
        if !protection.marlinContentIDs.isEmpty {
            object["marlinContentIds"] = .array(protection.marlinContentIDs.map { .string($0) })
        }
        if !protection.protectionBoxes.isEmpty {
            object["pssh"] = .array(protection.protectionBoxes.map { .string(Base64.encode($0)) })
        }
        if let encryption = protection.segmentEncryption {
            object["segmentEncryption"] = .array(
                encryption.periods.map { period in
                    [
                        "count": period.count.map { .unsigned($0) } ?? .null, "uri": .optional(period.keyURITemplate),
                        "iv": .optional(period.initializationVector.map { Hex.encode($0) }),
                    ]
                }
            )
        }
        return .object(object)
    }

    private static func json(_ range: MPDByteRange?) -> JSON {
        range.map { ["offset": .integer($0.offset), "length": $0.length.map { .integer($0) } ?? .null] } ?? .null
    }
}
