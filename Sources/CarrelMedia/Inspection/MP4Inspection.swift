import CarrelCrypto
import CarrelAudio
import CarrelBytes
import CarrelDCF
package import CarrelJSON
package import CarrelMP4

/// The contents of an MP4 file, for people and programs.
package enum MP4Inspection {
    /// Looks into a file.
    ///
    /// - Parameter reader: the file.
    /// - Returns: `kind`, `size`, `brands`, `fragmented`, `tracks`, `systems`, `boxes`.
    /// - Throws: what the reader throws; `Malformed`.
    package static func describe(_ reader: any ByteReader) throws -> JSON {
        let file = try MP4File(reader)
        let whole = MarlinTracks.isMarlin(file) ? try MarlinTracks.protections(of: file) : [:]
        let tree = try BoxTree.read(reader)
        var facts: [(String, JSON)] = [
            ("kind", "mp4"), ("size", .integer(reader.length)), ("brands", .array(file.brands.map { .string($0) })),
            ("fragmented", .bool(file.isFragmented)),
        ]
        if let cut = file.truncatedBoxAt { facts.append(("truncatedAt", .integer(cut))) }
        facts.append(("tracks", .array(try file.tracks.map { try describe($0, of: file, marlin: whole[$0.id]) })))
        facts.append(("systems", .array(file.systems.map { describe($0) })))
        facts.append(("boxes", .array(tree.boxes.map { describe($0) })))
        if tree.isCut { facts.append(("boxesLeftOut", true)) }
        return .object(JSONObject(facts))
    }

    private static func describe(_ track: MP4Track, of file: MP4File, marlin: MarlinProtection?) throws -> JSON {
        var facts: [(String, JSON)] = [("id", .integer(track.id)), ("kind", .string(track.kind))]
        if let entry = track.entries.first {
            facts.append(("format", .string("\(entry.format)")))
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
        let totals = try totals(track, file)
        facts.append(("samples", .integer(totals.count)))
        if track.timescale > 0 { facts.append(("duration", .real(Double(totals.duration) / Double(track.timescale)))) }
        facts.append(("sync", .integer(totals.sync)))
        if track.entries.count > 1 { facts.append(("descriptions", .integer(track.entries.count))) }
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

    private static func totals(_ track: MP4Track, _ file: MP4File) throws -> (count: Int, duration: Int64, sync: Int) {
        var samples = file.samples(of: track, allowsTruncation: true)
        var sync = 0
        while let sample = try samples.next() { sync += sample.isSync ? 1 : 0 }
        return (samples.index, samples.duration, sync)
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
