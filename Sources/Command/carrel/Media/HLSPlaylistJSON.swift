// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS
import CarrelJSON

/// A media playlist as JSON, written segment by segment.
struct MediaPlaylistJSON {
    private(set) var text: [UInt8] = []
    private let url: String?

    init(_ playlist: MediaPlaylist, url: String?, warnings: [PlaylistWarning]) {
        self.url = url
        var head: JSONObject = [
            "kind": "media", "version": .integer(playlist.version),
            "targetDuration": .integer(Int64(clamping: playlist.targetDuration)),
            "mediaSequence": .unsigned(playlist.mediaSequence),
            "discontinuitySequence": .unsigned(playlist.discontinuitySequence), "isEnded": .bool(playlist.isEnded),
            "playlistType": .optional(playlist.kind?.rawValue), "iFramesOnly": .bool(playlist.iFramesOnly),
            "independentSegments": .bool(playlist.independentSegments),
        ]
        if let skipped = playlist.skipped { head["skippedSegments"] = .unsigned(skipped.count) }
        if let start = playlist.start?.timeOffset { head["startOffset"] = .seconds(start) }
        if let target = playlist.partTarget { head["partTarget"] = .seconds(target) }
        if !playlist.variables.isEmpty {
            head["variables"] = .object(
                playlist.variables.reduce(into: JSONObject()) { $0[$1.name] = .optional($1.value) }
            )
        }
        if !playlist.trailingParts.isEmpty { head["parts"] = .array(playlist.trailingParts.map(json)) }
        if !playlist.preloadHints.isEmpty {
            head["preloadHints"] = .array(playlist.preloadHints.map { .string(resolve($0.uri ?? "")) })
        }
        text.reserveCapacity(512 + playlist.segments.count * 160)
        // the members of the head, without the brace that ends them
        text += JSON.object(head).write().dropLast()
        text += ",\"segments\":[".utf8
        var start = Duration.zero
        for (index, segment) in playlist.segments.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            let value = JSON.object(json(segment, start, playlist.sequenceNumber(ofSegmentAt: index)))
            value.write(into: &text)
            start += segment.duration
        }
        text += "],\"warnings\":".utf8
        JSON.array(warnings.map(\.json)).write(into: &text)
        text += "}\n".utf8
    }

    private func resolve(_ reference: String) -> String { URIReference.resolve(reference, against: url) }

    private func json(_ segment: MediaSegment, _ start: Duration, _ number: UInt64) -> JSONObject {
        var object: JSONObject = [
            "url": .string(resolve(segment.uri)), "number": .unsigned(number), "start": .seconds(start),
            "duration": .seconds(segment.duration), "byteRange": json(segment.byteRange),
            "key": segment.keys.first.map(json) ?? .null, "discontinuity": .bool(segment.discontinuity),
        ]
        if segment.keys.count > 1 { object["keys"] = .array(segment.keys.map(json)) }
        if !segment.title.isEmpty { object["title"] = .string(segment.title) }
        if let initialization = segment.initialization {
            object["initialization"] = [
                "url": .string(resolve(initialization.uri)), "byteRange": json(initialization.byteRange),
                "key": initialization.keys.first.map(json) ?? .null,
            ]
        }
        if let time = segment.programDateTime { object["programDateTime"] = .string(time) }
        if segment.isGap { object["gap"] = true }
        if let rate = segment.bitrate { object["bitrate"] = .unsigned(rate) }
        if !segment.parts.isEmpty { object["parts"] = .array(segment.parts.map(json)) }
        if !segment.dateRanges.isEmpty { object["dateRanges"] = .array(segment.dateRanges.map { .attributes($0.attributes) }) }
        return object
    }

    private func json(_ part: PartialSegment) -> JSON {
        [
            "url": .string(resolve(part.uri)), "duration": .seconds(part.duration), "byteRange": json(part.byteRange),
            "independent": .bool(part.isIndependent),
        ]
    }

    private func json(_ range: MediaSegment.ByteRange?) -> JSON {
        range.map { ["offset": .unsigned($0.offset), "length": .unsigned($0.length)] } ?? .null
    }

    /// A key; with its initialization vector only if the playlist has one.
    private func json(_ key: EncryptionKey) -> JSON { .key(key, resolve) }
}

/// A multivariant playlist as JSON.
struct MultivariantPlaylistJSON {
    let value: JSON

    init(_ playlist: MultivariantPlaylist, url: String?, warnings: [PlaylistWarning]) {
        func resolve(_ reference: String) -> String { URIReference.resolve(reference, against: url) }
        func pictures(_ variants: [MultivariantPlaylist.PictureVariant]) -> JSON {
            .array(
                variants.map { variant in
                    [
                        "url": .string(resolve(variant.uri)), "bandwidth": variant.bandwidth.map { .unsigned($0) } ?? .null,
                        "attributes": .attributes(variant.attributes),
                    ]
                }
            )
        }
        let variants = playlist.variants.map { variant -> JSON in
            [
                "url": .string(resolve(variant.uri)), "bandwidth": .unsigned(variant.bandwidth),
                "averageBandwidth": variant.averageBandwidth.map { .unsigned($0) } ?? .null, "codecs": .optional(variant.codecs),
                "resolution": variant.resolution.map { ["width": .unsigned($0.width), "height": .unsigned($0.height)] } ?? .null,
                "attributes": .attributes(variant.attributes),
            ]
        }
        let renditions = playlist.renditions.map { rendition -> JSON in
            [
                "type": .string(rendition.kind), "groupId": .string(rendition.groupID), "name": .string(rendition.name),
                "language": .optional(rendition.language), "url": .optional(rendition.uri.map(resolve)),
                "isDefault": .bool(rendition.isDefault), "attributes": .attributes(rendition.attributes),
            ]
        }
        let data = playlist.sessionData.map { data -> JSON in
            switch data.content {
            case .value(let text): ["id": .string(data.id), "value": .string(text), "language": .optional(data.language)]
            case .uri(let uri): ["id": .string(data.id), "url": .string(resolve(uri)), "language": .optional(data.language)]
            }
        }
        value = [
            "kind": "multivariant", "version": .integer(playlist.version),
            "independentSegments": .bool(playlist.independentSegments), "variants": .array(variants),
            "renditions": .array(renditions), "iFrameVariants": pictures(playlist.iFrameVariants),
            "imageVariants": pictures(playlist.imageVariants),
            "sessionKeys": .array(playlist.sessionKeys.map { .key($0, resolve) }),
            "sessionData": .array(data), "contentSteering": playlist.contentSteering.map { .attributes($0) } ?? .null,
            "warnings": .array(warnings.map(\.json)),
        ]
    }
}

extension JSON {
    /// A number that may not fit into JSON's integers of 64 bits with a sign.
    static func unsigned(_ value: UInt64) -> JSON { Int64(exactly: value).map { .integer($0) } ?? .real(Double(value)) }

    static func attributes(_ list: AttributeList) -> JSON {
        .object(list.attributes.reduce(into: JSONObject()) { $0[$1.name] = .string($1.value.text) })
    }

    static func key(_ key: EncryptionKey, _ resolve: (String) -> String) -> JSON {
        var object: JSONObject = [
            "method": .string(key.method.rawValue), "uri": .string(resolve(key.uri)),
            "iv": .optional(key.initializationVector.map { Hex.encode($0) }),
        ]
        if let format = key.keyFormat { object["keyFormat"] = .string(format) }
        if let id = key.contentID { object["contentId"] = .string(id) }
        return .object(object)
    }
}
