import CarrelAudio
import CarrelBytes
import CarrelJSON

/// A file that ffmpeg reads: its tags and chapters as ffprobe tells them, its sound as AAC.
struct ForeignPart {
    let file: SourceFile
    private let transcoder: Transcoder
    private let tags: AudioTags
    /// What its sound has; 0 where that is unknown.
    let source: (sampleRate: Int, channels: Int)

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
        var tags = Self.tags(description)
        if streams.contains(where: { $0["codec_type"]?.string == "video" }) {
            tags.cover = transcoder.picture().flatMap { AudioTags.Cover($0) }
        }
        self.tags = tags
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

    func read(into stream: ElementaryStream, progress: (Int) throws -> Void) throws -> Recording.Part {
        let start = stream.sampleCount
        var frames = FrameAssembly(format: stream.format)
        // The source's bytes are not seen: what is made of them, at about a quarter of their size, tells how far it is.
        try transcoder.aac(sampleRate: stream.format.sampleRate, channels: stream.format.channels) { span in
            guard try frames.feed(span, { try stream.append($0, count: $1) }) else {
                throw IngestError(.transcoder, file.name, "was transcoded to no AAC frames")
            }
            try progress(span.byteCount * 4)
        }
        guard frames.isEmpty, stream.sampleCount > start else {
            throw IngestError(.transcoder, file.name, "was not transcoded to the end")
        }
        return Recording.Part(name: file.name, tags: tags, startSample: start, delay: Self.encoderDelay, padding: 0)
    }
}
