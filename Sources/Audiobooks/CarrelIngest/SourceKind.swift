// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes

/// The reader of a part.
enum SourceKind {
    /// MP3 frames, kept unchanged.
    case mp3(AudioFormat)
    /// AAC in MP4, whose access units become ADTS frames.
    case mp4(MP4Part)
    /// Anything else: ffmpeg reads it, and it becomes AAC.
    case foreign(TranscodedPart)

    /// The format of a part changes within it.
    struct FormatChange: Error {}

    /// The format of the elementary stream that the part provides without transcoding; nil if it has to be transcoded.
    var format: AudioFormat? {
        switch self {
        case .mp3(let format): format
        case .mp4(let part): part.format
        case .foreign: nil
        }
    }

    /// The properties of the source's audio, for choosing what to transcode to; 0 if that is unknown.
    var source: (sampleRate: Int, channels: Int) {
        switch self {
        case .mp3(let format): (format.sampleRate, format.channels)
        case .mp4(let part): part.source
        case .foreign(let part): part.source
        }
    }

    /// Looks at the first bytes.
    static func of(_ file: SourceFile) throws -> SourceKind {
        guard file.size > 0 else { throw IngestError(.empty, file.name, "is empty") }
        let head = try file.bytes(0..<min(file.size, 16))
        if head.rawSpan.matches("ftyp", at: 4) { return .mp4(try MP4Part(file)) }
        let foreign: [(StaticString, Int)] = [("fLaC", 0), ("OggS", 0), ("FORM", 0), ("caff", 0), ("\u{1A}E", 0)]
        if foreign.contains(where: { head.rawSpan.matches($0.0, at: $0.1) }) { return .foreign(try TranscodedPart(file)) }
        if let format = try MP3Part.sniff(file) { return .mp3(format) }
        return .foreign(try TranscodedPart(file))
    }

    /// Puts the part's frames into the stream.
    func read(
        _ file: SourceFile,
        into stream: ElementaryStream,
        allowTruncated: Bool,
        warnings: inout [String],
        progress: (Int) throws -> Void
    ) throws -> RecordedPart {
        let start = stream.sampleCount
        switch self {
        case .mp3:
            let part = try MP3Part(file, progress: progress) { try stream.append($0, count: $1) }
            if part.summary.inconsistency != nil { throw FormatChange() }
            try part.checkWhole(allowTruncated: allowTruncated, warnings: &warnings)
            return RecordedPart(
                name: file.name,
                tags: part.tags,
                startSample: start,
                delay: part.summary.leadingSamples,
                padding: part.summary.trailingSamples
            )
        case .mp4(let part):
            try part.read(into: stream, allowTruncated: allowTruncated, warnings: &warnings, progress: progress)
            return RecordedPart(
                name: file.name,
                tags: try part.tags(),
                startSample: start,
                delay: part.delay,
                padding: part.padding
            )
        case .foreign(let part):
            return try part.read(into: stream, allowTruncated: allowTruncated, warnings: &warnings, progress: progress)
        }
    }
}
