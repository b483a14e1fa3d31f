// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelTranscoding

/// ffmpeg as a child process: it reads what Carrel does not, isolated, so that a broken decoder never takes the server down.
///
/// `ConfinedProgram` says what the child may do. Formats and protocols are on fixed lists too, so that a playlist dressed as a
/// sound opens nothing.
struct Transcoder {
    /// Longer audio gets no more time than this.
    private static let longestSeconds = 24.0 * 3600
    /// Bytes of a second of audio, if only the size of a file bounds its duration.
    private static let usualBytes = 16_000.0

    let source: SourceFile
    /// The program, as the child's PATH finds it.
    var programs = (transcoder: "ffmpeg", prober: "ffprobe")
    /// The time by the clock that every run has.
    var patience = Duration.seconds(600)

    init(source: SourceFile) {
        self.source = source
    }

    private var inputOptions: [String] {
        [
            "-nostdin", "-hide_banner", "-loglevel", "error", "-protocol_whitelist", "file,pipe", "-format_whitelist",
            AcceptedAudioFormat.whitelist, "-i", "file:\(source.absolutePath)",
        ]
    }

    /// The output of ffprobe for the file, as JSON.
    ///
    /// - Returns: at most 16 MiB.
    /// - Throws: ``IngestError`` `notAudio` if it is in none of the formats of ``AcceptedAudioFormat``.
    func probe() throws -> [UInt8] {
        var out: [UInt8] = []
        try run(
            [
                programs.prober, "-hide_banner", "-loglevel", "error", "-protocol_whitelist", "file,pipe",
                "-format_whitelist", AcceptedAudioFormat.whitelist, "-show_format", "-show_streams", "-show_chapters", "-of",
                "json",
                "-i", "file:\(source.absolutePath)",
            ],
            refusal: "is damaged, or not in one of the formats that can be ingested (\(AcceptedAudioFormat.names))"
        ) { span in
            guard out.count + span.byteCount <= 16 << 20 else {
                throw IngestError(.malformed, source.name, "describes itself in more than 16 MiB")
            }
            out.append(copying: span)
        }
        return out
    }

    /// The first picture in the file, unchanged; nil if there is none.
    func picture() -> [UInt8]? {
        var out: [UInt8] = []
        try? run(
            [programs.transcoder] + inputOptions + [
                "-map", "0:v:0", "-c", "copy", "-frames:v", "1", "-f", "image2pipe", "pipe:1",
            ]
        ) {
            guard out.count + $0.byteCount <= AudioTags.Cover.limit else { throw IngestError(.malformed, source.name, "large") }
            out.append(copying: $0)
        }
        return out.isEmpty ? nil : out
    }

    /// Transcodes the audio to AAC-LC in ADTS frames.
    ///
    /// - Parameters:
    ///   - sampleRate: the result's sample rate.
    ///   - channels: 1 or 2.
    ///   - seconds: the declared duration; nil if unknown.
    ///   - body: receives the bytes as they arrive.
    /// - Throws: ``IngestError``, or errors of `body`; the child is ended then.
    func aac(sampleRate: Int, channels: Int, seconds: Double? = nil, _ body: (RawSpan) throws -> Void) throws {
        let declared = seconds.flatMap { $0.isFinite ? $0 : nil } ?? 0
        let longest = min(max(declared, Double(source.size) / Self.usualBytes), Self.longestSeconds)
        try run(
            [programs.transcoder] + inputOptions + [
                "-map", "0:a:0", "-vn", "-map_metadata", "-1", "-ac", "\(channels)", "-ar", "\(sampleRate)", "-c:a", "aac",
                "-b:a", "\(channels * 64)k", "-f", "adts", "pipe:1",
            ],
            within: patience + .seconds(longest),
            body
        )
    }

    /// A stretch of an ADTS file as an MP3 file.
    func mp3(bitrate: Int, _ body: (RawSpan) throws -> Void) throws {
        try run(
            [programs.transcoder] + inputOptions + [
                "-map", "0:a:0", "-map_metadata", "-1", "-c:a", "libmp3lame", "-b:a", "\(bitrate)k", "-f", "mp3", "pipe:1",
            ],
            body
        )
    }

    /// Runs a program and passes its output on. If it refuses the file, `refusal` is thrown with its last message.
    private func run(
        _ arguments: [String],
        refusal: String = "is not sound that can be read",
        within limit: Duration? = nil,
        _ body: (RawSpan) throws -> Void
    ) throws {
        let descriptor = try source.openDescriptor()
        let limit = limit ?? patience
        let program = ConfinedProgram(arguments.first ?? "")
        do {
            try program.run(Array(arguments.dropFirst()), reading: descriptor, within: limit, body)
        } catch let error as TranscodingError {
            throw ingestError(error, refusal, limit)
        }
    }

    private func ingestError(_ error: TranscodingError, _ refusal: String, _ limit: Duration) -> IngestError {
        switch error.code {
        case .notConfined:
            return IngestError(
                .transcoder,
                source.name,
                "needs ffmpeg to be read, which runs only where it can be confined",
                hint: "use a kernel that has Landlock (Linux 5.13 or later, not switched off) and seccomp"
            )
        case .notInstalled:
            return IngestError(
                .transcoder,
                source.name,
                "needs ffmpeg to be read, which is not installed",
                hint: "install the package ffmpeg"
            )
        case .timeout:
            return IngestError(
                .transcoder,
                source.name,
                "was not read by ffmpeg within \(limit.components.seconds) seconds",
                hint: "the file may be damaged; it gets ten minutes and the time that it plays"
            )
        case .refused:
            // without the path that the operator knows already
            let last = error.message.replacing("file:\(source.absolutePath): ", with: "")
            // This is the only message about a format that is not on the list, and it explains nothing.
            let reason = last == "Invalid argument" ? "" : ": \(last.lowercased())"
            return IngestError(.notAudio, source.name, refusal + reason)
        default: return IngestError(.transcoder, source.name, error.message)
        }
    }
}
