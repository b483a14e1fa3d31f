// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelMP4
import CarrelMedia
import CarrelMediaInspection
import CarrelTesting
import Glibc
import ProtectedMedia
import Testing

struct `An output file` {
    private func names(_ directory: TemporaryDirectory) throws -> [String] { try FixtureFolder.names(in: directory.path) }

    @Test func `appears whole, or not at all`() throws {
        let directory = TemporaryDirectory()
        directory.write("clear.mp4", "before")
        let path = directory.file("clear.mp4")
        for isCommitted in [false, true] {
            let file = try OutputFile(path)
            #expect(!file.isSequential)
            let (head, body) = (Array("head".utf8), [UInt8](repeating: 7, count: 600_000))
            try file.write(head.rawSpan)
            try file.write(body.rawSpan)
            let new = Array("HEAD".utf8)
            try file.overwrite(new.rawSpan, at: 0)
            #expect(directory.read("clear.mp4") == Array("before".utf8))
            guard isCommitted else { continue }
            #expect(try file.commit() == 600_004)
            #expect(directory.read("clear.mp4") == new + body)
        }
        #expect(try names(directory) == ["clear.mp4"])
    }

    @Test func `leaves no files when the input is damaged midway`() async throws {
        let directory = TemporaryDirectory()
        let fixture = try #require(ProtectedFixture.samples.first { $0.name == "cenc/av.cenc.mp4" })
        var bytes = try Fixtures.bytes("media/\(fixture.name)")
        // the last fragment says that its samples are longer than the file
        let run = try #require(bytes.indices.dropLast(40).last { bytes[$0..<$0 + 4] == Array("trun".utf8)[...] })
        bytes.replaceSubrange(run + 16..<run + 24, with: [UInt8](repeating: 0x7f, count: 8))
        let decryption = try await MediaDecryption(of: BytesReader(bytes), keys: fixture.keys)
        #expect(throws: (any Error).self) {
            var sink = try OutputFile(directory.file("clear.mp4"))
            try decryption.write(to: &sink)
            try sink.commit()
        }
        #expect(try names(directory) == [])
    }

    @Test func `leaves no files when the disk is full`() async throws {
        let directory = TemporaryDirectory()
        let (path, place) = (directory.path, directory.file("clear.mp4"))
        directory.write("clear.mp4", "before")
        // a limit of files' sizes refuses writes as a full disk does, and counts for the whole process
        await #expect(processExitsWith: .success) { [path = path as String, place = place as String] in
            signal(SIGXFSZ, SIG_IGN)
            var limits = rlimit(rlim_cur: 300_000, rlim_max: .max)
            guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits) == 0 else { exit(70) }
            let piece = [UInt8](repeating: 1, count: 100_000)
            do {
                let file = try OutputFile(place)
                for _ in 0..<20 { try file.write(piece.rawSpan) }
                try file.commit()
                exit(71)
            } catch {
                guard error as? MediaError == MediaError(.unwritable, "") else { exit(72) }
            }
            guard unsafe access("\(path)/clear.mp4.carrel-\(getpid())", F_OK) != 0 else { exit(73) }
        }
        #expect(try names(directory) == ["clear.mp4"])
        #expect(directory.read("clear.mp4") == Array("before".utf8))
    }

    @Test func `refuses folders, and places that cannot be written`() throws {
        let directory = TemporaryDirectory()
        for path in [directory.path, directory.file("missing/clear.mp4"), "/dev/full/clear.mp4"] {
            #expect(throws: MediaError(.unwritable, "")) { try OutputFile(path) }
        }
        #expect(try names(directory) == [])
    }

    // MARK: - Devices and pipes

    @Test func `may be a device, in order alone`() throws {
        let file = try OutputFile("/dev/null")
        #expect(file.isSequential)
        let bytes = [UInt8](repeating: 1, count: 300_000)
        try file.write(bytes.rawSpan)
        #expect(throws: MediaError(.unwritable, "")) { try file.overwrite(bytes.rawSpan, at: 0) }
        #expect(try file.commit() == 300_000)
        // a device without room
        let full = try OutputFile("/dev/full")
        #expect(throws: MediaError(.unwritable, "")) {
            try full.write(bytes.rawSpan)
            try full.commit()
        }
        for path in ["/dev/full", "/dev/null"] {
            let isThere = unsafe access(path, F_OK) == 0
            #expect(isThere)
        }
    }

    @Test func `may be a named pipe, whose reader gets the bytes as they come`() async throws {
        let directory = TemporaryDirectory()
        let path = directory.file("pipe")
        let isMade = unsafe mkfifo(path, 0o600) == 0
        try #require(isMade)
        // both ends, so that neither waits for the other
        let reader = unsafe open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        try #require(reader >= 0)
        defer { close(reader) }
        let fixture = try #require(ProtectedFixture.payloads.first { $0.name == "dcf/note.cbc.dcf" })
        let bytes = try Fixtures.bytes("media/\(fixture.name)")
        let decryption = try await MediaDecryption(of: BytesReader(bytes), keys: fixture.keys)
        var expected = BytesSink()
        try decryption.write(to: &expected)
        try #require(expected.bytes.count < 65_536)
        var sink = try OutputFile(path)
        #expect(sink.isSequential)
        try decryption.write(to: &sink)
        #expect(try sink.commit() == Int64(expected.bytes.count))
        var got = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe got.withUnsafeMutableBytes { unsafe read(reader, $0.baseAddress, $0.count) }
        #expect(got.prefix(max(0, count)) == expected.bytes[...])
        #expect(try names(directory) == ["pipe"])
    }

    @Test(arguments: ["-", "/dev/stdout"])
    func `may be standard output`(path: String) async throws {
        #expect(OutputFile.isStandardOutput(path))
        let directory = TemporaryDirectory()
        let place = directory.file("out")
        await #expect(processExitsWith: .success) { [path = path as String, place = place as String] in
            let file = unsafe open(place, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            guard file >= 0, dup2(file, STDOUT_FILENO) == STDOUT_FILENO else { exit(70) }
            do {
                let output = try OutputFile(path)
                let bytes = Array("clear".utf8)
                try output.write(bytes.rawSpan)
                guard try output.commit() == 5 else { exit(71) }
            } catch { exit(72) }
            // still open for what follows
            guard fcntl(STDOUT_FILENO, F_GETFD) >= 0 else { exit(73) }
        }
        let written = try #require(directory.read("out"))
        #expect(String(decoding: written, as: UTF8.self).hasPrefix("clear"))
        #expect(try names(directory) == ["out"])
    }

    @Test func `in order alone is refused before the first byte where samples get shorter`() async throws {
        let fixture = try #require(ProtectedFixture.samples.first { $0.name == "marlin/av.acbc.mp4" })
        let bytes = try Fixtures.bytes("media/\(fixture.name)")
        let decryption = try await MediaDecryption(of: BytesReader(bytes), keys: fixture.keys)
        var device = try OutputFile("/dev/null")
        #expect(throws: MediaError(.unsupported, "")) { try decryption.write(to: &device) }
        // as a transport stream, it is written in order
        let stream = try await MediaDecryption(of: BytesReader(bytes), as: .transportStream, keys: fixture.keys)
        var other = try OutputFile("/dev/null")
        try stream.write(to: &other)
        #expect(try other.commit() > 188 * 100)
    }
}

