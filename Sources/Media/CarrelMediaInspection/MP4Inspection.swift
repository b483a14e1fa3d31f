// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelCrypto
import CarrelAudio
import CarrelBytes
import CarrelDCF
import CarrelJSON
import CarrelMP4

/// The contents of an MP4 file as JSON.
enum MP4Inspection {
    /// Limit of samples counted over all tracks: enough for a day of audio and video.
    static let sampleLimit = 10_000_000
    /// Segment indexes that are described.
    private static let indexLimit = 100

    /// Inspects a file.
    ///
    /// Samples above the limit are not counted for their track, and `samplesLeftOut` reports them.
    ///
    /// - Parameters:
    ///   - reader: the file.
    ///   - media: its protection.
    /// - Returns: `kind`, `size`, `brands`, `fragmented`, `fragments`, `tracks`, `indexes`, `systems`, `protection`, `boxes`.
    /// - Throws: the errors of the reader; `Malformed`.
    static func describe(_ reader: any ByteReader, _ media: MediaFile) throws -> JSON {
        let file = try MP4File(reader)
        let whole = MarlinTracks.isMarlin(file) ? try MarlinTracks.protections(of: file) : [:]
        let tree = try BoxTree.read(reader)
        var fragments = 0
        try file.forEachBox { box, _ in if box.type == "moof" { fragments += 1 } }
        var facts: [(String, JSON)] = [
            ("kind", "mp4"), ("size", .integer(reader.length)), ("brands", .texts(file.brands)),
            ("fragmented", .bool(file.isFragmented)),
        ]
        if fragments > 0 { facts.append(("fragments", .integer(fragments))) }
        if let cut = file.truncatedBoxAt { facts.append(("truncatedAt", .integer(cut))) }
        var remaining = sampleLimit
        facts.append(("tracks", .array(try file.tracks.map { try describe($0, of: file, marlin: whole[$0.id], &remaining) })))
        if !file.indexes.isEmpty {
            let indexes = file.indexes.prefix(indexLimit)
            facts.append(("indexes", .array(try indexes.map { try SegmentIndexFacts.describe($0, reader) })))
        }
        facts.append(("systems", .array(file.systems.map { describe($0) })))
        facts.append(("protection", ProtectionFacts(media).json))
        facts.append(("boxes", .array(tree.boxes.map { describe($0) })))
        if tree.isCut { facts.append(("boxesLeftOut", true)) }
        return .object(JSONObject(facts))
    }

    /// Looks into fragments without their movie: `kind`, `size`, `segment`, `fragments`, `indexes`, `protection`, `boxes`.
    static func describeSegment(_ reader: any ByteReader, _ media: MediaFile) throws -> JSON {
        let tree = try BoxTree.read(reader)
        var window = FileWindow(reader)
        var fragments = 0
        var indexes: [JSON] = []
        var at: Int64 = 0
        while reader.length - at >= 8 {
            let box = try MP4Box(&window, at: at, in: 0..<reader.length)
            if box.isCut { throw Malformed("box \(box.type) reaches past the end of the file", at: Int(clamping: at)) }
            if box.type == "moof" { fragments += 1 }
            if box.type == "sidx", indexes.count < indexLimit { indexes.append(try SegmentIndexFacts.describe(box, reader)) }
            at = box.content.upperBound
        }
        var facts: [(String, JSON)] = [
            ("kind", "mp4"), ("size", .integer(reader.length)), ("segment", true), ("fragments", .integer(fragments)),
        ]
        if !indexes.isEmpty { facts.append(("indexes", .array(indexes))) }
        facts.append(("protection", ProtectionFacts(media).json))
        facts.append(("boxes", .array(tree.boxes.map { describe($0) })))
        if tree.isCut { facts.append(("boxesLeftOut", true)) }
        return .object(JSONObject(facts))
    }

