import CLinux
import CarrelAudio
import CarrelBytes
import CarrelFiles
import Glibc

/// ffmpeg as a child process: it reads what Carrel does not, isolated, so that a broken decoder never takes the server down.
///
/// The kernel holds the child to what it is for, whatever its decoders are made to do: it may open the one file and what programs
/// and libraries are made of, write nowhere, and reach neither the network nor another process (`clinux_spawn_confined`). It
/// inherits no descriptor; its processor time, memory and open files are limited, and the time it takes by the clock. Formats and
/// protocols are on fixed lists too, so that a playlist dressed as a sound opens nothing.
struct Transcoder {
    /// Seconds of processor time: a day of audio takes minutes.
    private static let cpuSeconds = 4 * 3600
    private static let memoryBytes = 2 << 30
    /// Bytes of complaints, the only file it writes.
    private static let complaintBytes = 16 << 20
    private static let limits = clinux_limits(
        seconds: UInt64(cpuSeconds),
        memory: UInt64(memoryBytes),
        written: UInt64(complaintBytes),
        files: 64
    )
    /// A sound that plays for a longer time gets no more time than this one.
    private static let longestSeconds = 24.0 * 3600
    /// Bytes of a second of audio, where only the size of a file bounds its duration.
    private static let usualBytes = 16_000.0
    private static let path = "/usr/local/bin:/usr/bin:/bin"
    /// The paths that may be read and run besides the file and the program.
    private static let system = [
        "/bin", "/lib", "/lib64", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/local/bin", "/usr/local/lib", "/etc/ld.so.cache",
        "/dev/null", "/dev/urandom", "/dev/zero",
    ]

    let source: SourceFile
    /// The program, as the child's PATH finds it.
    var programs = (transcoder: "ffmpeg", prober: "ffprobe")
    /// The time by the clock that every run has.
    var patience = Duration.seconds(600)

    init(source: SourceFile) {
        self.source = source
    }

    /// The path of the program, links followed.
    private static func places(of program: String) -> [String] {
        program.contains("/") ? [program] : path.split(separator: ":").map { "\($0)/\(program)" }
    }

    /// The program as it is run; nil when it is not installed.
    private static func place(of program: String) -> String? {
        places(of: program).first { unsafe access($0, X_OK) == 0 }
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
    /// - Throws: ``IngestError`` `notAudio` where it is in none of the formats of ``AcceptedAudioFormat``.
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

    /// The first picture in the file, as it is; nil when there is none.
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

    /// The sound as AAC-LC in ADTS frames.
    ///
    /// - Parameters:
    ///   - sampleRate: of the result.
    ///   - channels: 1 or 2.
    ///   - seconds: how long the source says it plays; nil when it does not.
    ///   - body: gets the bytes as they come.
    /// - Throws: ``IngestError``, or what `body` throws; the child is ended then.
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

    /// Runs a program and passes on what it prints. Where it refuses the file, `refusal` says so and its last complaint why.
    private func run(
        _ arguments: [String],
        refusal: String = "is not sound that can be read",
        within limit: Duration? = nil,
        _ body: (RawSpan) throws -> Void
    ) throws {
        let descriptor = try source.opened()
        var ends: [Int32] = [-1, -1]
        guard unsafe clinux_pipe(&ends) == 0 else { throw failed(errno) }
        let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        let complaints = clinux_memory_file()
        defer {
            close(null)
            close(complaints)
            close(ends[0])
        }
        var pid: Int32 = 0
        let status = spawn(&pid, arguments, [null, ends[1], complaints], reading: descriptor)
        close(ends[1])
        guard status == 0 else { throw failed(status) }
        let limit = limit ?? patience
        do {
            let deadline = ContinuousClock.now + limit
            guard try drain(ends[0], until: deadline, body), clinux_ends_within(pid, Self.milliseconds(until: deadline)) == 1
            else {
                throw IngestError(
                    .transcoder,
                    source.name,
                    "was not read by ffmpeg within \(limit.components.seconds) seconds",
                    hint: "the file may be damaged; it gets ten minutes and the time that it plays"
                )
            }
        } catch {
            kill(-pid, SIGKILL)
            _ = clinux_reap(pid)
            throw error
        }
        let exit = clinux_reap(pid)
        guard exit == 0 else { throw failure(exit, refusal, complaints) }
    }

    private func spawn(_ pid: inout Int32, _ arguments: [String], _ standard: [Int32], reading descriptor: Int32) -> Int32 {
        guard let program = arguments.first.flatMap(Self.place) else { return ENOENT }
        let words = unsafe Self.list([program] + arguments.dropFirst())
        let environment = unsafe Self.list(["PATH=\(Self.path)", "LC_ALL=C"])
        let readable = unsafe Self.list(Self.system + arguments.prefix(1).flatMap(Self.places))
        defer { unsafe (words + environment + readable).forEach { unsafe free($0) } }
        return unsafe clinux_spawn_confined(&pid, words, environment, standard, readable, descriptor, Self.limits)
    }

    /// Texts as C wants them, ended by nil; the caller frees them.
    private static func list(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        unsafe texts.map { unsafe strdup($0) } + [nil]
    }

    private static func milliseconds(until deadline: ContinuousClock.Instant) -> Int32 {
        Int32(max(0, min(ContinuousClock.now.duration(to: deadline) / .milliseconds(1), 1e6)))
    }

    /// Passes on all that comes; false when it takes too long.
    private func drain(
        _ descriptor: Int32,
        until deadline: ContinuousClock.Instant,
        _ body: (RawSpan) throws -> Void
    ) throws -> Bool {
        var bytes = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = unsafe poll(&waiting, 1, Self.milliseconds(until: deadline))
            if ready == 0 {
                if ContinuousClock.now >= deadline { return false }
                continue
            }
            if ready < 0 {
                if errno == EINTR { continue }
                throw failed(errno)
            }
            let got = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            if got == 0 { return true }
            guard got > 0 else {
                if errno == EINTR { continue }
                throw failed(errno)
            }
            try body(bytes.rawSpan.extracting(0..<got))
        }
    }

    private func failed(_ number: Int32) -> IngestError {
        if number == EOPNOTSUPP {
            return IngestError(
                .transcoder,
                source.name,
                "needs ffmpeg to be read, which runs only where it can be confined",
                hint: "use a kernel that has Landlock (Linux 5.13 or later, not switched off) and seccomp"
            )
        }
        if number == ENOENT {
            return IngestError(
                .transcoder,
                source.name,
                "needs ffmpeg to be read, which is not installed",
                hint: "install the package ffmpeg"
            )
        }
        return IngestError(.transcoder, source.name, "ffmpeg cannot be run: \(systemReason(number))")
    }

    /// The last line that the program complained with, without the path that the operator knows already.
    private func failure(_ exit: Int32, _ refusal: String, _ complaints: Int32) -> IngestError {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let start = max(0, lseek(complaints, 0, SEEK_END) - 4096)
        let got = unsafe bytes.withUnsafeMutableBytes { unsafe pread(complaints, $0.baseAddress, $0.count, start) }
        let lines = String(decoding: bytes.prefix(max(0, got)), as: UTF8.self).split(separator: "\n")
        let last = lines.last.map { $0.replacing("file:\(source.absolutePath): ", with: "") } ?? "it ended with \(exit)"
        // This is the only message about a format that is not on the list, and it explains nothing.
        let reason = last == "Invalid argument" ? "" : ": \(last.lowercased())"
        return IngestError(.notAudio, source.name, refusal + reason)
    }
}
