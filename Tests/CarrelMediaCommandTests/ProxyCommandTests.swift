import CarrelTesting
import Glibc
import Testing

struct `The command proxy` {
    private static let keys = [
        "--key", "8da1f89c17bba5d7fcce0d33544cb5a4:88576e73d56defe8309278c693790601", "--key",
        "ea0aef607cd41785a5c680e49ed7b1cf:a593b8606d0b403f77fe5aacc84cf0d3",
    ]

    private static func command(_ more: String...) throws -> [String] {
        [try CarrelProgram.path(), "proxy", try Fixtures.path("media/cenc/av.cenc.mp4")] + keys + more
    }

    @Test func `prints its address, and ends when its standard input does`() async throws {
        let result = try await runProcess(try Self.command(), timeout: .seconds(30))
        #expect(result.status == .exited(0))
        #expect(result.text.hasPrefix("http://127.0.0.1:") && result.text.hasSuffix("/index.m3u8\n"))
    }

    @Test(arguments: [SIGTERM, SIGINT]) func `ends with a signal`(signal: Int32) async throws {
        let process = try BackgroundProcess(try Self.command())
        try await eventually { process.output.contains("index.m3u8") }
        process.signal(signal)
        #expect(try await process.waitForExit() == .exited(0))
    }

    @Test func `ends with its player, and passes its failure on`() async throws {
        let good = try await runProcess(try Self.command("--play", "--player", "true"), timeout: .seconds(30))
        #expect(good.status == .exited(0))
        let bad = try await runProcess(try Self.command("--play", "--player", "false"), timeout: .seconds(30))
        #expect(bad.status == .exited(1) && bad.errorText.contains("the player ended with status 1"))
        let missing = try await runProcess(try Self.command("--play", "--player", "no-such-player"), timeout: .seconds(30))
        #expect(missing.status != .exited(0) && missing.errorText.contains("there is no player"))
    }

    @Test func `plays in mpv`() async throws {
        let mpv = try requirePeer("mpv")
        let directory = TemporaryDirectory()
        let player = directory.write("mpv", "#!/bin/sh\nexec \(mpv) --vo=null --ao=null --length=1 \"$@\"\n")
        try await checkProcess(["chmod", "+x", player])
        let result = try await runProcess(try Self.command("--play", "--player", player, "--trace"), timeout: .seconds(60))
        #expect(result.status == .exited(0))
        #expect(result.errorText.contains("a segment was sent"))
    }

    @Test func `names what is wrong with a source`() async throws {
        let missing = try await runProcess([try CarrelProgram.path(), "proxy", "/no/such/film.mp4"], timeout: .seconds(30))
        #expect(missing.status == .exited(66) && missing.errorText.contains("/no/such/film.mp4 cannot be opened"))
        let plain = try await runProcess(
            [try CarrelProgram.path(), "proxy", "http://example.org/film.mpd"],
            timeout: .seconds(30)
        )
        #expect(plain.status == .exited(77) && plain.errorText.contains("plain http"))
    }
}
