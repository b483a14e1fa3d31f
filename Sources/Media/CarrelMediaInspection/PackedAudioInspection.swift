// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelAudio
import CarrelBytes
import CarrelHLS
import CarrelJSON
import CarrelMP4

/// The contents of packed audio as JSON: frames of AAC, MP3, AC-3 or E-AC-3, optionally after ID3 tags (RFC 8216 §3.4).
struct PackedAudioInspection {
    /// Bytes that are looked at for frames.
    private static let headLength: Int64 = 64 << 10
    /// Bytes of a tag that is read, and tags in front of the frames, at most.
    private static let (tagLimit, tagCount) = (1 << 20, 16)
    /// Limits for bytes skipped before the first frame, with and without a tag.
    private static let (junkBehindTag, junk) = (32 << 10, 1 << 10)
    private static let walkPiece: Int64 = 1 << 20

    /// One frame.
    private struct Frame: Equatable {
        var format: String
        var codecs: String
        var sampleRate: Int
        var channels: Int
        var samples: Int
        var length: Int

        /// Whether another frame may follow this one: lengths differ.
        func isLike(_ other: Frame) -> Bool { format == other.format && sampleRate == other.sampleRate }
    }

    /// Looks into a file; nil when it is not packed audio.
    static func describe(_ reader: any ByteReader, _ extent: InspectionExtent) throws -> JSON? {
        var at: Int64 = 0
        var tags: AudioTags?
        var timestamp: UInt64?
        for _ in 0..<tagCount {
            let header = try reader.readAll(at..<min(reader.length, at + 10))
            guard let length = ID3.headerLength(header.rawSpan) else { break }
            let end = at + Int64(length)
            guard end <= reader.length else { throw Malformed("ID3 tag reaches past the end of the file", at: Int(clamping: at)) }
            if length <= tagLimit {
                let bytes = try reader.readAll(at..<end)
                timestamp = timestamp ?? PackedAudio.timestamp(bytes.rawSpan)
                let read = try? ID3.parse(bytes.rawSpan)
                tags = tags ?? read
            }
            at = end
        }
        let hasTag = at > 0
        let head = try reader.readAll(at..<min(reader.length, at + headLength))
        let isAll = at + Int64(head.count) == reader.length
        guard let (start, frame) = firstFrame(head.rawSpan, within: hasTag ? junkBehindTag : junk, isAll: isAll) else {
            return nil
        }
        var facts: JSONObject = [
            "kind": "audio", "size": .integer(reader.length), "format": .string(frame.format), "codecs": .string(frame.codecs),
            "sampleRate": .integer(frame.sampleRate), "channels": .integer(frame.channels),
        ]
        if let duration = try duration(reader, from: at + Int64(start), frame, head, extent) {
            facts["duration"] = .real(duration)
        }
        facts["id3"] = .bool(hasTag)
        if let timestamp { facts["timestamp"] = .seconds(Int64(clamping: timestamp), of: 90_000) }
        if let title = tags?.title { facts["title"] = .string(title) }
        if let artists = tags?.artists, !artists.isEmpty { facts["artists"] = .texts(artists) }
        if let album = tags?.album { facts["album"] = .string(album) }
        var protection = ProtectionFacts()
        protection.isClear = true
        facts["protection"] = protection.json
        return .object(facts)
    }

    /// The first of three consecutive frames, or of the frames that fill the file.
    private static func firstFrame(_ bytes: RawSpan, within limit: Int, isAll: Bool) -> (start: Int, frame: Frame)? {
        for start in 0..<min(limit, bytes.byteCount) {
            guard let first = frame(bytes, at: start) else { continue }
            var next = start + first.length
            var count = 1
            while count < 3, let frame = frame(bytes, at: next), frame.isLike(first) {
                next += frame.length
                count += 1
            }
            if count == 3 || isAll && start == 0 && next == bytes.byteCount { return (start, first) }
        }
        return nil
    }

    private static func frame(_ bytes: RawSpan, at offset: Int) -> Frame? {
        if let header = ADTSHeader.parse(bytes, at: offset) {
            return Frame(
                format: "AAC (ADTS)",
                codecs: header.format?.codecString ?? "mp4a.40.\(header.profile.objectType)",
                sampleRate: header.sampleRate,
                channels: header.channels,
                samples: ADTSHeader.samplesPerBlock * header.blocks,
                length: header.frameLength
            )
        }
        if let frame = AC3SyncFrame.parse(bytes, at: offset) {
            return Frame(
                format: frame.isEnhanced ? "E-AC-3" : "AC-3",
                codecs: frame.isEnhanced ? "ec-3" : "ac-3",
                sampleRate: frame.sampleRate,
                channels: frame.channels,
                // a dependent substream adds channels to the frame before it
                samples: frame.substream == .dependent || frame.substreamNumber > 0 ? 0 : frame.samplesPerFrame,
                length: frame.frameLength
            )
        }
        guard let frame = MPEGAudioFrame.parse(bytes, at: offset), frame.frameLength > 4 else { return nil }
        return Frame(
            format: frame.layer == 3 ? "MP3" : "MPEG audio Layer II",
            codecs: frame.layer == 3 ? "mp4a.40.34" : "mp4a.40.33",
            sampleRate: frame.sampleRate,
            channels: frame.channels,
            samples: frame.samplesPerFrame,
            length: frame.frameLength
        )
    }

    /// The duration in seconds: for MP3 from its first frames, for others from a walk over all frames; nil without that walk.
    private static func duration(
        _ reader: any ByteReader,
        from start: Int64,
        _ first: Frame,
        _ head: [UInt8],
        _ extent: InspectionExtent
    ) throws -> Double? {
        if first.format == "MP3", let duration = MP3Length.duration(head.rawSpan, byteCount: reader.length - start) {
            return duration
        }
        guard extent == .whole || reader.length - start <= headLength else { return nil }
        var at = start
        var samples: Int64 = 0
        while at < reader.length {
            let bytes = try reader.readAll(at..<min(reader.length, at + walkPiece))
            var place = 0
            while let frame = frame(bytes.rawSpan, at: place), frame.isLike(first), bytes.count - place >= frame.length {
                samples += Int64(frame.samples)
                place += frame.length
            }
            // a tag or a cut-off frame ends the walk
            guard place > 0 else { break }
            at += Int64(place)
        }
        return Double(samples) / Double(first.sampleRate)
    }
}
