// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

/// The bookshelf and listening pages against a real server, in real browsers: where the page is a secure context, and at a
/// plain-HTTP address where browsers keep WebCrypto from it.
struct `Page` {
    static let places = BrowserKind.allCases.flatMap { kind in
        ["127.0.0.1", "library.test"].map { Place(kind: kind, host: $0) }
    }

    struct Place: Sendable, CustomTestStringConvertible {
        let kind: BrowserKind
        let host: String

        var testDescription: String { "\(kind.rawValue) at \(host)" }

        func start() async throws -> (DemoServer, Browser, String) {
            let server = try await DemoServer(["--http-allowed-hosts", "library.test"])
            let browser = try await Browser.start(kind, BrowserOptions(loopbackNames: ["library.test"]))
            let base = server.url.replacing("127.0.0.1", with: host)
            // what the page hands to the browser's Media Source Extensions
            if kind == .chromium {
                try await browser.addStartScript(
                    """
                    window.appended = [];
                    const add = MediaSource.prototype.addSourceBuffer;
                    MediaSource.prototype.addSourceBuffer = function (type) { window.appended.push(type); return add.call(this, type); };
                    """
                )
            }
            try await browser.open("\(base)/")
            // Without a sound card Firefox plays only what is silent.
            try await browser.script("localStorage.setItem('carrel.volume', '0')")
            return (server, browser, base)
        }
    }

    private static let clock = "document.getElementById('audio').currentTime"
    private static let isPlaying = "document.body.dataset.state === 'playing'"

    /// Moves a slider as a listener would who drags it.
    private func drag(_ browser: Browser, _ slider: String, to value: Double) async throws {
        try await browser.script(
            """
            const slider = document.getElementById(arguments[0]);
            slider.value = arguments[1];
            slider.dispatchEvent(new Event('input'));
            slider.dispatchEvent(new Event('change'));
            """,
            .string(slider),
            .number(JSONNumber(value))
        )
    }

    private func number(_ browser: Browser, _ expression: String) async throws -> Double {
        try #require(try await browser.script("return \(expression)").double)
    }

