// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Testing

/// The player's controls, each in a real browser.
struct `The controls of the player` {
    private static let clock = ListeningPage.clock
    private static let isPlaying = ListeningPage.isPlaying
    private static let isPaused = ListeningPage.isPaused

    @Test(arguments: BrowserKind.allCases)
    func `move the clock by the seconds they say, by button and by key`(kind: BrowserKind) async throws {
        let page = try await ListeningPage(kind)
        let browser = page.browser
        try await page.play()
        try await browser.click("#play")
        try await browser.wait(until: Self.isPaused)
        var place = try await page.time()
        func lands(_ seconds: Double) async throws {
            place += seconds
            // before the book there are the encoder's samples, which cannot be reached
            let isThere = "Math.abs(\(Self.clock) - \(place)) < 0.05 || (\(place) < 0 && \(Self.clock) < 0.2)"
            let shows = "Math.abs(document.getElementById('book-slider').value - Math.max(0, \(place))) < 0.2"
            try await browser.wait(until: "\(Self.isPaused) && (\(isThere)) && \(shows)")
            place = try await page.time()
        }
        for seconds in [30, -15, 15, -30, -30, 15, -15] {
            try await browser.click("[data-skip='\(seconds)']")
            try await lands(Double(seconds))
        }
        try await browser.script("document.activeElement.blur()")
        for (key, shift, seconds) in [
            ("l", false, 15.0), (BrowserKey.right, true, 30), ("j", false, -15), (BrowserKey.left, true, -30),
        ] {
            try await browser.press(key, holding: shift ? [BrowserKey.shift] : [])
            try await lands(seconds)
        }
        try await browser.click("#play")
        try await browser.wait(until: Self.isPlaying)
        let moved = try await browser.script(
            """
            const audio = document.getElementById('audio');
            return ['30', '-15', '15', '-30'].map((seconds) => {
              const before = audio.currentTime;
              document.querySelector(`[data-skip='${seconds}']`).click();
              return audio.currentTime - before;
            });
            """
        )
        let differences = (moved.array ?? []).compactMap(\.double)
        #expect(differences.count == 4)
        for (difference, seconds) in zip(differences, [30.0, -15, 15, -30]) { #expect(abs(difference - seconds) < 0.3) }
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > 0.5")
        await page.end()
    }

    @Test(arguments: BrowserKind.allCases)
    func `set the speed, which each title remembers`(kind: BrowserKind) async throws {
        let page = try await ListeningPage(kind)
        let browser = page.browser
        try await page.play()
        try await browser.click("#speed-open")
        try await browser.click("#speed-presets button[aria-label='1.5 times']")
        try await browser.wait(until: "document.getElementById('audio').playbackRate === 1.5")
        #expect(try await browser.text("#speed-value").hasPrefix("1.5"))
        try await browser.reload()
        try await browser.wait(until: Self.isPaused)
        #expect(try await browser.text("#speed-value").hasPrefix("1.5"))
        await page.end()
    }

    @Test(arguments: BrowserKind.allCases)
    func `say how much is left, at the speed that is set`(kind: BrowserKind) async throws {
        let page = try await ListeningPage(kind)
        let browser = page.browser
        let place = page.title.duration.rounded(.down) - 45
        try await browser.script(
            "const s = document.getElementById('book-slider'); s.value = \(place); for (const e of ['input', 'change']) s.dispatchEvent(new Event(e))"
        )
        let left = "document.getElementById('book-left').textContent"
        try await browser.wait(until: "/ 4[56]\\u00a0s left$/.test(\(left))")
        let end = page.title.chapters.map(\.start).first { $0 > place } ?? page.title.duration
        let near = Int(end - place)
        try await browser.wait(
            until: "Math.abs(Number(document.getElementById('near-left').textContent.split(':')[1]) - \(near % 60)) <= 1"
        )
        try await browser.click("#speed-open")
        try await browser.click("#speed-presets button[aria-label='1.5 times']")
        try await browser.wait(until: "/ (30|31)\\u00a0s left at 1.5/.test(\(left))")
        await page.end()
    }

    @Test(arguments: BrowserKind.allCases)
    func `set the volume and mute`(kind: BrowserKind) async throws {
        let page = try await ListeningPage(kind)
        let browser = page.browser
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
        try await browser.reload()
        try await browser.wait(until: "\(Self.isPaused) && Math.abs(document.getElementById('audio').volume - 0.35) < 0.001")
        await page.end()
    }

    @Test(arguments: BrowserKind.allCases)
    func `stop at the end of the chapter when the sleep timer says so`(kind: BrowserKind) async throws {
        let page = try await ListeningPage(kind)
        let (browser, title) = (page.browser, page.title)
        let end = title.chapters[1].start
        try await page.play()
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
        await page.end()
    }

    /// The page's own clock is set forward, so that minutes need not pass.
    @Test(arguments: BrowserKind.allCases)
    func `stop after the minutes of the sleep timer, which rests in a pause and can be made longer`(kind: BrowserKind)
        async throws
    {
        let page = try await ListeningPage(kind)
        let browser = page.browser
        try await browser.script(
            """
            const now = performance.now.bind(performance);
            window.ahead = 0;
            performance.now = () => now() + window.ahead * 1000;
            """
        )
        func choose(_ text: String) async throws {
            try await browser.click("#sleep-open")
            try await browser.wait(until: "document.getElementById('sleep-sheet').open")
            let button = "[...document.querySelectorAll('#sleep-choices button')].find((b) => b.textContent === '\(text)')"
            try await browser.script("\(button).click()")
            try await browser.wait(until: "!document.getElementById('sleep-sheet').open")
        }
        /// Waits until the timer shows this many seconds, or up to ten fewer.
        func left(_ seconds: Int) async throws {
            let shown =
                "document.getElementById('sleep-value').textContent.split(':').reduce((all, part) => all * 60 + Number(part), 0)"
            try await browser.wait(until: "\(shown) <= \(seconds) && \(shown) > \(seconds - 10)")
        }
        try await page.play()
        try await choose("5 min")
        try await left(300)
        try await browser.script("window.ahead += 200")
        try await left(100)
        try await choose("5 minutes more")
        try await left(400)

        try await browser.click("#play")
        try await browser.wait(until: Self.isPaused)
        try await browser.script("window.ahead += 3600")
        try await browser.click("#play")
        try await browser.wait(until: Self.isPlaying)
        try await left(400)

        try await browser.script("window.ahead += 350")
        try await left(50)
        #expect(try await browser.script("return \(Self.isPlaying)").bool == true)
        try await browser.script("window.ahead += 60")
        try await browser.wait(until: Self.isPaused)
        #expect(try await browser.text("#sleep-value") == "Sleep")
        try await browser.wait(until: "document.getElementById('announcer').textContent === 'The sleep timer stopped playback'")

        try await choose("10 min")
        try await choose("Off")
        try await browser.click("#play")
        try await browser.wait(until: Self.isPlaying)
        try await browser.script("window.ahead += 3600")
        let from = try await page.time()
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > \(from + 1)")
        await page.end()
    }

    @Test func `answer the keys of a headset and of the lock screen`() async throws {
        let page = try await ListeningPage(
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
        let (browser, title) = (page.browser, page.title)
        let keys = try await browser.script(
            "return Object.entries(window.keys).filter(([, f]) => f).map(([k]) => k).sort().join(' ')"
        )
        #expect(keys == "nexttrack pause play previoustrack seekbackward seekforward seekto stop")
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
        let back = "const from = \(Self.clock); window.keys.seekbackward({ action: 'seekbackward' }); return from - \(Self.clock)"
        try await browser.script("window.keys.seekto({ action: 'seekto', seekTime: 20 })")
        #expect(abs(try #require(try await browser.script(back).double) - 15) < 0.3)
        try await browser.script("window.keys.seekto({ action: 'seekto', seekTime: \(title.chapters[2].start + 1) })")
        try await browser.script("window.keys.previoustrack({ action: 'previoustrack' })")
        try await browser.wait(until: "\(Self.isPlaying) && Math.abs(\(Self.clock) - \(title.chapters[1].start)) < 1")
        #expect(try await browser.script("return navigator.mediaSession.metadata.title").string == title.chapters[1].title)
        try await browser.script("window.keys.pause({ action: 'pause' })")
        try await browser.wait(until: Self.isPaused)
        try await browser.wait(until: "navigator.mediaSession.playbackState === 'paused'")
        try await browser.script("window.keys.play({ action: 'play' })")
        try await browser.wait(until: Self.isPlaying)
        try await browser.script("window.keys.stop({ action: 'stop' })")
        try await browser.wait(until: Self.isPaused)
        await page.end()
    }

    @Test func `play the browser's own HLS where there are no Media Source Extensions`() async throws {
        let page = try await ListeningPage(
            .chromium,
            startScript: "delete window.MediaSource; delete window.ManagedMediaSource; delete window.WebKitMediaSource;"
        )
        let (browser, title) = (page.browser, page.title)
        #expect(try await browser.script("return typeof MediaSource") == "undefined")
        try await browser.click("#play")
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > 0.5")
        #expect(try await browser.script("return document.getElementById('audio').currentSrc").string?.contains(".m3u8") == true)
        try await browser.click("#panel-chapters li:nth-child(2) button")
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > \(title.chapters[1].start)")
        await page.end()
    }
}
