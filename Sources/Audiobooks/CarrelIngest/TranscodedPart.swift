// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelJSON

/// A file that ffmpeg reads: its tags and chapters from ffprobe, its audio as AAC.
struct TranscodedPart {
    let file: SourceFile
    private let transcoder: Transcoder
    private let tags: AudioTags
    private let hasPicture: Bool
    /// The properties of its audio; 0 if they are unknown.
    let source: (sampleRate: Int, channels: Int)
    /// The declared duration in seconds; nil if unknown.
    private let declared: Double?

    /// Samples that ffmpeg's own AAC encoder puts before the sound.
    private static let encoderDelay = 1024

    init(_ file: SourceFile) throws {
        self.file = file
        transcoder = Transcoder(source: file)
        let probed = try transcoder.probe()
        let description: JSON
        do throws(Malformed) {
            description = try JSON.parse(probed.rawSpan)
        } catch {
            throw IngestError(.malformed, file.name, "has a description that cannot be read: \(error)")
        }
        let streams = description["streams"]?.array ?? []
        guard let sound = streams.first(where: { $0["codec_type"]?.string == "audio" }) else {
            throw IngestError(.notAudio, file.name, "holds no sound")
        }
        source = (sound["sample_rate"]?.string.flatMap { Int($0) } ?? 0, sound["channels"]?.int ?? 0)
        declared = [description["format"], sound].compactMap { $0?["duration"]?.string.flatMap(Double.init) }.max()
        tags = Self.tags(description)
        hasPicture = streams.contains { $0["codec_type"]?.string == "video" }
    }

    private static func tags(_ description: JSON) -> AudioTags {
        var values: [String: String] = [:]
        for holder in (description["streams"]?.array ?? []) + [description["format"] ?? .null] {
            for (name, value) in holder["tags"]?.object ?? [:] { values[name.lowercased()] = value.string }
        }
        var tags = AudioTags()
        tags.title = values["title"]
        tags.subtitle = values["subtitle"]
        tags.album = values["album"]
        tags.artists = values["artist"].map { [$0] } ?? []
        tags.albumArtists = (values["album_artist"] ?? values["albumartist"]).map { [$0] } ?? []
        tags.composers = values["composer"].map { [$0] } ?? []
        tags.readers = values["narrator"].map { [$0] } ?? []
        tags.publisher = values["publisher"] ?? values["organization"]
        tags.date = values["date"] ?? values["year"]
        tags.language = values["language"].flatMap { $0 == "und" ? nil : $0 }
        tags.description = values["description"] ?? values["synopsis"]
        tags.comment = values["comment"]
        tags.isbn = values["isbn"]
        tags.chapters = (description["chapters"]?.array ?? []).compactMap { chapter in
            guard let start = chapter["start_time"]?.string.flatMap(Double.init), start >= 0, start < 1e9 else { return nil }
            return AudioTags.Chapter(start: Int64((start * 1000).rounded()), title: chapter["tags"]?["title"]?.string ?? "")
        }
        return tags
    }

    func read(
        into stream: ElementaryStream,
        allowTruncated: Bool,
        warnings: inout [String],
        progress: (Int) throws -> Void
    ) throws -> RecordedPart {
        let start = stream.sampleCount
        var frames = FrameAssembly(format: stream.format)
        // The read position in the source is unknown: the output, at about a quarter of its size, measures the progress.
        let format = stream.format
        try transcoder.aac(sampleRate: format.sampleRate, channels: format.channels, seconds: declared) { span in
            guard try frames.feed(span, { try stream.append($0, count: $1) }) else {
                throw IngestError(.transcoder, file.name, "was transcoded to no AAC frames")
            }
            try progress(span.byteCount * 4)
        }
        guard frames.isEmpty, stream.sampleCount > start else {
            throw IngestError(.transcoder, file.name, "was not transcoded to the end")
        }
        let seconds = Double(stream.sampleCount - start) / Double(stream.format.sampleRate)
        if let fault = try cutOff(after: seconds) {
            let usable = MP3Part.time(seconds)
            guard allowTruncated else {
                throw IngestError(
                    .truncated,
                    file.name,
                    "\(fault); \(usable) are usable",
                    hint: "--allow-truncated takes what is usable"
                )
            }
            warnings.append("\(file.name): \(fault); took the usable \(usable)")
        }
        var tags = tags
        if hasPicture { tags.cover = transcoder.picture().flatMap { AudioTags.Cover($0) } }
        return RecordedPart(name: file.name, tags: tags, startSample: start, delay: Self.encoderDelay, padding: 0)
    }

    /// The time at which the file ends too early; nil if it seems whole. ffmpeg takes an early end for the end.
    private func cutOff(after seconds: Double) throws -> String? {
        if let declared, declared.isFinite, seconds < declared - 0.5 {
            return "cut off after \(MP3Part.time(seconds)) of \(MP3Part.time(declared))"
        }
        let head = try file.bytes(0..<12)
        if head.rawSpan.matches("RIFF", at: 0), head.count == 12 {
            let length = (4..<8).reduce(Int64(0)) { $0 | Int64(head[$1]) << (8 * ($1 - 4)) } + 8
            // a program that wrote to a pipe could not know the length, and left 0 or all ones
            if length > file.size, length < 0xffff_ff00 { return "cut off at byte \(file.size) of \(length)" }
        }
        if head.rawSpan.matches("OggS", at: 0) {
            // The last page of a stream says so (RFC 3533 §6); a page has 65,307 bytes at most.
            let tail = try file.bytes(max(0, file.size - 65_307)..<file.size)
            let last = tail.indices.dropLast(26).last { tail.rawSpan.matches("OggS", at: $0) }
            guard let last, tail[last + 5] & 4 != 0 else { return "cut off at byte \(file.size): the last page is missing" }
        }
        return nil
    }
}
