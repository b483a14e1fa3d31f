// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelPackager
import CarrelStore
import CarrelWorks

/// The audio of a title in the store, with the metadata of its parts.
struct Recording {
    let media: BlobID
    let index: SegmentIndex
    /// The tags of each part, in playing order.
    let tags: [AudioTags]
    /// Chapters of the whole, in milliseconds from the start of the title.
    let chapters: [TitleMetadata.Chapter]
    var warnings: [String]

    /// Cleans, joins and indexes the parts. Parts of one format that Carrel reads keep it; others are transcoded to AAC.
    ///
    /// - Parameters:
    ///   - parts: the files, in playing order.
    ///   - work: receives the media blob and the progress.
    ///   - options: the duration of segments, and the treatment of truncated files.
    /// - Returns: the recording.
    /// - Throws: ``IngestError``; what `work.progress` throws.
    static func make(of parts: SourceParts, _ work: IngestWork, _ options: IngestOptions) throws -> Recording {
        var kinds: [SourceKind] = []
        for file in parts.files {
            kinds.append(try SourceKind.of(file))
            file.rest()
        }
        let formats = Set(kinds.map(\.format))
        if formats.count == 1, let format = formats.first ?? nil {
            do {
                return try record(parts, kinds, format, work, options)
            } catch is SourceKind.FormatChange {
                // A later frame has another sample rate or number of channels: only transcoding makes one stream of it.
            }
        }
        let target = try transcodedFormat(for: kinds.map(\.source), named: parts.name)
        let foreign = try parts.files.map { file in
            let part = try TranscodedPart(file)
            file.rest()
            return SourceKind.foreign(part)
        }
        return try record(parts, foreign, target, work, options)
    }

    /// AAC-LC at the highest rate and with the most channels that a source has, up to 48 kHz and stereo.
    private static func transcodedFormat(
        for sources: [(sampleRate: Int, channels: Int)],
        named name: String
    ) throws(IngestError) -> AudioFormat {
        let rate = sources.map(\.sampleRate).max() ?? 0
        let channels = min(2, max(1, sources.map(\.channels).max() ?? 2))
        for rate in [min(rate, 48_000), 44_100] {
            if let format = AudioFormat(codec: .aac(.lc), sampleRate: rate, channels: channels) { return format }
        }
        throw IngestError(.malformed, name, "cannot be transcoded to AAC")
    }

    private static func record(
        _ parts: SourceParts,
        _ kinds: [SourceKind],
        _ format: AudioFormat,
        _ work: IngestWork,
        _ options: IngestOptions
    ) throws -> Recording {
        let stream = try ElementaryStream(
            format: format,
            segmentSeconds: options.segmentSeconds,
            blobs: work.blobs
        )
        let total = parts.files.reduce(0) { $0 + $1.size }
        var finishedBytes: Int64 = 0
        var recordedParts: [RecordedPart] = []
        var hasCover = false
        var warnings: [String] = []
        for (file, kind) in zip(parts.files, kinds) {
            var inPart: Int64 = 0
            let phase: IngestProgress.Phase = if case .foreign = kind { .transcoding } else { .indexing }
            func advance(_ bytes: Int) throws {
                inPart = min(file.size, inPart + Int64(bytes))
                try work.progress(IngestProgress(phase: phase, done: finishedBytes + inPart, total: total))
            }
            var part = try kind.read(
                file,
                into: stream,
                allowTruncated: options.allowTruncated,
                warnings: &warnings,
                progress: advance
            )
            file.rest()
            // Each chapter often contains the picture: one is enough.
            if hasCover { part.tags.cover = nil }
            hasCover = hasCover || part.tags.cover != nil
            recordedParts.append(part)
            finishedBytes += file.size
        }
        guard let first = recordedParts.first, let last = recordedParts.last,
            let (media, index) = try stream.finish(encoderDelay: first.delay, padding: last.padding)
        else { throw IngestError(.notAudio, parts.name, "holds no sound") }
        let rate = Double(format.sampleRate)
        let end = Int64((index.duration * 1000).rounded())
        return Recording(
            media: media,
            index: index,
            tags: recordedParts.map(\.tags),
            chapters: Self.chapters(of: recordedParts, rate: rate, firstDelay: first.delay).filter { $0.startMS < end },
            warnings: warnings
        )
    }

    /// The chapters that the parts name themselves, or else one for each of several parts.
    private static func chapters(of parts: [RecordedPart], rate: Double, firstDelay: Int) -> [TitleMetadata.Chapter] {
        var chapters: [TitleMetadata.Chapter] = []
        for (number, part) in parts.enumerated() {
            let start = Double(part.startSample + Int64(part.delay - firstDelay)) / rate * 1000
            if part.tags.chapters.isEmpty {
                guard parts.count > 1 else { continue }
                let title = part.tags.title ?? SourceParts.stem(part.name)
                chapters.append(.init(title: title, startMS: max(0, Int64(start.rounded()))))
            } else {
                for (index, chapter) in part.tags.chapters.enumerated() {
                    let title = chapter.title.isEmpty ? "Chapter \(number + index + 1)" : chapter.title
                    chapters.append(.init(title: title, startMS: max(0, Int64(start.rounded()) + chapter.start)))
                }
            }
        }
        return chapters.sorted { $0.startMS < $1.startMS }
    }

    /// The metadata of the whole from its parts, with `name` if they have no title.
    func metadata(named name: () throws -> String) throws -> TitleMetadata {
        let first = tags.first ?? AudioTags()
        // In a set of files the album is the work and each title a chapter; in a single file the title is the work.
        let title = tags.count > 1 ? first.album : first.title ?? first.album
        var metadata = TitleMetadata(title: try title ?? name())
        metadata.subtitle = first.subtitle
        metadata.authors = first.authors
        metadata.narrators = first.narrators
        metadata.publisher = first.publisher
        metadata.language = first.language
        metadata.description = first.description ?? first.comment
        metadata.published = first.date
        metadata.isbn = tags.lazy.compactMap(\.isbn).compactMap { ISBN($0) }.first
        metadata.chapters = chapters
        return metadata
    }
}
