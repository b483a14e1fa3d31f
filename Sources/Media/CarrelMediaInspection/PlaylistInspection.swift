// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelBytes
import CarrelHLS
import CarrelJSON
import CarrelMP4

/// The contents of an HLS playlist as JSON; `carrel hls print` lists the segments.
enum PlaylistInspection {
    /// Bytes of a playlist, at most.
    private static let limit: Int64 = 32 << 20
    /// Runs of keys and maps that are listed.
    private static let listLimit = 1000

    static func describe(_ reader: any ByteReader, _ file: MediaFile) throws -> JSON {
        guard reader.length <= limit else { throw Malformed("playlist is longer than \(limit) bytes", at: 0) }
        let bytes = try reader.readAll(0..<reader.length)
        let reading = try Playlist.read(bytes.rawSpan, strictness: .lenient)
        var facts: JSONObject = ["kind": "hls", "size": .integer(reader.length)]
        switch reading.playlist {
        case .media(let playlist): describe(playlist, &facts)
        case .multivariant(let playlist): describe(playlist, &facts)
        }
        facts["protection"] = ProtectionFacts(file).json
        facts["warnings"] = .array(
            reading.warnings.map {
                [
                    "code": .string($0.code.rawValue), "message": .string($0.message), "offset": .integer($0.offset),
                    "count": .integer($0.count),
                ]
            }
        )
        return .object(facts)
    }

    // MARK: - Media playlists

    /// A key line or an initialization section, with the segments to which it applies.
    private struct Run<Value: Equatable> {
        var value: Value
        var first: UInt64
        var count = 1
    }

    private static func describe(_ playlist: MediaPlaylist, _ facts: inout JSONObject) {
        facts["playlist"] = "media"
        facts["version"] = .integer(playlist.version)
        facts["targetDuration"] = .count(playlist.targetDuration)
        facts["mediaSequence"] = .count(playlist.mediaSequence)
        if let kind = playlist.kind { facts["type"] = .string(kind.rawValue) }
        facts["ended"] = .bool(playlist.isEnded)
        facts["segments"] = .integer(playlist.segments.count)
        facts["duration"] = .seconds(playlist.duration)
        if playlist.iFramesOnly { facts["iFramesOnly"] = true }
        if playlist.imagesOnly { facts["imagesOnly"] = true }
        if playlist.independentSegments { facts["independentSegments"] = true }
        var (discontinuities, gaps, ranges, parts) = (0, 0, 0, playlist.trailingParts.count)
        var keys: [Run<[EncryptionKey]>] = []
        var maps: [Run<MediaSegment.Initialization?>] = []
        for (index, segment) in playlist.segments.enumerated() {
            if segment.discontinuity { discontinuities += 1 }
            if segment.isGap { gaps += 1 }
            if segment.byteRange != nil { ranges += 1 }
            parts += segment.parts.count
            let number = playlist.sequenceNumber(ofSegmentAt: index)
            add(segment.keys, number, to: &keys)
            add(segment.initialization, number, to: &maps)
        }
        for (name, number) in [("discontinuities", discontinuities), ("gaps", gaps), ("byteRanges", ranges), ("parts", parts)]
        where number > 0 { facts[name] = .integer(number) }
        facts["keys"] = .array(
            keys.prefix(listLimit).flatMap { run in run.value.map { describe($0, first: run.first, count: run.count) } }
        )
        facts["maps"] = .array(
            maps.prefix(listLimit).compactMap { run in
                run.value.map { map in
                    var object: JSONObject = ["url": .string(map.uri), "segments": .integer(run.count)]
                    if let range = map.byteRange {
                        object["byteRange"] = ["offset": .count(range.offset), "length": .count(range.length)]
                    }
                    if let key = map.keys.first { object["method"] = .string(key.method.rawValue) }
                    return .object(object)
                }
            }
        )
        if keys.count > listLimit || maps.count > listLimit { facts["listsCut"] = true }
    }

    private static func add<Value: Equatable>(_ value: Value, _ number: UInt64, to runs: inout [Run<Value>]) {
        if let last = runs.indices.last, runs[last].value == value {
            runs[last].count += 1
        } else if runs.count <= listLimit {
            runs.append(Run(value: value, first: number))
        }
    }

    private static func describe(_ key: EncryptionKey, first: UInt64? = nil, count: Int? = nil) -> JSON {
        var object: JSONObject = [
            "method": .string(key.method.rawValue), "url": .string(KeyAddress.shown(key.uri)),
        ]
        if let format = key.keyFormat { object["keyFormat"] = .string(format) }
        if let vector = key.initializationVector { object["iv"] = .string(Hex.encode(vector)) }
        if let id = key.contentID { object["contentId"] = .string(id) }
        if let first { object["firstSegment"] = .count(first) }
        if let count { object["segments"] = .integer(count) }
        return .object(object)
    }

    // MARK: - Multivariant playlists

    private static func describe(_ playlist: MultivariantPlaylist, _ facts: inout JSONObject) {
        facts["playlist"] = "multivariant"
        facts["version"] = .integer(playlist.version)
        if playlist.independentSegments { facts["independentSegments"] = true }
        facts["variants"] = .array(
            playlist.variants.map { variant in
                var object: JSONObject = ["url": .string(variant.uri), "bandwidth": .count(variant.bandwidth)]
                if let average = variant.averageBandwidth { object["averageBandwidth"] = .count(average) }
                if let codecs = variant.codecs { object["codecs"] = .string(codecs) }
                add(variant.resolution, to: &object)
                if let rate = variant.frameRate { object["frameRate"] = .string(rate) }
                for kind in ["AUDIO", "VIDEO", "SUBTITLES"] {
                    if let group = variant.group(kind) { object[kind.lowercased()] = .string(group) }
                }
                return .object(object)
            }
        )
        facts["renditions"] = .array(
            playlist.renditions.map { rendition in
                var object: JSONObject = [
                    "type": .string(rendition.kind), "group": .string(rendition.groupID), "name": .string(rendition.name),
                ]
                if let uri = rendition.uri { object["url"] = .string(uri) }
                if let language = rendition.language { object["language"] = .string(language) }
                if rendition.isDefault { object["default"] = true }
                if let channels = rendition.channels { object["channels"] = .string(channels) }
                return .object(object)
            }
        )
        for (name, list) in [("iFrameVariants", playlist.iFrameVariants), ("imageVariants", playlist.imageVariants)]
        where !list.isEmpty {
            facts[name] = .array(
                list.map { variant in
                    var object: JSONObject = ["url": .string(variant.uri)]
                    if let bandwidth = variant.bandwidth { object["bandwidth"] = .count(bandwidth) }
                    add(variant.resolution, to: &object)
                    return .object(object)
                }
            )
        }
        if !playlist.sessionKeys.isEmpty { facts["sessionKeys"] = .array(playlist.sessionKeys.map { describe($0) }) }
    }

    private static func add(_ resolution: (width: UInt64, height: UInt64)?, to object: inout JSONObject) {
        guard let resolution else { return }
        object["width"] = .count(resolution.width)
        object["height"] = .count(resolution.height)
    }
}
