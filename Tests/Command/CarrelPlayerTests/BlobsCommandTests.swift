// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

/// `carrel blobs check`, as an operator and a script use it.
struct `A check of the blobs` {
    private let directory = TemporaryDirectory()
    private var home: String { directory.file("home") }

    private func carrel(_ arguments: String...) async throws -> ProcessResult {
        try await runProcess([DemoServer.program, "blobs", "check"] + arguments + ["--home", home], timeout: .seconds(60))
    }

    private func json(_ result: ProcessResult) throws -> JSON { try JSON.parse(result.output.rawSpan) }

    @Test func `counts one blob as one`() async throws {
        try await checkProcess([DemoServer.program, "init", "--home", home])
        try await checkProcess(["mkdir", "-p", "\(home)/blobs/03"])
        directory.write("home/blobs/03/039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81", [1, 2, 3])
        let result = try await carrel()
        #expect(result.text.hasPrefix("1 blob, 0 damaged or missing"), "\(result.text)\(result.errorText)")
    }

    @Test func `finds a changed byte and a missing file, says which title is hit, and mends both from a copy`() async throws {
        let sound = directory.file("tone.mp3")
        try await checkProcess([
            "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=duration=8", "-c:a", "libmp3lame", sound,
        ])
        let ingest = ["ingest", sound, "--home", home, "--title", "Tone", "--sample-seconds", "2", "--json"]
        let title = try #require(try await DemoServer.json(ingest)["titles"]?.array?.first?["id"]?.string)
        let clean = try await carrel("--json")
        #expect(clean.status == .exited(0), "\(clean.errorText)")
        #expect(try json(clean)["blobs"]?.int == 2)
        #expect(try json(clean)["damaged"] == [])

        let copy = directory.file("copy")
        try await checkProcess(["cp", "-a", "\(home)/blobs", copy])
        let sizes = "find \(home)/blobs -mindepth 2 -type f -size +1k | xargs ls -S"
        let files = try await checkProcess(["sh", "-c", sizes]).split(separator: "\n").map(String.init)
        try #require(files.count == 2)
        try await checkProcess(["sh", "-c", "printf x | dd of=\(files[0]) bs=1 seek=5000 conv=notrunc status=none"])
        try await checkProcess(["rm", files[1]])

        let found = try await carrel("--json")
        #expect(found.status == .exited(65))
        #expect(found.errorText.contains("2 blobs are damaged or missing"), "\(found.errorText)")
        let damaged = try #require(try json(found)["damaged"]?.array)
        #expect(Set(damaged.map { $0["state"]?.string }) == ["damaged", "missing"])
        for one in damaged {
            #expect(one["titles"]?.array?.first?["id"]?.string == title)
            #expect(one["titles"]?.array?.first?["title"]?.string == "Tone")
            #expect(one["mended"] == false)
            #expect(one["titles"]?.array?.first?["use"]?.string == (one["state"] == "damaged" ? "media" : "sample"))
        }
        let table = try await carrel()
        #expect(table.status == .exited(65) && table.text.contains("2 blobs, 2 damaged or missing"), "\(table.text)")

        let server = try BackgroundProcess([DemoServer.program, "serve", "--home", home, "--port", "0"])
        _ = try await server.waitForLine(containing: "listening on http")
        let mended = try await carrel("--mend-from", copy, "--json")
        #expect(mended.status == .exited(0), "\(mended.errorText)")
        #expect(try json(mended)["damaged"]?.array?.allSatisfy { $0["mended"] == true } == true)
        #expect(try json(try await carrel("--json"))["damaged"] == [])
        #expect(await server.terminate() == .exited(0))
        try await checkProcess(["diff", "-r", "--exclude=partial", "\(home)/blobs", copy])
    }

    @Test func `refuses a folder of copies that is missing, and a home that is`() async throws {
        #expect(try await carrel().status == .exited(66))
        try await checkProcess([DemoServer.program, "init", "--home", home])
        let refused = try await carrel("--mend-from", directory.file("none"))
        #expect(refused.status == .exited(66))
        #expect(refused.errorText.contains("cannot be read"))
    }
}
