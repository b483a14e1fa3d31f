// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

/// How long a listener waits for the first sound.
struct `Opening a book` {
    /// Milliseconds from leaving for the page to the first audio, for a page that plays automatically.
    private func start(_ browser: Browser, _ server: DemoServer, _ order: String) async throws -> Double {
        try await browser.open("about:blank")
        try await browser.open("\(server.url)/listen/\(order)#continue")
        let answer = try await browser.asyncScript(
            """
            const done = arguments[arguments.length - 1];
            const audio = document.getElementById('audio');
            // the interval being played: the stored position may be found after a first moment
            const stretch = () => {
              for (let i = 0; i < audio.played.length; i++) {
                const at = audio.currentTime - audio.played.start(i);
                if (at >= 0 && audio.currentTime <= audio.played.end(i)) return at;
              }
              return 0;
            };
            const look = () => {
              const heard = stretch();
              if (heard > 0.02) done(performance.now() - heard * 1000); else setTimeout(look, 5);
            };
            look();
            """
        )
        return try #require(answer.double)
    }

    /// The best of some attempts counts, because other work may run in parallel with the test; docs/performance.md has the
    /// figures of a quiet machine. A page whose work grew with the book, or that waited for something, would be late every time.
    @Test func `of twenty hours gives sound within a second, and hardly later than one of a minute`() async throws {
        let files = TemporaryDirectory()
        let (short, long) = (files.file("minute.mp3"), files.file("long.mp3"))
        try await checkProcess([
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "anullsrc=r=22050:cl=mono", "-t", "60", "-c:a", "libmp3lame", "-b:a",
            "32k", short,
        ])
        // a minute, twelve hundred times over
        try await checkProcess(
            ["ffmpeg", "-v", "error", "-stream_loop", "1199", "-i", short, "-c", "copy", long],
            timeout: .seconds(120)
        )
        let server = try await DemoServer(sources: [short, long])
        #expect(server.titles.count == 2 && server.titles[0].duration < 61 && server.titles[1].duration >= 20 * 3600)
        let browser = try await Browser.start(.chromium)
        var best = [Double.infinity, .infinity]
        var attempts = 0
        repeat {
            attempts += 1
            for (i, title) in server.titles.enumerated() {
                best[i] = min(best[i], try await start(browser, server, title.order))
            }
        } while attempts < 3 || (attempts < 12 && (best[1] >= 1000 || best[1] >= 3 * best[0]))
        print("from opening the page to sound: a minute \(Int(best[0])) ms, 20 hours \(Int(best[1])) ms, best of \(attempts)")
        #expect(best[1] < 1000)
        #expect(best[1] < 3 * best[0])
        await browser.close()
        _ = await server.stop()
    }
}
