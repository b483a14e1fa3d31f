@testable import CarrelIngest
import CarrelTesting
import Glibc
import Testing

/// ffmpeg as a child: what it has of us, and what it may use.
struct `The transcoder's child` {
    /// Puts a script in ffprobe's place and gives what it prints.
    private func run(_ lines: String) throws -> String {
        let directory = TemporaryDirectory()
        let script = directory.write("ffprobe", "#!/bin/sh\n\(lines)\n")
        unsafe chmod(script, 0o700)
        let source = try SourceFile(path: directory.write("a.flac", "x"), name: "a.flac")
        var transcoder = Transcoder(source: source)
        transcoder.programs.prober = script
        return String(decoding: try transcoder.probe(), as: UTF8.self)
    }

    @Test func `has its three standard descriptors and no other`() throws {
        let directory = TemporaryDirectory()
        // Not closed by itself when a program is run: what a library that knows no better would leave open.
        let secret = unsafe open(directory.write("secret", "x"), O_RDONLY)
        defer { close(secret) }
        #expect(fcntl(secret, F_GETFD) == 0)
        let inherited = try run("ls -l /proc/$$/fd")
        // The shell reads its script from another one.
        let lines = inherited.split(separator: "\n").filter { $0.contains(" -> ") && !$0.hasSuffix("/ffprobe") }
        let numbers = lines.compactMap { line in line.firstRange(of: " -> ").map { line[..<$0.lowerBound].suffix(2) } }
        #expect(numbers == [" 0", " 1", " 2"], "\(inherited)")
        #expect(lines.first?.hasSuffix("0 -> /dev/null") == true)
        #expect(!inherited.contains(directory.path))
    }

    @Test func `is held to limits of time, memory, files and dumps`() throws {
        let limits = try run("cat /proc/self/limits").split(separator: "\n").map { $0.split { $0 == " " }.map(String.init) }
        func limit(_ name: String) -> [String] {
            let words = name.split(separator: " ").map(String.init)
            return limits.first { $0.starts(with: words) }.map { Array($0.dropFirst(words.count).prefix(2)) } ?? []
        }
        #expect(limit("Max cpu time") == ["14400", "14400"])
        #expect(limit("Max address space") == ["2147483648", "2147483648"])
        #expect(limit("Max file size") == ["16777216", "16777216"])
        #expect(limit("Max open files") == ["64", "64"])
        #expect(limit("Max core file size") == ["0", "0"])
    }

    @Test func `has nothing of our environment, and starts in no folder of ours`() throws {
        unsafe setenv("CARREL_SECRET_OF_THE_TEST", "x", 1)
        defer { unsafe unsetenv("CARREL_SECRET_OF_THE_TEST") }
        let told = try run("env; pwd")
        #expect(!told.contains("CARREL_"))
        #expect(told.contains("LC_ALL=C"))
        #expect(told.hasSuffix("/\n"))
    }

    @Test func `that fails is quoted, and that says too much is ended`() throws {
        let failed = #expect(throws: IngestError.self) { try run("echo 'no: SUCH sound' >&2; exit 1") }
        #expect(failed?.code == .notAudio)
        #expect(failed?.description == "a.flac: is not sound that can be read: no: such sound")
        let endless = #expect(throws: IngestError.self) { try run("yes") }
        #expect(endless?.description == "a.flac: describes itself in more than 16 MiB")
    }

    @Test func `that is not installed is named`() throws {
        let directory = TemporaryDirectory()
        var transcoder = Transcoder(source: try SourceFile(path: directory.write("a.flac", "x"), name: "a.flac"))
        transcoder.programs.prober = directory.file("none")
        let error = #expect(throws: IngestError.self) { try transcoder.probe() }
        #expect(error?.code == .transcoder)
        #expect(error?.hint == "install the package ffmpeg")
    }
}
