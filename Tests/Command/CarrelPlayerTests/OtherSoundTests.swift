// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Testing

/// Titles in audio formats that the demo library lacks, from file to playback: HE-AAC, whose bands a decoder replicates, and
/// formats that ADTS cannot carry, which are served as AAC.
struct `Sound of other kinds` {
    private static let directory = TemporaryDirectory()
    private static let ffmpeg = ["ffmpeg", "-nostdin", "-v", "error", "-y"]

    /// Half a minute of HE-AAC in a file that says so.
    private static let replicated = Task<String, any Error> {
        let core = directory.file("core.aac")
        let source = ["-f", "lavfi", "-i", "sine=frequency=1000:sample_rate=22050:duration=30"]
        try await checkProcess(ffmpeg + source + ["-ac", "2", "-c:a", "aac", "-b:a", "48k", "-bitexact", "-f", "adts", core])
        let frames = directory.write("he.aac", BandReplication.added(toFrames: directory.read("core.aac") ?? []))
        try await checkProcess(ffmpeg + ["-f", "aac", "-i", frames, "-c", "copy", directory.file("plain.m4a")])
        let signalled = BandReplication.signalled(inMP4: directory.read("plain.m4a") ?? [], channels: 2)
        return directory.write("replicated.m4b", signalled)
    }

    private static let lossless = Task<String, any Error> {
        let path = directory.file("lossless.m4a")
        let source = ["-f", "lavfi", "-i", "sine=frequency=500:sample_rate=48000:duration=30"]
        try await checkProcess(ffmpeg + source + ["-c:a", "alac", path])
        return path
    }

    func serve() async throws -> DemoServer {
        _ = try requirePeer("ffmpeg")
        return try await DemoServer(sources: [try await Self.replicated.value, try await Self.lossless.value])
    }

    /// Decoded samples of both channels, without any trimming.
    private func decode(_ input: [String]) async throws -> [UInt8] {
        let result = try await runProcess(
            ["ffmpeg", "-nostdin", "-v", "error", "-flags2", "+skip_manual"] + input + ["-f", "s16le", "-"],
            timeout: .seconds(120)
        )
        #expect(result.status.isSuccess && result.errorText == "", "\(result.errorText)")
        return result.output
    }

    @Test func `is heard in every form as it was ingested`() async throws {
        let server = try await serve()
        let forms = ["", "?format=packed", "?mediaPlaylist=true", "?mediaPlaylist=true&format=packed"]
        let original = try await decode(["-ignore_editlist", "1", "-i", server.titles[0].source])
        #expect(original.count > 29 * 44_100 * 4, "at twice the core's rate, in two channels")
        for query in forms {
            #expect(try await decode(["-i", server.playlist(server.titles[0], query)]) == original, "\(query)")
        }
        #expect(abs(server.titles[0].duration - 30) < 0.2)
        // The multivariant playlist says what a player needs to know before it chooses.
        let wrapped = try await checkProcess(["curl", "-sf", server.playlist(server.titles[0], "?mediaPlaylist=true")])
        #expect(wrapped.contains("CODECS=\"mp4a.40.5\""), "\(wrapped)")

        let made = try await decode(["-i", server.playlist(server.titles[1])])
        #expect(abs(made.count - 30 * 48_000 * 2) < 2 * 48_000 / 5)
        for query in forms { #expect(try await decode(["-i", server.playlist(server.titles[1], query)]) == made, "\(query)") }
        _ = await server.stop()
    }

    @Test(arguments: BrowserKind.allCases)
    func `with replicated bands is played by the page`(kind: BrowserKind) async throws {
        let server = try await serve()
        let browser = try await Browser.start(kind)
        try await browser.open("\(server.url)/")
        try await browser.script("localStorage.setItem('carrel.volume', '0')")
        let clock = "document.getElementById('audio').currentTime"
        let isPlaying = "document.body.dataset.state === 'playing'"
        let title = server.titles[0]
        try await browser.open("\(server.url)/listen/\(title.order)")
        try await browser.wait(until: "document.body.dataset.state === 'paused'")
        try await browser.click("#play")
        try await browser.wait(until: "\(isPlaying) && \(clock) > 0.5")
        try await browser.script(
            """
            const slider = document.getElementById('book-slider');
            slider.value = 19;
            slider.dispatchEvent(new Event('input'));
            slider.dispatchEvent(new Event('change'));
            """
        )
        // across the boundary of two segments
        try await browser.wait(until: "\(isPlaying) && \(clock) > 20.6 && \(clock) < 28")
        let buffered = "(() => { const b = document.getElementById('audio').buffered; return b.end(b.length - 1); })()"
        let end = try #require(try await browser.script("return \(buffered)").double)
        #expect(end > 20.6 && end < title.duration + 0.3, "\(title.source): \(end)")
        await browser.close()
        _ = await server.stop()
    }
}