    /// The audio comes from packed segments that the page fetched, decrypted and appended, unchanged in Chromium.
    private func expectPacked(_ browser: Browser, _ kind: BrowserKind, _ title: DemoServer.DemoTitle) async throws {
        let played = try await browser.script(
            """
            return { address: document.getElementById('audio').currentSrc, appended: window.appended ?? null,
              segments: performance.getEntriesByType('resource').map((entry) => /\\/\\d+\\.(ts|mp3|aac)$/.exec(entry.name)?.[1]).filter(Boolean) };
            """
        )
        let codec = title.source.hasSuffix(".m4b") ? "aac" : "mp3"
        #expect(played["address"]?.string?.hasPrefix("blob:") == true)
        if kind == .chromium { #expect(played["appended"] == .array([codec == "aac" ? "audio/aac" : "audio/mpeg"])) }
        let segments = (played["segments"]?.array ?? []).compactMap { $0.string }
        #expect(!segments.isEmpty && Set(segments) == [codec])
    }

    @Test(arguments: places)
    func `plays, seeks, reports the place, and resumes there after a reload`(place: Place) async throws {
        let (server, browser, base) = try await place.start()
        let secure = try await browser.script("return isSecureContext").bool
        #expect(secure == (place.host == "127.0.0.1"))
        for title in server.titles {
            try await browser.open("\(base)/listen/\(title.order)")
            try await browser.wait(until: "document.body.dataset.state === 'paused'")
            try await browser.click("#play")
            try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > 1")
            try await drag(browser, "book-slider", to: 70)
            try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > 71 && \(Self.clock) < 90")
            try await expectPacked(browser, place.kind, title)
            try await browser.click("#play")
            try await browser.wait(until: "document.body.dataset.state === 'paused'")
            let stopped = try await number(browser, Self.clock)
            let latest = "fetch('/v2/states/latest/\(title.order)').then((r) => r.ok ? r.json() : null)"
            try await browser.script(
                "(async () => { for (;;) { window.latest = await \(latest); await new Promise((r) => setTimeout(r, 100)); } })(); return 1"
            )
            try await browser.wait(until: "Math.abs(window.latest.PositionMs / 1000 - \(stopped)) < 0.5")
            try await browser.reload()
            try await browser.wait(until: "document.body.dataset.state === 'paused'")
            try await browser.wait(until: "Math.abs(document.getElementById('book-slider').value - \(stopped)) < 1")
            try await browser.click("#play")
            try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > \(stopped - 0.5)")
            #expect(try await number(browser, Self.clock) < stopped + 20)
            #expect(try await browser.script("return document.getElementById('resume-sheet').open").bool == false)
        }
        await browser.close()
        _ = await server.stop()
    }

    @Test(arguments: places)
    func `says that a loan has ended, and that an order was withdrawn`(place: Place) async throws {
        let (server, browser, base) = try await place.start()
        let title = try #require(server.titles.first)
        let lend = [
            "order", "create", "--home", server.home, "--title", title.id, "--account", "demo", "--kind", "loan", "--json",
        ]
        let ended = try await DemoServer.json(lend + ["--start", "2024-01-01T00:00:00Z", "--end", "2024-02-01T00:00:00Z"])
        try await browser.open("\(base)/listen/\(try #require(ended["id"]?.string))")
        try await browser.wait(until: "!document.getElementById('notice').hidden")
        #expect(try await browser.text("#notice").contains("This loan has ended"))
        #expect(try await browser.text("#notice").contains("2024"))

        try await browser.open("\(base)/listen/\(title.order)")
        try await browser.click("#play")
        try await browser.wait(until: Self.isPlaying)
        _ = try await DemoServer.json(["order", "revoke", "--home", server.home, title.order, "--json"])
        try await browser.reload()
        try await browser.wait(until: "!document.getElementById('notice').hidden")
        #expect(try await browser.text("#notice").contains("This order was withdrawn"))
        await browser.close()
        _ = await server.stop()
    }

    @Test func `says so when a loan ends while it plays, and keeps the place`() async throws {
        let (server, browser, base) = try await Place(kind: .chromium, host: "127.0.0.1").start()
        let title = try #require(server.titles.first)
        let end = Instant.now() + .seconds(8)
        let lent = try await DemoServer.json([
            "order", "create", "--home", server.home, "--title", title.id, "--account", "demo", "--kind", "loan", "--end",
            end.description, "--json",
        ])
        let order = try #require(lent["id"]?.string)
        // as with a book of hours, of which not all is fetched when the loan ends
        try await browser.addStartScript(
            """
            const real = window.fetch;
            window.fetch = async (input, init) => {
              const number = Number(/\\/(\\d+)\\.(?:aac|mp3|ts)/.exec(String(input?.url ?? input))?.[1] ?? 0);
              while (number >= 2 && Date.now() < \((end + .milliseconds(500)).milliseconds)) await new Promise((r) => setTimeout(r, 50));
              return real(input, init);
            };
            """
        )
        try await browser.open("\(base)/listen/\(order)")
        try await browser.click("#play")
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > 1")
        try await browser.wait(until: "!document.getElementById('notice').hidden")
        #expect(try await browser.text("#notice").contains("This loan has ended"))
        let latest = "fetch('/v2/states/latest/\(order)').then((r) => r.ok ? r.json() : null)"
        try await browser.script(
            "(async () => { for (;;) { window.latest = await \(latest); await new Promise((r) => setTimeout(r, 100)); } })(); return 1"
        )
        try await browser.wait(until: "window.latest?.PositionMs > 1000")
        await browser.close()
        _ = await server.stop()
    }

    @Test(arguments: BrowserKind.allCases)
    func `offers both places when another device is elsewhere`(kind: BrowserKind) async throws {
        let (server, browser, base) = try await Place(kind: kind, host: "127.0.0.1").start()
        let title = try #require(server.titles.first)
        try await browser.open("\(base)/listen/\(title.order)")
        try await browser.click("#play")
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > 1")
        try await browser.click("#play")
        try await browser.wait(until: "document.body.dataset.state === 'paused'")
        let report = """
            const now = Date.now() + 1000;
            const interval = { id: arguments[0], startUtc: new Date(now - 9000).toISOString(), endUtc: new Date(now).toISOString(),
              startPosition: 91, endPosition: 100, deviceId: 'phone', deviceName: 'Safari on iPhone' };
            return fetch('/v2/states/', { method: 'POST', body: JSON.stringify([interval]), headers: { 'Content-Type': 'application/json' } })
              .then((response) => response.json());
            """
        #expect(try await browser.script(report, .string(title.order))["accepted"]?.int == 1)
        try await browser.reload()
        try await browser.wait(until: "document.getElementById('resume-sheet').open")
        let offered = try await browser.text("#resume-choices")
        #expect(offered.contains("Safari on iPhone") && offered.contains("1:40") && offered.contains("This device"))
        try await browser.click("#resume-choices li:first-child button")
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > 100")
        await browser.close()
        _ = await server.stop()
    }

    @Test(arguments: BrowserKind.allCases, [BrowserOptions.ColorScheme.light, .dark])
    func `fits a phone and a desk, without an error`(kind: BrowserKind, scheme: BrowserOptions.ColorScheme) async throws {
        let server = try await DemoServer()
        let browser = try await Browser.start(kind, BrowserOptions(colorScheme: scheme))
        for width in [360, 768, 1440] {
            try await browser.setWindowSize(width: width, height: 720)
            try await browser.open("\(server.url)/")
            try await browser.wait(until: "document.querySelectorAll('#items li, .hero').length === \(server.titles.count)")
            #expect(try await number(browser, "document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0)
            for title in server.titles {
                try await browser.open("\(server.url)/listen/\(title.order)")
                try await browser.wait(
                    until: "document.querySelectorAll('#panel-chapters li').length === \(title.chapters.count)"
                )
                #expect(
                    try await number(browser, "document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
                )
                let small = try await browser.script(
                    """
                    return [...document.querySelectorAll('button, a[href], input')].filter((e) => e.offsetParent && !e.disabled)
                      .map((e) => [e.id || e.textContent.trim(), e.offsetWidth, e.offsetHeight]).filter(([, w, h]) => w < 44 || h < 43.5);
                    """
                )
                #expect(small.array?.isEmpty == true, "\(small) is hard to hit")
            }
        }
        // A place that was never reported is a 404, which browsers write down; Firefox also writes of its own services.
        let known = ["/v2/states/latest/", "RSLoader"]
        let errors = try await browser.messages().filter { error in error.isError && !known.contains { error.text.contains($0) } }
        #expect(errors.isEmpty, "\(errors)")
        await browser.close()
        _ = await server.stop()
    }
}