struct `Input that is not media` {
    private func code(_ path: String) async -> MediaError.Code? {
        do {
            let file = try LocalFile(path)
            _ = try await MediaDecryption(of: file, keys: GivenKeys())
            return nil
        } catch let error as MediaError {
            return error.code
        } catch {
            return error is Malformed ? .malformed : nil
        }
    }

    @Test func `is refused by its kind: missing, a folder, empty, of another format`() async throws {
        let directory = TemporaryDirectory()
        // status 66
        #expect(await code(directory.file("missing.mp4")) == .unavailable)
        #expect(await code(directory.path) == .unavailable)
        #expect(await code("/dev/null") == .unavailable)
        // status 65
        #expect(await code(directory.write("empty.mp4", "")) == .malformed)
        #expect(await code(directory.write("text.mp4", "not a film")) == .malformed)
        #expect(await code(directory.write("zeros.mp4", [UInt8](repeating: 0, count: 100_000))) == .malformed)
        #expect(await code(try Fixtures.path("media/src/mini.epub")) == .malformed)
        for name in ["missing.mp4", ""] {
            let path = directory.file(name)
            #expect(throws: MediaError(.unavailable, "")) { _ = try LocalFile(path) }
        }
    }

    @Test func `is of no kind that the inspection knows`() throws {
        let directory = TemporaryDirectory()
        let files = [
            directory.write("empty", ""), directory.write("a", "a"), directory.write("text", "not a film"),
            directory.write("xml", "<?xml version=\"1.0\"?><html/>"), directory.write("sync", [0x47]),
            directory.write("zeros", [UInt8](repeating: 0, count: 100_000)), try Fixtures.path("media/src/mini.epub"),
            try Fixtures.path("media/src/note.txt"), try Fixtures.path("media/hls/aac-packed-bigseq_0.aac"),
        ]
        for path in files {
            do {
                let facts = try MediaInspection.describe(try LocalFile(path), name: path)
                Issue.record("\(path): \(facts)")
            } catch let error as MediaError {
                #expect(error.code == .unsupported)
                #expect(error.message == "\(path) is of no kind that Carrel knows")
            }
        }
    }
}