    private static func describe(
        _ track: MP4Track,
        of file: MP4File,
        marlin: MarlinProtection?,
        _ remaining: inout Int
    ) throws -> JSON {
        var facts: [(String, JSON)] = [("id", .integer(track.id)), ("kind", .string(track.kind))]
        if let entry = track.entries.first {
            facts.append(("format", .string("\(entry.format)")))
            if let codecs = entry.codecString { facts.append(("codecs", .string(codecs))) }
            if entry.width > 0 {
                facts.append(("width", .integer(entry.width)))
                facts.append(("height", .integer(entry.height)))
            }
            if track.kind == "soun" {
                if let codec = track.codec { facts.append(("codec", .string("\(codec)"))) }
                facts.append(("sampleRate", .integer(track.entrySampleRate)))
                facts.append(("channels", .integer(track.entryChannels)))
            }
        }
        if let language = track.language { facts.append(("language", .string(language))) }
        facts.append(("timescale", .integer(track.timescale)))
        let totals = try totals(track, file, &remaining)
        facts.append(("samples", .integer(totals.count)))
        if track.timescale > 0 { facts.append(("duration", .seconds(totals.duration, of: track.timescale))) }
        facts.append(("sync", .integer(totals.sync)))
        if totals.isCut { facts.append(("samplesLeftOut", true)) }
        if track.entries.count > 1 { facts.append(("descriptions", .integer(track.entries.count))) }
        let edits = track.editList.edits
        if !edits.isEmpty { facts.append(("edits", .array(edits.map { describe($0, track) }))) }
        let protections = track.entries.filter { $0.protection != nil }
        if let marlin {
            facts.append(
                (
                    "protection",
                    ["scheme": .string(marlin.scheme == .groupKey ? "ACGK" : "ACBC"), "contentId": .string(marlin.contentID)]
                )
            )
        } else if let entry = protections.first, let protection = entry.protection {
            facts.append(("protection", try describe(protection, entry, track, file)))
        }
        return .object(JSONObject(facts))
    }

    /// One edit (ISO/IEC 14496-12 §8.6.6): seconds of the presentation, and the media time at which they begin; null of an empty edit.
    private static func describe(_ edit: EditList.Edit, _ track: MP4Track) -> JSON {
        [
            "mediaTime": edit.mediaTime < 0 ? .null : .seconds(edit.mediaTime, of: track.timescale),
            "duration": .seconds(edit.duration, of: track.movieTimescale),
        ]
    }

    private struct Totals {
        var count = 0
        var duration: Int64 = 0
        var sync = 0
        var isCut = false
    }

    /// Counts the samples of a track, `remaining` of them at most.
    private static func totals(_ track: MP4Track, _ file: MP4File, _ remaining: inout Int) throws -> Totals {
        var samples = file.samples(of: track, allowsTruncation: true)
        var totals = Totals()
        while let sample = try samples.next() {
            guard remaining > 0 else {
                totals.isCut = true
                break
            }
            remaining -= 1
            totals.count += 1
            totals.duration &+= sample.duration
            totals.sync += sample.isSync ? 1 : 0
        }
        return totals
    }

    private static func describe(
        _ protection: MP4Protection,
        _ entry: SampleEntry,
        _ track: MP4Track,
        _ file: MP4File
    ) throws -> JSON {
        var facts: [(String, JSON)] = [("scheme", .string(protection.scheme)), ("name", .string("\(protection)"))]
        if let whole = try SampleProtection(protection) {
            if let id = whole.contentID { facts.append(("contentId", .string(id))) }
            if let id = whole.groupID { facts.append(("groupId", .string(id))) }
        }
        if let encryption = entry.encryption {
            facts.append(("keyIds", .array(try file.keyIDs(of: track).map { .string("\($0)") })))
            facts.append(("ivSize", .integer(encryption.ivSize)))
            if let iv = encryption.constantIV { facts.append(("constantIV", .string(Hex.encode(iv.bytes)))) }
            if encryption.pattern != .whole {
                facts.append(("pattern", .string("\(encryption.pattern.crypt):\(encryption.pattern.skip)")))
            }
        }
        return .object(JSONObject(facts))
    }

    private static func describe(_ system: ProtectionSystemHeader) -> JSON {
        [
            "id": .string(Hex.encode(system.system)), "name": system.name.map { .string($0) } ?? nil,
            "keyIds": .array(system.keyIDs.map { .string("\($0)") }), "dataSize": .integer(system.data.count),
        ]
    }

    static func describe(_ box: BoxTree) -> JSON {
        var facts: [(String, JSON)] = [
            ("type", .string(box.type)), ("offset", .integer(box.offset)), ("size", .integer(box.size)),
        ]
        if !box.boxes.isEmpty { facts.append(("boxes", .array(box.boxes.map { describe($0) }))) }
        return .object(JSONObject(facts))
    }
}
