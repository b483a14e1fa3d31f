import CarrelJSON
import CarrelTesting
import Testing

/// The player's controls, each in a real browser.
struct `The controls of the player` {
    private static let clock = "document.getElementById('audio').currentTime"
    private static let isPlaying = "document.body.dataset.state === 'playing'"
    private static let isPaused = "document.body.dataset.state === 'paused'"

    /// The page of the title with the most chapters, ready to play, silent.
    private func open(_ kind: BrowserKind, startScript: String? = nil) async throws -> (DemoServer, Browser, DemoServer.DemoTitle)
    {
        let server = try await DemoServer([])
        let browser = try await Browser.start(kind)
        if let startScript { try await browser.addStartScript(startScript) }
        try await browser.open("\(server.url)/")
        try await browser.script("localStorage.setItem('carrel.volume', '0')")
        let title = try #require(server.titles.max { $0.chapters.count < $1.chapters.count })
        try await browser.open("\(server.url)/listen/\(title.order)")
        try await browser.wait(until: Self.isPaused)
        return (server, browser, title)
    }

    private func end(_ server: DemoServer, _ browser: Browser) async {
        await browser.close()
        _ = await server.stop()
    }

    @Test(arguments: BrowserKind.allCases)
    func `set the speed, which each title remembers`(kind: BrowserKind) async throws {
        let (server, browser, _) = try await open(kind)
        try await browser.click("#play")
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > 0.2")
        try await browser.click("#speed-open")
        try await browser.click("#speed-presets button[aria-label='1.5 times']")
        try await browser.wait(until: "document.getElementById('audio').playbackRate === 1.5")
        #expect(try await browser.text("#speed-value").hasPrefix("1.5"))
        try await browser.reload()
        try await browser.wait(until: Self.isPaused)
        #expect(try await browser.text("#speed-value").hasPrefix("1.5"))
        await end(server, browser)
    }

    @Test(arguments: BrowserKind.allCases)
    func `set the volume and mute`(kind: BrowserKind) async throws {
        let (server, browser, _) = try await open(kind)
        try await browser.click("#volume-open")
        try await browser.script(
            "const s = document.getElementById('volume-slider'); s.value = 0.35; s.dispatchEvent(new Event('input'))"
        )
        try await browser.wait(until: "Math.abs(document.getElementById('audio').volume - 0.35) < 0.001")
        try await browser.click("#mute")
        try await browser.wait(until: "document.getElementById('audio').muted")
        #expect(try await browser.script("return document.getElementById('mute').getAttribute('aria-pressed')") == "true")
        try await browser.click("#mute")
        try await browser.wait(until: "!document.getElementById('audio').muted")
        await end(server, browser)
    }

    @Test(arguments: BrowserKind.allCases)
    func `stop at the end of the chapter when the sleep timer says so`(kind: BrowserKind) async throws {
        let (server, browser, title) = try await open(kind)
        let end = title.chapters[1].start
        try await browser.click("#play")
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > 0.2")
        try await browser.click("#sleep-open")
        let chapter = "[...document.querySelectorAll('#sleep-choices button')].find((b) => b.textContent === 'End of chapter')"
        try await browser.script("\(chapter).click()")
        #expect(try await browser.text("#sleep-value") != "Sleep")
        // near the end of the first chapter
        try await browser.script(
            "const s = document.getElementById('near-slider'); s.value = \(end - 3); s.dispatchEvent(new Event('input')); "
                + "s.dispatchEvent(new Event('change'))"
        )
        try await browser.wait(until: "\(Self.isPaused) && \(Self.clock) > \(end - 1) && \(Self.clock) < \(end + 1)")
        #expect(try await browser.text("#sleep-value") == "Sleep")
        await self.end(server, browser)
    }

    @Test func `answer the keys of a headset and of the lock screen`() async throws {
        let (server, browser, title) = try await open(
            .chromium,
            startScript: """
                window.keys = {};
                const set = MediaSession.prototype.setActionHandler;
                MediaSession.prototype.setActionHandler = function (action, handler) {
                  window.keys[action] = handler;
                  return set.call(this, action, handler);
                };
                """
        )
        try await browser.script("window.keys.play({ action: 'play' })")
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > 0.2")
        #expect(try await browser.script("return navigator.mediaSession.metadata.title").string?.isEmpty == false)
        try await browser.wait(until: "navigator.mediaSession.playbackState === 'playing'")
        try await browser.script("window.keys.nexttrack({ action: 'nexttrack' })")
        try await browser.wait(until: "\(Self.clock) >= \(title.chapters[1].start)")
        try await browser.script("window.keys.seekto({ action: 'seekto', seekTime: 1 })")
        try await browser.wait(until: "\(Self.clock) >= 1 && \(Self.clock) < \(title.chapters[1].start)")
        try await browser.script("window.keys.seekforward({ action: 'seekforward', seekOffset: 4 })")
        try await browser.wait(until: "\(Self.clock) >= 5")
        try await browser.script("window.keys.pause({ action: 'pause' })")
        try await browser.wait(until: Self.isPaused)
        await end(server, browser)
    }

    @Test func `play the browser's own HLS where there are no Media Source Extensions`() async throws {
        let (server, browser, title) = try await open(
            .chromium,
            startScript: "delete window.MediaSource; delete window.ManagedMediaSource; delete window.WebKitMediaSource;"
        )
        #expect(try await browser.script("return typeof MediaSource") == "undefined")
        try await browser.click("#play")
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > 0.5")
        #expect(try await browser.script("return document.getElementById('audio').currentSrc").string?.contains(".m3u8") == true)
        try await browser.click("#panel-chapters li:nth-child(2) button")
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > \(title.chapters[1].start)")
        await end(server, browser)
    }
}
