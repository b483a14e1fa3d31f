// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

/// How the listener's place gets to the server, and back into the page: the log of intervals, earlier places and bookmarks.
struct `The listener's place` {
    private static let clock = ListeningPage.clock
    private static let isPlaying = ListeningPage.isPlaying
    private static let isPaused = ListeningPage.isPaused

    /// Ten seconds and more, which is how long the page waits before it reports continuing playback.
    @Test(arguments: BrowserKind.allCases)
    func `arrives while the book plays on`(kind: BrowserKind) async throws {
        let page = try await ListeningPage(kind)
        let browser = page.browser
        try await browser.click("#speed-open")
        try await browser.click("#speed-presets button[aria-label='1.5 times']")
        try await browser.press(BrowserKey.escape)
        try await page.play()
        try await browser.script(
            "window.stops = 0; document.getElementById('audio').addEventListener('pause', () => { window.stops += 1; })"
        )
        let history = "/v2/states/history/\(page.title.order)"
        #expect(try await page.ask(history)["intervals"]?.array?.isEmpty == true)
        let answer = try await page.ask(history) { $0["intervals"]?.array?.isEmpty == false }
        let arrived = try await page.time()
        #expect(try await browser.script("return \(Self.isPlaying) && window.stops === 0").bool == true)
        let intervals = answer["intervals"]?.array ?? []
        let interval = try #require(intervals.first)
        let end = try #require(interval["endPosition"]?.double)
        #expect(intervals.count == 1 && interval["startPosition"]?.double == 0 && interval["speed"]?.double == 1.5)
        #expect(end >= 5 && end <= arrived, "\(interval) at \(arrived)")
        let latest = try await page.ask("/v2/states/latest/\(page.title.order)")
        #expect(latest["PositionMs"]?.double.map { $0 / 1000 >= end && $0 / 1000 < end + 1 } == true, "\(latest)")
        await page.end()
    }

    /// Nothing else sends the last of it: the page leaves for another, where no script of ours runs.
    @Test(arguments: BrowserKind.allCases)
    func `arrives when the page is left in the middle of a sentence`(kind: BrowserKind) async throws {
        let page = try await ListeningPage(kind)
        try await page.play()
        try await page.browser.wait(until: "\(Self.clock) > 2")
        let left = try await page.time()
        try await page.browser.open("about:blank")
        let latest = try await page.ask("/v2/states/latest/\(page.title.order)") {
            ($0["PositionMs"]?.double ?? 0) / 1000 > left - 0.5
        }
        let seconds = try #require(latest["PositionMs"]?.double) / 1000
        #expect(seconds > left - 0.5 && seconds < left + 10, "\(seconds) after \(left)")
        await page.end()
    }

    @Test(arguments: BrowserKind.allCases)
    func `is listed among the earlier ones, which lead back to it`(kind: BrowserKind) async throws {
        let page = try await ListeningPage(kind)
        let browser = page.browser
        try await browser.click("#tab-places")
        try await browser.wait(until: "document.getElementById('panel-places').textContent.includes('appear here')")
        let report = """
            const at = Date.now() - 3600e3;
            const piece = (from, to, device) => ({ id: arguments[0], startUtc: new Date(at + from * 1000).toISOString(),
              endUtc: new Date(at + to * 1000).toISOString(), startPosition: from, endPosition: to, deviceId: device, deviceName: device });
            const body = JSON.stringify([piece(0, 10, 'Phone'), piece(10, 20, 'Phone'), piece(40, 61, 'Tablet'), piece(70, 72, 'Tablet')]);
            return fetch('/v2/states/', { method: 'POST', body, headers: { 'Content-Type': 'application/json' } }).then((r) => r.json());
            """
        #expect(try await browser.script(report, .string(page.title.order))["accepted"]?.int == 4)
        try await browser.click("#tab-chapters")
        try await browser.click("#tab-places")
        try await browser.wait(until: "document.querySelectorAll('#panel-places li').length > 0")
        let rows = try await browser.script("return [...document.querySelectorAll('#panel-places li')].map((e) => e.innerText)")
        let texts = rows.array?.compactMap(\.string) ?? []
        #expect(texts.count == 2, "pieces that go on are one stretch, and two seconds are none: \(texts)")
        #expect(texts.first?.hasPrefix("1:01") == true && texts.first?.contains("Tablet") == true, "\(texts)")
        #expect(texts.last?.hasPrefix("0:20") == true && texts.last?.contains("Phone") == true, "\(texts)")
        try await browser.click("#panel-places li:last-child button")
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > 20 && \(Self.clock) < 30")
        try await browser.click("#panel-places li:first-child button")
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > 61 && \(Self.clock) < 71")
        await page.end()
    }

    @Test(arguments: BrowserKind.allCases)
    func `can be marked, the mark removed, and put back`(kind: BrowserKind) async throws {
        let page = try await ListeningPage(kind, isSignedIn: true)
        let browser = page.browser
        let ask = "return fetch('/v1/shelf/\(page.title.order)/bookmarks').then((response) => response.json())"
        func kept() async throws -> [JSON] { try await browser.script(ask)["bookmarks"]?.array ?? [] }
        try await browser.click("#tab-bookmarks")
        try await browser.wait(until: "document.getElementById('panel-bookmarks').textContent.includes('No bookmarks yet')")
        for (skip, note) in [("30", "first"), ("15", "second")] {
            try await browser.click("[data-skip='\(skip)']")
            try await browser.press("b")
            try await browser.wait(until: "document.getElementById('bookmark-sheet').open")
            try await browser.type(note, into: "#bookmark-note")
            try await browser.click("#bookmark-form button[type=submit]")
            try await browser.wait(until: "document.getElementById('panel-bookmarks').textContent.includes('\(note)')")
        }
        #expect(try await kept().map { $0["note"]?.string } == ["first", "second"])
        #expect(try await kept().map { $0["seconds"]?.double } == [30, 45])

        try await browser.click("#panel-bookmarks li:first-child button[aria-label^='Remove']")
        try await browser.wait(until: "document.querySelectorAll('#panel-bookmarks li').length === 1")
        #expect(try await kept().map { $0["note"]?.string } == ["second"])
        try await browser.click("#panel-bookmarks .undo button")
        try await browser.wait(until: "document.querySelectorAll('#panel-bookmarks li').length === 2")
        #expect(try await kept().map { $0["note"]?.string }.sorted { ($0 ?? "") < ($1 ?? "") } == ["first", "second"])

        try await browser.click("#panel-bookmarks li:last-child button[aria-label^='Remove']")
        try await browser.wait(until: "document.querySelectorAll('#panel-bookmarks li').length === 1")
        try await browser.reload()
        try await browser.wait(until: Self.isPaused)
        try await browser.click("#tab-bookmarks")
        try await browser.wait(until: "document.querySelectorAll('#panel-bookmarks li').length === 1")
        try await browser.click("#panel-bookmarks li button")
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > 30 && \(Self.clock) < 40")
        await page.end()
    }
}
