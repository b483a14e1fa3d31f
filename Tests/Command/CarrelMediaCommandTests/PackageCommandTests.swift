// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Glibc
import Testing

struct `The command package` {
    private static let id = "00112233445566778899aabbccddeeff"
    private static let key = "000102030405060708090a0b0c0d0e0f"
    private let directory = TemporaryDirectory()

    private func package(_ words: [String]) async throws -> ProcessResult {
        try await runProcess(
            [try CarrelProgram.path(), "package"] + words + ["-o", directory.file("out")],
            timeout: .seconds(120)
        )
    }

    private func film(_ words: [String] = ["-c:v", "libx264"], _ name: String = "film.mp4") async throws -> String {
        let path = directory.file(name)
        let picture = ["-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=4"]
        try await checkProcess([try requirePeer("ffmpeg"), "-v", "error"] + picture + words + [path])
        return path
    }

    /// All names in the folder, hidden ones too.
    private func names() throws -> [String] {
        try FixtureFolder.names(in: directory.path)
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `leaves no files when a signal ends it`(signal: Int32) async throws {
        let path = directory.file("long.mp4")
        try await checkProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=1200", "-c:v", "libx264",
            "-preset", "ultrafast", "-g", "25", "-sc_threshold", "0", path,
        ])
        let process = try BackgroundProcess([
            try CarrelProgram.path(), "package", path, "-o", directory.file("out"), "--segment", "1s",
        ])
        try await eventually { (try? names().contains { $0.hasPrefix(".out.carrel-") }) == true }
        process.signal(signal)
        let ended = try await process.waitForExit()
        #expect(ended == .exited(128 + signal), "\(ended)")
        #expect(try names() == ["long.mp4"])
    }

    @Test(
        arguments: ["--license-uri", "--key-uri", "--authorization-uri"],
        ["", "http://a b", "http://a\nb", "http://a\u{1}", "http://a\"b", "http://a\u{85}"]
    )
    func `refuses addresses that no playlist or manifest can hold`(option: String, address: String) async throws {
        let result = try await package(["film.mp4", option, address])
        #expect(result.status == .exited(64) && result.errorText.contains(option), "\(result.errorText)")
    }

    @Test(arguments: [
        ["--authorization-uri", "https://shop.example/"],
        [
            "--license-uri", "https://drm.example/", "--scheme", "dcf", "--key",
            "00112233445566778899aabbccddeeff:00112233445566778899aabbccddeeff",
        ],
    ])
    func `refuses addresses of ClearKey that nothing would use`(options: [String]) async throws {
        let result = try await package(["film.mp4"] + options)
        #expect(result.status == .exited(64) && result.errorText.contains("--license-uri"), "\(result.errorText)")
    }

    @Test func `refuses two files of one name for DCF before it works`() async throws {
        let path = try await film()
        unsafe mkdir(directory.file("other"), 0o755)
        let other = directory.write("other/film.mp4", [1])
        let result = try await package([path, other, "--scheme", "dcf", "--key", "\(Self.id):\(Self.key)"])
        #expect(result.status == .exited(64) && result.errorText.contains("film.mp4.dcf"), "\(result.errorText)")
        #expect(try names() == ["film.mp4", "other"])
    }

    @Test func `gives each DCF a content id of its own`() async throws {
        let files = [directory.write("a.txt", [1, 2, 3]), directory.write("b.txt", [4, 5])]
        let result = try await package(files + ["--scheme", "dcf", "--key", "\(Self.id):\(Self.key)"])
        #expect(result.status.isSuccess, "\(result.errorText)")
        var ids: Set<String> = []
        for name in ["a.txt.dcf", "b.txt.dcf"] {
            let bytes = try #require(directory.read("out/\(name)"))
            let text = String(decoding: bytes, as: UTF8.self)
            let place = try #require(text.split(separator: "cid:").dropFirst().first)
            ids.insert(String(place.prefix(34)))
        }
        #expect(ids == ["\(Self.id)-1", "\(Self.id)-2"])
    }

    @Test(arguments: [
        (["-c:v", "libx264"], false), (["-c:v", "libx264", "-pix_fmt", "yuv420p10le"], true),
        (["-c:v", "libx265", "-tag:v", "hvc1", "-x265-params", "log-level=none"], true),
    ])
    func `says when alignment changes the coding of pictures`(coding: [String], isChanged: Bool) async throws {
        let path = try await film(coding)
        let result = try await package([path, "--align", "--json"])
        #expect(result.status.isSuccess, "\(result.errorText)")
        let warnings = try JSON.parse(result.output.rawSpan)["warnings"]?.array ?? []
        #expect(warnings.isEmpty != isChanged && result.errorText.contains("--align makes H.264 of 8 bits") == isChanged)
    }

    @Test func `names lines of keys without repeating them`() async throws {
        let keys = directory.write("keys.txt", Array("# keys\n\(Self.key):zz\n".utf8))
        for command in ["package", "decrypt"] {
            let result = try await runProcess(
                [
                    try CarrelProgram.path(), command, "film.mp4", "-o", directory.file("out"), "--keys", keys,
                ] + (command == "package" ? ["--scheme", "cbcs"] : [])
            )
            #expect(result.status == .exited(64) && result.errorText.contains("keys.txt, line 2"), "\(result.errorText)")
            #expect(!result.errorText.contains(Self.key.prefix(8)))
        }
    }

    /// A film with audio of two languages and subtitles.
    private func languages(_ name: String, _ rate: String = "200k") async throws -> String {
        let path = directory.file(name)
        let text = directory.write("text.srt", "1\n00:00:01,000 --> 00:00:02,000\nHello\n")
        let hasText = name.hasSuffix(".ts") ? [] : ["-map", "3:s", "-c:s", name.hasSuffix(".mkv") ? "srt" : "mov_text"]
        try await checkProcess(
            [
                try requirePeer("ffmpeg"), "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=4", "-f", "lavfi", "-i",
                "sine=f=440:d=4", "-f", "lavfi", "-i", "sine=f=880:d=4", "-i", text, "-map", "0:v", "-map", "1:a", "-map", "2:a",
                "-c:v", "libx264", "-b:v", rate, "-g", "50", "-sc_threshold", "0", "-c:a", "aac",
            ] + hasText + ["-metadata:s:a:0", "language=eng", "-metadata:s:a:1", "language=fra", path]
        )
        return path
    }

    @Test(arguments: ["film.mp4", "film.mkv", "film.ts"])
    func `packages all audio tracks and the subtitles of a film`(name: String) async throws {
        let path = try await languages(name)
        let result = try await package([path, "--json"])
        #expect(result.status.isSuccess, "\(result.errorText)")
        let tracks = try JSON.parse(result.output.rawSpan)["tracks"]?.array ?? []
        #expect(tracks.count { $0["kind"]?.string == "audio" } == 2)
        #expect(Set(tracks.compactMap { $0["kind"]?.string == "audio" ? $0["language"]?.string : nil }) == ["en", "fr"])
        #expect(tracks.count { $0["kind"]?.string == "text" } == (name == "film.ts" ? 0 : 1))
    }

    @Test func `packages one audio rendition a language for several bit rates`() async throws {
        let paths = [try await languages("a.mp4"), try await languages("b.mp4", "400k"), try await languages("c.mp4", "100k")]
        let result = try await package(paths + ["--json"])
        #expect(result.status.isSuccess, "\(result.errorText)")
        let facts = try JSON.parse(result.output.rawSpan)
        #expect(facts["tracks"]?.array?.count { $0["kind"]?.string == "audio" } == 2)
        #expect(
            facts["tracks"]?.array?.count { $0["kind"]?.string == "text" } == 1,
            "the subtitles of one film are packaged once"
        )
        #expect(facts["warnings"]?.array?.count { $0.string?.contains("is left out") == true } == 6)
        let master = String(decoding: try #require(directory.read("out/master.m3u8")), as: UTF8.self)
        #expect(master.split(separator: "#EXT-X-STREAM-INF").count == 4)
    }

    @Test func `leaves out a track that it cannot package, and keeps a commentary apart`() async throws {
        let path = directory.file("film.mp4")
        try await checkProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=4", "-f", "lavfi", "-i",
            "sine=f=440:d=4", "-f", "lavfi", "-i", "sine=f=880:d=4", "-map", "0:v", "-map", "1:a", "-map", "2:a", "-map", "1:a",
            "-c:v", "libx264", "-c:a", "aac", "-c:a:2", "alac", "-metadata:s:a:0", "language=eng", "-metadata:s:a:1",
            "language=eng", path,
        ])
        let result = try await package([path, "--json"])
        #expect(result.status.isSuccess, "\(result.errorText)")
        let warnings = try JSON.parse(result.output.rawSpan)["warnings"]?.array?.compactMap(\.string) ?? []
        #expect(warnings.contains { $0.contains("track 4 is left out") && $0.contains("alac") }, "\(warnings)")
        let manifest = String(decoding: try #require(directory.read("out/manifest.mpd")), as: UTF8.self)
        let sets = manifest.split(separator: "<AdaptationSet").dropFirst().filter { $0.contains("contentType=\"audio\"") }
        #expect(sets.count == 2 && sets.allSatisfy { $0.split(separator: "<Representation ").count == 2 }, "\(manifest)")
        #expect(sets.map { $0.contains("value=\"alternate\"") } == [false, true])
    }

    @Test func `replaces a package with --force, and no other folder`() async throws {
        let path = try await film()
        #expect(try await package([path]).status.isSuccess)
        #expect(try await package([path]).status == .exited(73))
        #expect(try await package([path, "--force"]).status.isSuccess)
        let other = directory.write("out/notes.txt", "mine")
        #expect(try await package([path, "--force"]).status == .exited(73), "there is something else in the folder")
        #expect(directory.read("out/notes.txt") == Array("mine".utf8))
        unsafe unlink(other)
        unsafe unlink(directory.file("out/master.m3u8"))
        unsafe unlink(directory.file("out/manifest.mpd"))
        #expect(try await package([path, "--force"]).status == .exited(73))
        #expect(try names().sorted() == ["film.mp4", "out"])
    }

    @Test func `decrypt keeps an existing file unless it is forced, and says what is verified`() async throws {
        let path = try await film([
            "-c:v", "libx264", "-encryption_scheme", "cenc-aes-ctr", "-encryption_key", Self.key, "-encryption_kid", Self.id,
        ])
        let out = directory.file("clear.mp4")
        func decrypt(_ words: [String]) async throws -> ProcessResult {
            try await runProcess([try CarrelProgram.path(), "decrypt", path, "-o", out, "--json"] + words)
        }
        let right = ["--key", "\(Self.id):\(Self.key)"]
        let first = try await decrypt(right + ["--require-verified"])
        #expect(first.status.isSuccess, "\(first.errorText)")
        #expect(try JSON.parse(first.output.rawSpan)["verified"] == true)
        #expect(try await decrypt(right).status == .exited(73))
        #expect(try await decrypt(right + ["--force"]).status.isSuccess)
        #expect(try await decrypt(["--force", "--key", "\(Self.id):\(Self.id)"]).status == .exited(65))
    }

    @Test func `says that playlists of scrambled streams have no key line`() async throws {
        let path = try await film()
        let result = try await package([path, "--scheme", "cissa", "--key", "\(Self.id):\(Self.key)", "--json"])
        #expect(result.status.isSuccess && result.errorText.contains("no key line"), "\(result.errorText)")
        #expect(try JSON.parse(result.output.rawSpan)["hasKeyLines"] == false)
    }
}
