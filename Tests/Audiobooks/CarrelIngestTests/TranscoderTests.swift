// SPDX-License-Identifier: Apache-2.0

@testable import CarrelIngest
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

/// ffmpeg as a child: what it has of us, and what it may use.
struct `The transcoder's child` {
    /// Puts a script in ffprobe's place and gives what it prints.
    private func run(_ lines: String, patience: Duration? = nil) throws -> String {
        let directory = TemporaryDirectory()
        let script = directory.write("ffprobe", "#!/bin/sh\n\(lines)\n")
        unsafe chmod(script, 0o700)
        let source = try SourceFile(path: directory.write("a.flac", "x"), name: "a.flac")
        var transcoder = Transcoder(source: source)
        transcoder.programs.prober = script
        if let patience { transcoder.patience = patience }
        defer { withExtendedLifetime(directory) {} }
        return String(decoding: try transcoder.probe(), as: UTF8.self)
    }

    @Test func `has its three standard descriptors and no other`() throws {
        let directory = TemporaryDirectory()
        // Not closed by itself when a program is run: what a library that knows no better would leave open.
        let secret = unsafe open(directory.write("secret", "x"), O_RDONLY)
        defer { close(secret) }
        #expect(fcntl(secret, F_GETFD) == 0)
        let inherited = try run("for i in $(seq 0 999); do readlink /proc/$$/fd/$i && echo $i; done; :")
        // The shell reads its script from another one.
        let lines = inherited.split(separator: "\n").map(String.init)
        let pairs = stride(from: 0, to: lines.count - 1, by: 2).map { (lines[$0], lines[$0 + 1]) }
        let numbers = pairs.filter { !$0.0.hasSuffix("/ffprobe") }.map(\.1)
        #expect(numbers == ["0", "1", "2"], "\(inherited)")
        #expect(lines.first == "/dev/null")
        #expect(!inherited.contains(directory.path))
    }

    @Test func `is held to limits of time, memory, files and dumps`() throws {
        // It may not ask for them itself.
        let found = Locked("")
        startThread(name: "look") {
            while found.withLock(\.isEmpty) {
                let text = Self.limits(ofWhatRuns: "sleep 7.125")
                found.withLock { $0 = text }
                usleep(1000)
            }
        }
        #expect(throws: IngestError.self) { try run("sleep 7.125", patience: .seconds(2)) }
        let limits = found.withLock { $0 }.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        for (name, amount) in [
            ("cpu time", "14400"), ("address space", "2147483648"), ("file size", "16777216"), ("open files", "64"),
            ("core file size", "0"),
        ] {
            let words = limits.first { $0.joined(separator: " ").hasPrefix("Max \(name) ") } ?? []
            #expect(words.count(where: { $0 == amount }) == 2, "\(name): \(words)")
        }
        found.withLock { if $0.isEmpty { $0 = "-" } }
    }

    /// The limits of a process that runs some words, as the system lists them; empty if there is none.
    private static func limits(ofWhatRuns words: String) -> String {
        guard let folder = unsafe opendir("/proc") else { return "" }
        defer { unsafe closedir(folder) }
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            guard Int(name) != nil, read("/proc/\(name)/cmdline").replacing("\0", with: " ").hasPrefix(words) else { continue }
            return read("/proc/\(name)/limits")
        }
        return ""
    }

    private static func read(_ path: String) -> String {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 8192)
        let got = unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
        return String(decoding: bytes.prefix(max(0, got)), as: UTF8.self)
    }

    @Test func `ends a decoder at its time limit, whether it is silent, continues, or closes its output and stays`()
        throws
    {
        let start = ContinuousClock.now
        for script in ["sleep 60", "while :; do echo x; sleep 0.01; done", "exec >&-; sleep 60", "trap '' TERM; sleep 60 & wait"]
        {
            let error = #expect(throws: IngestError.self) { try run(script, patience: .milliseconds(300)) }
            #expect(error?.code == .transcoder)
            #expect(error?.description.contains("was not read by ffmpeg within") == true, "\(script)")
        }
        #expect(ContinuousClock.now - start < .seconds(20))
    }

    @Test func `changes no limits of others, and makes none of the calls that no decoder needs`() throws {
        let told = try run(
            """
            prlimit --pid $PPID --nofile=10 && echo limited the server
            prlimit --pid $$ --nofile && echo asked for its own
            ipcmk -Q && echo made a queue
            ipcmk -M 100 && echo made shared memory
            ipcmk -S 1 && echo made a semaphore
            echo done
            """
        )
        #expect(told == "done\n")
    }

    @Test func `opens the one file, and no other of ours`() throws {
        let directory = TemporaryDirectory()
        let secret = directory.write("secret", "the master key")
        unsafe chmod(secret, 0o644)
        #expect(try run("for last; do :; done; cat \"${last#file:}\"") == "x")
        let told = try run(
            """
            cat \(secret) && echo read it
            ls \(directory.path) && echo listed it
            cat /etc/passwd && echo read accounts
            cat /proc/$PPID/environ && echo read the environment
            echo "#!/bin/sh" >> \(secret) && echo wrote it
            (: > \(directory.path)/new) && echo made it
            rm -f \(secret) && echo removed it
            echo done
            """
        )
        #expect(told == "done\n")
        #expect(directory.read("secret") == Array("the master key".utf8))
    }

    @Test func `reaches neither the network nor another process`() throws {
        let told = try run(
            """
            kill -0 $PPID && echo signalled the server
            bash -c ': < /dev/tcp/127.0.0.1/9' 2>&1 | grep -m1 -o 'Operation not permitted'
            bash -c ': < /dev/udp/127.0.0.1/9' 2>&1 | grep -m1 -o 'Operation not permitted'
            echo done
            """
        )
        #expect(told == "Operation not permitted\nOperation not permitted\ndone\n")
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
        let told =
            "a.flac: is damaged, or not in one of the formats that can be ingested (\(AcceptedAudioFormat.names)): no: such sound"
        #expect(failed?.description == told)
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
