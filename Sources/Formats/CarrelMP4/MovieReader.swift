// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes

/// Reads the boxes of a movie (`moov`, ISO/IEC 14496-12 §8.2).
struct MovieReader {
    var tracks: [MP4Track] = []
    var tags = AudioTags()
    var systems: [ProtectionSystemHeader] = []
    var neroChapters: [AudioTags.Chapter] = []

    private var window: FileWindow
    private var timescale = 0
    private var defaults: [UInt32: FragmentDefaults] = [:]
    private var gapless: GaplessInfo?

    /// Bytes of boxes that were read whole.
    private var loaded = 0

    /// Maximum total size of boxes read completely: their decoded form takes up to four times as much memory.
    private static let loadLimit = 4 << 20
    /// No file has more tracks than this: a walk through the samples of each takes 100 KiB.
    private static let trackLimit = 200

    init(_ window: FileWindow) {
        self.window = window
    }

    mutating func read(_ movie: Range<Int64>) throws {
        try boxes(in: movie) { reader, box in
            switch box.type {
            case "mvhd": try reader.readHeader(box)
            case "trak": try reader.readTrack(box)
            case "mvex": try reader.readExtends(box)
            case "udta", "meta":
                // damaged tags are no reason to refuse the audio
                do { try box.type == "udta" ? reader.readUserData(box) : reader.readMetadata(box) } catch is Malformed {}
            case "pssh", "uuid":
                guard reader.systems.count < Self.trackLimit, box.content.count <= 1 << 20 else { return }
                let content = try reader.load(box, limit: 1 << 20)
                if let system = ProtectionSystemHeader(box.type, content.rawSpan) { reader.systems.append(system) }
            case "cmov": throw Malformed("index is compressed", at: Int(box.start))
            default: break
            }
        }
        for i in tracks.indices {
            tracks[i].movieTimescale = timescale
            tracks[i].fragmentDefaults = defaults[tracks[i].id] ?? FragmentDefaults()
            if tracks[i].kind == "soun" { tracks[i].gapless = gapless }
        }
    }

    /// Calls `visit` with each box of `range` while this value is mutable.
    private mutating func boxes(
        in range: Range<Int64>,
        _ visit: (inout MovieReader, MP4Box) throws -> Void
    ) throws {
        var headers = window
        try MP4Box.forEach(in: range, &headers) { box, _ in try visit(&self, box) }
    }

    /// The content of a box.
    private mutating func load(_ box: MP4Box, limit: Int) throws -> [UInt8] {
        loaded += min(box.content.count, limit)
        guard loaded <= Self.loadLimit else { throw Malformed("index has too many long boxes", at: Int(box.start)) }
        return try box.load(window.reader, limit: limit)
    }

    private mutating func readHeader(_ box: MP4Box) throws {
        let at = box.content.lowerBound
        let long = try window.u8(at: at, "movie header") == 1
        timescale = Int(try window.u32(at: at + (long ? 20 : 12), "movie header"))
    }

    private mutating func readExtends(_ parent: MP4Box) throws {
        try boxes(in: parent.content) { reader, box in
            guard box.type == "trex", box.content.count >= 20, reader.defaults.count < Self.trackLimit else { return }
            let at = box.content.lowerBound
            let id = try reader.window.u32(at: at + 4, "track extends")
            reader.defaults[id] = FragmentDefaults(
                duration: Int64(try reader.window.u32(at: at + 12, "track extends")),
                size: Int(try reader.window.u32(at: at + 16, "track extends")),
                flags: box.content.count >= 24 ? try reader.window.u32(at: at + 20, "track extends") : 0,
                entry: max(0, Int(try reader.window.u32(at: at + 8, "track extends")) - 1)
            )
        }
    }

    private mutating func readUserData(_ parent: MP4Box) throws {
        var plain = AudioTags()
        try boxes(in: parent.content) { reader, box in
            switch box.type {
            case "meta": try reader.readMetadata(box)
            case "chpl": reader.neroChapters = NeroChapters.read(try reader.load(box, limit: 1 << 20))
            default: try ItemList.readPlain(box, &reader.window, into: &plain)
            }
        }
        tags = tags.filled(from: plain)
    }

    private mutating func readMetadata(_ box: MP4Box) throws {
        var content = box.content
        // a full box, except in QuickTime files
        if content.count >= 8, FourCC(try window.u32(at: content.lowerBound + 4, "metadata")) != "hdlr" {
            content = content.lowerBound + 4..<content.upperBound
        }
        try boxes(in: content) { reader, box in
            guard box.type == "ilst" else { return }
            var list = ItemList()
            try list.read(box.content, &reader.window)
            reader.tags = reader.tags.filled(from: list.tags)
            reader.gapless = reader.gapless ?? list.gapless
        }
    }

