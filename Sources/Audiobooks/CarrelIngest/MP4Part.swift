// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelMP4

/// An MP4 file (M4A, M4B): its audio track, its tags and chapters.
final class MP4Part {
    private let file: SourceFile
    private var mp4: MP4File
    private let track: MP4Track
    /// Samples at the start and the end that are not part of the work; known once the track has been read.
    private(set) var delay = 0
    private(set) var padding = 0

    init(_ file: SourceFile) throws {
        self.file = file
        mp4 = try Self.open(file)
        guard let track = mp4.mainAudioTrack else { throw IngestError(.notAudio, file.name, "holds no audio track") }
        if let protection = track.protection {
            throw IngestError(
                .protected,
                file.name,
                "is protected by \(protection): only who made it can take that off",
                hint: "ask the publisher for the unprotected master"
            )
        }
        self.track = track
        // A set of parts is looked at before any is read, and each may have a picture.
        mp4.tags.cover = nil
    }

    private static func open(_ file: SourceFile) throws -> MP4File {
        do {
            return try MP4File(file)
        } catch let error as Malformed {
            throw IngestError(.malformed, file.name, "is not an MP4 file that can be read: \(error)")
        }
    }

    /// Its metadata, its picture included.
    func tags() throws -> AudioTags {
        var tags = try Self.open(file).tags
        if tags.language == nil { tags.language = track.language }
        return tags
    }

    /// Its elementary stream; nil if the track must be transcoded.
    var format: AudioFormat? {
        if case .adts(let format) = track.framing { format } else { nil }
    }

    var source: (sampleRate: Int, channels: Int) { (track.entrySampleRate, track.entryChannels) }

    func read(
        into stream: ElementaryStream,
        allowTruncated: Bool,
        warnings: inout [String],
        progress: (Int) throws -> Void
    ) throws {
        let summary: MP4File.StreamSummary
        do {
            summary = try mp4.stream(track, allowsTruncation: allowTruncated) { frames, count in
                try stream.append(frames, count: count)
                try progress(frames.byteCount)
            }
        } catch let error as Malformed {
            let partial: MP4File.StreamSummary?
            do {
                partial = allowTruncated ? nil : try mp4.stream(track, allowsTruncation: true) { _, _ in }
            } catch is Malformed {
                partial = nil
            }
            guard mp4.truncatedBoxAt != nil || partial?.truncatedAt != nil else {
                throw IngestError(.malformed, file.name, "is damaged: \(error)")
            }
            guard let partial else { throw IngestError(.truncated, file.name, "\(error); nothing of it is usable") }
            let usable = MP3Part.time(Double(partial.sampleCount) / Double(partial.format.sampleRate))
            throw IngestError(
                .truncated,
                file.name,
                "\(error); \(usable) are usable",
                hint: "--allow-truncated takes what is usable"
            )
        }
        delay = summary.trim.leading
        padding = summary.trim.trailing
        if let at = summary.truncatedAt {
            padding = 0
            let usable = MP3Part.time(Double(summary.sampleCount) / Double(summary.format.sampleRate))
            warnings.append("\(file.name): cut off at byte \(at); took the usable \(usable)")
        }
        if abs(summary.drift) > Int64(summary.format.samplesPerFrame) {
            let seconds = Double(summary.drift) / Double(summary.format.sampleRate)
            warnings.append("\(file.name): its timeline and its sound differ by \(seconds) s; chapters may be off by as much")
        }
    }
}

extension SourceFile: ByteReader {
    var length: Int64 { size }

    func read(_ range: Range<Int64>) throws -> [UInt8] {
        try bytes(range)
    }
}
