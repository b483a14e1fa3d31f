// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFiles
import Glibc

/// An audio or video file for a confined ffmpeg: copied or transcoded into fragments of MP4, or rendered as thumbnails. Several
/// files of one folder are copied together.
///
/// Formats and protocols are on fixed lists, so that a playlist disguised as a film opens nothing.
package final class FFmpegInput {
    /// The only formats that ffmpeg may open here: all hold their media themselves.
    private static let formats = [
        "matroska", "mov", "mpegts", "mpeg", "avi", "asf", "flv", "ogg", "mp3", "flac", "wav", "aac", "ac3", "eac3", "h264",
        "hevc",
        "caf", "aiff",
    ].joined(separator: ",")
    /// The time by the clock that a copy has, and an encoding besides for every second of the file.
    private static let patience = Duration.seconds(600)
    private static let longest = Duration.seconds(4 * 3600)

    /// The files, as ffmpeg opens them.
    private let paths: [String]
    /// Ticks of 90 kHz that are added to the times of each file; empty for none.
    private let offsets: [UInt64]
    /// The file, or the folder of several.
    private let descriptor: Int32

    /// - Parameter path: a regular file.
    /// - Throws: `failed` if it cannot be read.
    package init(_ path: String) throws(TranscodingError) {
        descriptor = try Self.openInput(path)
        paths = [Self.resolved(path)]
        offsets = []
    }

    /// - Parameters:
    ///   - names: the names of files whose media share one timeline.
    ///   - offsets: ticks of 90 kHz to add to the times of each file, for files that have no times of their own.
    ///   - folder: their folder, which contains only files that ffmpeg may read.
    /// - Throws: `failed` if it cannot be read.
    package init(_ names: [String], offsets: [UInt64], in folder: String) throws(TranscodingError) {
        descriptor = try Self.openInput(folder)
        let folder = Self.resolved(folder)
        paths = names.map { "\(folder)/\($0)" }
        self.offsets = offsets
    }

    private static func openInput(_ path: String) throws(TranscodingError) -> Int32 {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw TranscodingError(.failed, "\(path) cannot be read: \(systemReason())") }
        return descriptor
    }

    private static func resolved(_ path: String) -> String {
        guard let resolved = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    deinit {
        close(descriptor)
    }

    private func run(_ output: [String], within limit: Duration, _ body: (RawSpan) throws -> Void) throws {
        let inputs = paths.enumerated().flatMap { index, path in
            let offset = index < offsets.count ? offsets[index] : 0
            return (offset > 0 ? ["-itsoffset", "\(Double(offset) / 90_000)"] : [])
                + ["-protocol_whitelist", "file,pipe", "-format_whitelist", Self.formats, "-i", "file:\(path)"]
        }
        // several files share one clock, but ffmpeg shifts each file's times to 0 by default
        let clock = paths.count > 1 ? ["-copyts"] : []
        try runConfined(
            "ffmpeg",
            ["-nostdin", "-hide_banner", "-loglevel", "error"] + clock + inputs + output,
            within: limit,
            body
        )
    }

    private func runConfined(
        _ program: String,
        _ arguments: [String],
        within limit: Duration,
        _ body: (RawSpan) throws -> Void
    ) throws {
        do {
            try ConfinedProgram(program).run(arguments, reading: descriptor, within: limit, body)
        } catch let error as TranscodingError where error.code == .refused {
            let message = paths.reduce(error.message) { $0.replacing("file:\($1): ", with: "") }
            throw TranscodingError(.refused, message)
        }
    }

    /// A stream as ffmpeg numbers it.
    package struct Stream: Sendable, Hashable {
        /// The place among all streams.
        package var index = 0
        /// `video`, `audio`, `subtitle`, `data` or `attachment`.
        package var kind = ""
        /// The name of the coding, as ffmpeg calls it.
        package var codec = ""
        /// ISO 639-2, as the file has it; nil if undetermined.
        package var language: String?
        /// Whether the setup of the decoder is there: AAC with ADTS headers has none.
        package var hasSetup = false
    }

    /// Subtitles that ffmpeg reads as text.
    package static let textCodecs: Set<String> = ["subrip", "ass", "ssa", "webvtt", "mov_text", "text"]

    /// Lists the streams; for several files, file by file, each with its index in its file.
    ///
    /// - Throws: ``TranscodingError``.
    package func streams() throws -> [Stream] { try paths.flatMap { try streams(of: $0) } }

    private func streams(of path: String) throws -> [Stream] {
        var text: [UInt8] = []
        try runConfined(
            "ffprobe",
            [
                "-hide_banner", "-loglevel", "error", "-protocol_whitelist", "file,pipe", "-format_whitelist", Self.formats,
                "-show_entries", "stream=index,codec_type,codec_name,extradata_size:stream_tags=language", "-of",
                "compact=p=0",
                "-i", "file:\(path)",
            ],
            within: Self.patience
        ) { piece in
            guard text.count < 1 << 20 else { return }
            text.append(copying: piece)
        }
        return Self.streams(String(decoding: text, as: UTF8.self))
    }

    /// Reads the list of ffprobe: a line for each stream, `name=value` between bars.
    static func streams(_ text: String) -> [Stream] {
        var streams: [Stream] = []
        for line in text.split(separator: "\n") {
            var stream = Stream()
            for field in line.split(separator: "|") {
                guard let equals = field.firstIndex(of: "=") else { continue }
                let value = String(field[field.index(after: equals)...])
                switch field[..<equals] {
                case "index": stream.index = Int(value) ?? -1
                case "codec_type": stream.kind = value
                case "codec_name": stream.codec = value
                case "extradata_size": stream.hasSetup = (Int(value) ?? 0) > 0
                case "tag:language": if value != "und" { stream.language = value }
                default: break
                }
            }
            if !stream.kind.isEmpty, stream.index >= 0 { streams.append(stream) }
        }
        // programs list their streams too, without languages, before the list of all
        return streams.reduce(into: []) { list, stream in
            if let index = list.firstIndex(where: { $0.index == stream.index }) {
                list[index] = stream
            } else {
                list.append(stream)
            }
        }.sorted { $0.index < $1.index }
    }

    /// Options that give AAC of transport streams the form of MP4: the headers of frames become the setup of the track.
    private static func filters(_ streams: [Stream]) -> [String] {
        streams.filter { $0.kind == "audio" }.enumerated().flatMap { number, stream in
            stream.codec == "aac" && !stream.hasSetup ? ["-bsf:a:\(number)", "aac_adtstoasc"] : []
        }
    }

    /// Reads a stream of subtitles as WebVTT.
    ///
    /// - Parameters:
    ///   - stream: one of ``textCodecs``.
    ///   - limit: bytes at most.
    /// - Returns: a WebVTT file.
    /// - Throws: ``TranscodingError``.
    package func text(_ stream: Stream, limit: Int) throws -> [UInt8] {
        var text: [UInt8] = []
        try run(["-map", "0:\(stream.index)", "-f", "webvtt", "pipe:1"], within: Self.patience) { piece in
            guard text.count + piece.byteCount <= limit else {
                throw TranscodingError(.refused, "subtitles have more than \(limit >> 20) MiB")
            }
            text.append(copying: piece)
        }
        return text
    }

    private static let fragments = ["-movflags", "frag_keyframe+delay_moov+default_base_moof", "-f", "mp4", "pipe:1"]

    /// Copies video and audio without transcoding.
    ///
    /// - Parameters:
    ///   - streams: the streams of the file; nil lists them first.
    ///   - isTransport: whether `body` receives a transport stream instead of a fragmented MP4 file.
    ///   - body: receives the file as it arrives.
    /// - Throws: ``TranscodingError``, or errors of `body`.
    package func copy(_ streams: [Stream]? = nil, isTransport: Bool = false, _ body: (RawSpan) throws -> Void) throws {
        let maps = paths.indices.flatMap { ["-map", "\($0):V?", "-map", "\($0):a?"] }
        let filters = isTransport ? [] : Self.filters(try streams ?? self.streams())
        let start = paths.count > 1 ? ["-avoid_negative_ts", "make_zero"] : []
        try run(
            maps + ["-c", "copy"] + filters + start + ["-strict", "experimental", "-map_chapters", "-1"]
                + (isTransport ? ["-f", "mpegts", "pipe:1"] : Self.fragments),
            within: Self.patience,
            body
        )
    }

    /// Transcodes video to H.264 with a sync sample at every multiple of a duration, and copies audio without transcoding.
    ///
    /// - Parameters:
    ///   - milliseconds: the duration between sync samples.
    ///   - body: receives a fragmented MP4 file as it arrives.
    /// - Throws: ``TranscodingError``, or what `body` throws.
    package func align(every milliseconds: Int64, _ body: (RawSpan) throws -> Void) throws {
        let filters = Self.filters(try streams())
        let fraction = String(milliseconds % 1000 + 1000).dropFirst()
        try run(
            [
                "-map", "0:V?", "-map", "0:a?", "-c:a", "copy", "-c:v", "libx264", "-preset", "fast", "-crf", "20", "-pix_fmt",
                "yuv420p", "-sc_threshold", "0", "-force_key_frames", "expr:gte(t,n_forced*\(milliseconds / 1000).\(fraction))",
                "-strict", "experimental", "-map_chapters", "-1",
            ] + filters + Self.fragments,
            within: Self.longest,
            body
        )
    }

    /// Renders thumbnails side by side, in grids.
    ///
    /// - Parameters:
    ///   - milliseconds: the interval between two thumbnails.
    ///   - width: the width of a thumbnail in pixels; its height follows from the aspect ratio.
    ///   - columns: thumbnails in a row.
    ///   - rows: rows of a grid.
    ///   - body: receives each grid as a JPEG file.
    /// - Throws: ``TranscodingError``, or what `body` throws.
    package func thumbnails(
        every milliseconds: Int64,
        width: Int,
        columns: Int,
        rows: Int,
        _ body: ([UInt8]) throws -> Void
    ) throws {
        var splitter = JPEGSplitter()
        try run(
            [
                "-map", "0:V:0", "-an", "-vf",
                "fps=1000/\(milliseconds):start_time=0:round=up,scale=\(width):-2,tile=\(columns)x\(rows)", "-c:v", "mjpeg",
                "-q:v",
                "4", "-f", "image2pipe", "pipe:1",
            ],
            within: Self.longest
        ) { span in
            for picture in try splitter.consume(span) { try body(picture) }
        }
    }
}

/// Finds JPEG files that follow each other (ITU-T T.81 annex B).
struct JPEGSplitter {
    private var buffer: [UInt8] = []
    private var position = 0

    /// Bytes of a file, at most.
    private static let limit = 64 << 20

    /// The files that are whole with these bytes.
    mutating func consume(_ bytes: RawSpan) throws(TranscodingError) -> [[UInt8]] {
        buffer.append(copying: bytes)
        var pictures: [[UInt8]] = []
        var start = 0
        // the end marker cannot be inside: coded data has a zero byte after each 0xff
        while position + 1 < buffer.count {
            if buffer[position] == 0xff, buffer[position + 1] == 0xd9 {
                pictures.append(Array(buffer[start..<position + 2]))
                start = position + 2
                position += 2
            } else {
                position += 1
            }
        }
        buffer.removeFirst(start)
        position -= start
        guard buffer.count <= Self.limit else { throw TranscodingError(.failed, "a thumbnail has more than 64 MiB") }
        return pictures
    }
}
