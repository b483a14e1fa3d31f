// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes

/// Reads one MP3 file: its frames and its tags.
struct MP3Part {
    let file: SourceFile
    let summary: MP3Summary
    let tags: AudioTags

    /// The format of the first frame, or nil if the file is not MP3.
    static func sniff(_ file: SourceFile) throws -> AudioFormat? {
        var scanner = MP3Scanner(searchLimit: 1 << 20)
        var format: AudioFormat?
        var at: Int64 = 0
        while format == nil, at < file.size, !scanner.isDone {
            let bytes = try file.bytes(at..<min(at + 65_536, file.size))
            at += Int64(bytes.count)
            // A tag with a picture is passed over unread.
            if bytes.isEmpty { break }
            scanner.feed(bytes.rawSpan) { frames, _ in
                if format == nil { format = MP3FrameHeader.parse(frames.u32(at: 0))?.format }
            }
        }
        if format == nil {
            scanner.end { frames, _ in
                if format == nil { format = MP3FrameHeader.parse(frames.u32(at: 0))?.format }
            }
        }
        return format
    }

    /// Reads the whole file; `frames` gets whole frames and how many.
    init(
        _ file: SourceFile,
        progress: (Int) throws -> Void,
        frames: (RawSpan, Int) throws -> Void
    ) throws {
        self.file = file
        var scanner = MP3Scanner()
        try file.forEachWindow { window in
            try scanner.feed(window, frames)
            try progress(window.byteCount)
        }
        try scanner.end(frames)
        do {
            summary = try scanner.summary()
        } catch {
            throw IngestError(.notAudio, file.name, "\(error)")
        }
        tags = try Self.tags(of: file, summary.tags)
    }

    /// The maximum size of a tag to read: a picture and some text.
    private static let tagLimit: Int64 = 20 << 20

    private static func tags(of file: SourceFile, _ mp3Tags: [MP3Tag]) throws -> AudioTags {
        var tags = AudioTags()
        for tag in mp3Tags where tag.range.upperBound - tag.range.lowerBound <= tagLimit {
            let bytes = try file.bytes(tag.range)
            switch tag.kind {
            case .id3v2: if let fileTags = try? ID3.parse(bytes.rawSpan) { tags = tags.filled(from: fileTags) }
            case .id3v1: if let fileTags = try? ID3.parseV1(bytes.rawSpan) { tags = tags.filled(from: fileTags) }
            case .ape: if let fileTags = try? APETag.parse(bytes.rawSpan) { tags = tags.filled(from: fileTags) }
            default: continue
            }
        }
        return tags
    }

    /// Refuses a truncated file, or adds a warning if truncation is allowed.
    func checkWhole(allowTruncated: Bool, warnings: inout [String]) throws(IngestError) {
        if summary.junk.byteCount > 0, let at = summary.junk.firstOffset {
            warnings.append(
                "\(file.name): \(summary.junk.byteCount) bytes between frames are not sound (the first at byte \(at)); left out"
            )
        }
        let missing = summary.missingFrames
        guard summary.isCutOff else { return }
        let usable = Double(summary.sampleCount) / Double(summary.format.sampleRate)
        let fault =
            summary.truncatedAt.map { "cut off at byte \($0)" }
            ?? "\(missing) of \(summary.declaredFrames ?? 0) frames are missing"
        guard allowTruncated else {
            throw IngestError(
                .truncated,
                file.name,
                "\(fault); \(Self.time(usable)) are usable",
                hint: "--allow-truncated takes what is usable"
            )
        }
        warnings.append("\(file.name): \(fault); took the usable \(Self.time(usable))")
    }

    /// `h:mm:ss`.
    static func time(_ seconds: Double) -> String {
        let whole = Int(seconds)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(whole / 3600):\(two(whole / 60 % 60)):\(two(whole % 60))"
    }
}