    // MARK: - Tracks

    private mutating func readTrack(_ parent: MP4Box) throws {
        guard tracks.count < Self.trackLimit else { throw Malformed("too many tracks", at: Int(parent.start)) }
        var track = MP4Track()
        try boxes(in: parent.content) { reader, box in
            switch box.type {
            case "tkhd":
                let at = box.content.lowerBound
                let word = try reader.window.u32(at: at, "track header")
                track.isEnabled = word & 1 != 0
                let isLong = word >> 24 == 1
                track.id = try reader.window.u32(at: at + (isLong ? 20 : 12), "track header")
                let length: Int64 = isLong ? 96 : 84
                // early files have headers that end sooner
                guard box.content.count >= length, box.content.count <= 1024 else { return }
                let header = try reader.load(box, limit: 1024)
                track.display = try TrackDisplay(header.rawSpan.extracting(Int(length) - 44..<Int(length)))
            case "edts":
                try reader.boxes(in: box.content) { reader, box in
                    guard box.type == "elst" else { return }
                    let content = try reader.load(box, limit: 1 << 20)
                    track.editList = try EditList(content.rawSpan)
                }
            case "tref":
                try reader.boxes(in: box.content) { reader, box in
                    guard box.type == "chap" else { return }
                    let content = try reader.load(box, limit: 4096)
                    for i in 0..<content.count / 4 { track.chapterTrackIDs.append(content.rawSpan.u32(at: i * 4)) }
                }
            case "mdia": try reader.readMedia(box, into: &track)
            case "senc", "uuid": try track.auxiliary.read(box, base: 0, &reader.window)
            default: break
            }
        }
        track.auxiliary.groups.movie = track.sampleGroups
        tracks.append(track)
    }

    private mutating func readMedia(_ parent: MP4Box, into track: inout MP4Track) throws {
        try boxes(in: parent.content) { reader, box in
            let at = box.content.lowerBound
            switch box.type {
            case "mdhd": try reader.readMediaHeader(at, into: &track)
            case "hdlr": track.kind = FourCC(try reader.window.u32(at: at + 8, "handler")).description
            case "minf":
                try reader.boxes(in: box.content) { reader, box in
                    guard box.type == "stbl" else { return }
                    try reader.boxes(in: box.content) { reader, box in
                        switch box.type {
                        case "stsd": try reader.readDescription(box, into: &track)
                        case "sgpd":
                            let content = try reader.load(box, limit: 1 << 22)
                            guard let groups = try SampleGroups.entries(content.rawSpan) else { return }
                            track.sampleGroups = groups.entries
                            track.auxiliary.groups.defaultIndex = groups.defaultIndex
                        case "senc", "uuid", "saiz", "saio", "sbgp": try track.auxiliary.read(box, base: 0, &reader.window)
                        default: try track.tables.read(box, &reader.window)
                        }
                    }
                }
            default: break
            }
        }
    }

    private mutating func readMediaHeader(_ at: Int64, into track: inout MP4Track) throws {
        let long = try window.u8(at: at, "media header") == 1
        track.timescale = Int(try window.u32(at: at + (long ? 20 : 12), "media header"))
        let duration = long ? try window.u64(at: at + 24, "media header") : UInt64(try window.u32(at: at + 16, "media header"))
        let unknown = long ? UInt64.max : UInt64(UInt32.max)
        track.declaredDuration = duration == unknown ? 0 : Int64(clamping: duration)
        let code = try window.u16(at: at + (long ? 32 : 20), "media header")
        var letters = ""
        for shift: UInt16 in [10, 5, 0] {
            let letter = UInt8(code >> shift & 31)
            guard (1...26).contains(letter) else { return }
            letters.unicodeScalars.append(Unicode.Scalar(letter + 0x60))
        }
        track.language = letters == "und" ? nil : letters
    }

    private mutating func readDescription(_ box: MP4Box, into track: inout MP4Track) throws {
        let content = try load(box, limit: 1 << 20)
        track.entries = try SampleEntry.read(content.rawSpan, handler: track.kind)
        guard let entry = track.entries.first else { return }
        track.protection = entry.protection
        guard track.kind == "soun" || track.kind.isEmpty else { return }
        track.codec = entry.codec
        track.entrySampleRate = entry.sampleRate
        track.entryChannels = entry.channels
    }
}
