// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelPublication
import CarrelWebReader
import CarrelTesting
import Testing

/// Content other than reflowable text: fixed layout, PDF, audio, images.
@Suite("The web reader in Chromium shows")
struct MediaTests {
    private let directory = TemporaryDirectory()
    private var folder: String { directory.file("reader") }

    /// A Readium package unpacked into a folder: a manifest over files.
    private func package(
        _ profile: String,
        _ links: [(name: String, type: String, bytes: [UInt8])],
        _ change: (inout JSONObject) -> Void = { _ in }
    ) async throws -> Publication {
        let order = links.map { JSON.object(["href": .string($0.name), "type": .string($0.type), "title": .string($0.name)]) }
        var manifest: JSONObject = [
            "@context": "https://readium.org/webpub-manifest/context.jsonld",
            "metadata": [
                "title": "A package", "conformsTo": .string("https://readium.org/webpub-manifest/profiles/\(profile)"),
            ],
            "links": [], "readingOrder": .array(order),
        ]
        change(&manifest)
        let zip = try requirePeer("zip")
        try await checkProcess(["mkdir", "package"], directory: directory.path)
        directory.write("package/manifest.json", JSON.object(manifest).write())
        for link in links { directory.write("package/\(link.name)", link.bytes) }
        try await checkProcess([zip, "-qXr0", "../a.webpub", "."], directory: directory.file("package"))
        return try await Streamer(onAskCredentials: nil)
            .open(asset: PublicationAsset(path: directory.file("a.webpub")), allowUserInteraction: false)
    }

    @Test func `pages that their publisher laid out, as large as there is room`() async throws {
        try await ReaderPage.withBrowser { browser in
            var book = TestBook()
            book.isFixed = true
            book.head = "<meta name=\"viewport\" content=\"width=600, height=800\"/>"
            book.chapters = (1...3).map {
                ("page\($0).xhtml", "<p id=\"p\" style=\"position:absolute;left:500px;top:700px\">Page \($0)</p>")
            }
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                let frame = try await browser.script(
                    "const box = document.getElementById('page').getBoundingClientRect(), stage = document.getElementById('stage').getBoundingClientRect(); return [box.height / stage.height, box.width / box.height, innerWidth]"
                )
                let numbers = (frame.array ?? []).compactMap(\.double)
                try #require(numbers.count == 3)
                #expect(abs(numbers[0] - 1) < 0.01 && abs(numbers[1] - 0.75) < 0.01)
                #expect(try await page.inDocument("return innerWidth").int == 600)
                for number in 2...3 {
                    try await browser.click("#later")
                    try await browser.wait(
                        until: "\(ReaderPage.isReady) && document.getElementById('page').src.endsWith('page\(number).xhtml')"
                    )
                    #expect(
                        try await page.inDocument("return document.getElementById('p').textContent").string == "Page \(number)"
                    )
                }
                try await browser.click("#later")
                try await browser.wait(until: "document.getElementById('said').textContent === 'This is the end.'")
                try await page.waitForPlace { $0["href"]?.string == "EPUB/page3.xhtml" }
            }
            try await ReaderPage.with(try await book.open(), browser, folder: folder) { page in
                let text = try await page.inDocument("return document.getElementById('p').textContent").string
                #expect(text == "Page 3")
            }
        }
    }

    @Test func `documents in their own fonts, obscured ones too`() async throws {
        let path = try Fixtures.path("readium/lcp/wasteland-otf-obf.epub")
        try await ReaderPage.withBrowser { browser in
            let publication = try await Streamer(onAskCredentials: nil)
                .open(asset: PublicationAsset(path: path), allowUserInteraction: false)
            try await ReaderPage.with(publication, browser, folder: folder) { page in
                try await page.waitInDocument(until: "[...document.fonts].some((font) => font.status === 'loaded')")
                let failed = try await page.inDocument(
                    "return [...document.fonts].filter((font) => font.status === 'error').length"
                )
                #expect(failed == 0)
            }
        }
    }

    @Test func `audio, and continues where it stopped`() async throws {
        let ffmpeg = try requirePeer("ffmpeg")
        let file = directory.file("tone.mp3")
        try await checkProcess([ffmpeg, "-v", "error", "-f", "lavfi", "-i", "sine=frequency=220:duration=30", file])
        let tone = try #require(directory.read("tone.mp3"))
        try await ReaderPage.withBrowser { browser in
            let publication = try await package("audiobook", [("one.mp3", "audio/mpeg", tone), ("two.mp3", "audio/mpeg", tone)])
            try await ReaderPage.with(publication, browser, folder: folder) { page in
                try await browser.wait(until: "document.getElementById('sound').duration > 29")
                try await browser.click("#later")
                try await browser.wait(
                    until:
                        "document.getElementById('sound').src.endsWith('two.mp3') && document.getElementById('sound').readyState > 0"
                )
                // by ranges: a browser asks for the middle of what it has not
                try await browser.script(
                    "document.getElementById('sound').currentTime = 12.5; document.getElementById('sound').muted = true; return document.getElementById('sound').play()"
                )
                try await browser.wait(until: "document.getElementById('sound').currentTime > 13.8")
                try await browser.script("document.getElementById('sound').pause()")
                try await page.waitForPlace {
                    $0["href"]?.string == "two.mp3" && ($0["locations"]?["progression"]?.double ?? 0) > 0.4
                }
                #expect(try await browser.has("#open-print:not([hidden])"))
            }
            let again = try await Streamer(onAskCredentials: nil)
                .open(asset: PublicationAsset(path: directory.file("a.webpub")), allowUserInteraction: false)
            try await ReaderPage.with(again, browser, folder: folder) { page in
                try await browser.wait(
                    until:
                        "document.getElementById('sound').src.endsWith('two.mp3') && document.getElementById('sound').currentTime > 12.4"
                )
            }
        }
    }

    @Test func `PDF in the viewer of the browser, at an address that sends nothing else`() async throws {
        let document = try Fixtures.bytes("readium/lcp/daisy.pdf")
        let other = Array("<html><script>parent.document.title = 'reached'</script></html>".utf8)
        try await ReaderPage.withBrowser { browser in
            let publication = try await package(
                "pdf",
                [("a.pdf", "application/pdf", document), ("b.pdf", "application/pdf", other)]
            )
            try await ReaderPage.with(publication, browser, folder: folder) { page in
                let source = try #require(try await browser.script("return document.getElementById('page').src").string)
                #expect(source.contains("/document/") && !source.contains(page.control))
                // the viewer is a page of the browser's own inside of the frame
                let deadline = ContinuousClock.now + .seconds(20)
                var isShown = false
                while !isShown, ContinuousClock.now < deadline {
                    isShown = try await browser.inFrame("#page") {
                        try await browser.script(
                            "return document.contentType === 'application/pdf'"
                        ).bool == true
                    }
                    try await Task.sleep(for: .milliseconds(100))
                }
                #expect(isShown)
                try await browser.script(
                    "document.addEventListener('load', ({ target }) => { if (/b[.]pdf/.test(target.src)) window.hasLoaded = true; }, true)"
                )
                try await browser.click("#later")
                try await browser.wait(until: "window.hasLoaded")
                #expect(try await browser.title != "reached")
                let policy = try await browser.asyncScript(
                    "fetch(arguments[0]).then((answer) => arguments[1](answer.headers.get('content-security-policy')))",
                    .string(source)
                )
                #expect(policy.string?.hasPrefix("sandbox allow-scripts; default-src 'self'") == true)
                let answer = try await browser.asyncScript(
                    "fetch(document.getElementById('page').src).then((answer) => arguments[0](answer.status))"
                )
                #expect(answer == 404)
            }
        }
    }

    @Test func `one track after the other at the same speed, and begins where a link says`() async throws {
        let ffmpeg = try requirePeer("ffmpeg")
        let file = directory.file("tone.mp3")
        try await checkProcess([ffmpeg, "-v", "error", "-f", "lavfi", "-i", "sine=frequency=220:duration=30", file])
        let tone = try #require(directory.read("tone.mp3"))
        try await ReaderPage.withBrowser { browser in
            let tracks = (1...3).map { ("\($0).mp3", "audio/mpeg", tone) }
            let publication = try await package("audiobook", tracks) { manifest in
                manifest["toc"] = [
                    ["href": "1.mp3", "title": "One"], ["href": "2.mp3#t=10,20", "title": "Ten seconds of two"],
                    ["href": "3.mp3#t=npt:00:00:12.5", "title": "Three"],
                ]
            }
            try await ReaderPage.with(publication, browser, folder: folder) { page in
                let sound = "document.getElementById('sound')"
                func isShown(_ number: Int) -> String { "\(sound).src.endsWith('\(number).mp3') && \(sound).readyState > 0" }
                try await browser.wait(until: isShown(1))
                try await browser.script(
                    """
                    const speed = document.getElementById('speed');
                    speed.value = '1.5';
                    speed.dispatchEvent(new Event('change'));
                    const sound = document.getElementById('sound');
                    sound.currentTime = sound.duration - 0.6;
                    return sound.play();
                    """
                )
                try await browser.wait(until: "\(isShown(2)) && \(sound).currentTime > 0.3 && !\(sound).paused")
                #expect(
                    try await browser.script("return [\(sound).playbackRate, document.getElementById('speed').value]") == [
                        1.5, "1.5",
                    ]
                )
                #expect(
                    try await browser.script("return \(sound).currentTime").double ?? 99 < 9,
                    "the next track begins at its beginning"
                )
                try await browser.script("\(sound).pause()")
                for (item, number, time) in [(2, 2, 10.0), (3, 3, 12.5)] {
                    try await browser.click("#open-contents")
                    try await browser.click("#contents-list li:nth-child(\(item)) button")
                    try await browser.wait(until: "\(isShown(number)) && \(sound).currentTime === \(time)")
                    #expect(try await browser.script("return \(sound).paused").bool == true, "a link plays nothing by itself")
                }
            }
        }
    }

    @Test func `PDF at the page that was asked for last`() async throws {
        let document = try Fixtures.bytes("readium/lcp/daisy.pdf")
        try await ReaderPage.withBrowser { browser in
            try await ReaderPage.notePlaces(browser)
            let publication = try await package("pdf", [("a.pdf", "application/pdf", document)]) { manifest in
                manifest["toc"] = [["href": "a.pdf", "title": "One"], ["href": "a.pdf#page=3", "title": "Three"]]
            }
            try await ReaderPage.with(publication, browser, folder: folder) { page in
                try await browser.click("#open-contents")
                try await browser.click("#contents-list li:nth-child(2) button")
                try await page.waitForPlace { $0["locations"]?["fragments"]?.array?.first == "page=3" }
                #expect(try await page.sentPlaces().last?["locations"]?["fragments"]?.array?.first == "page=3")
            }
            let again = try await Streamer(onAskCredentials: nil)
                .open(asset: PublicationAsset(path: directory.file("a.webpub")), allowUserInteraction: false)
            try await ReaderPage.with(again, browser, folder: folder) { page in
                #expect(try await browser.script("return document.getElementById('page').src.endsWith('#page=3')") == true)
                // shown again, it is not a new position
                let sent = try await page.sentPlaces()
                #expect(sent.isEmpty)
                #expect(try await page.record()["place"]?["locations"]?["fragments"]?.array?.first == "page=3")
            }
        }
    }

    @Test func `pictures`() async throws {
        let ffmpeg = try requirePeer("ffmpeg")
        try await checkProcess([
            ffmpeg, "-v", "error", "-f", "lavfi", "-i", "color=c=red:s=40x60:d=1", "-frames:v", "1", directory.file("red.png"),
        ])
        let red = try #require(directory.read("red.png"))
        try await ReaderPage.withBrowser { browser in
            let pages = [("1.png", "image/png", red), ("2.png", "image/png", red), ("3.png", "image/png", red)]
            let publication = try await package("divina", pages) { manifest in
                manifest["metadata"] = ["title": "From the right", "readingProgression": "rtl"]
            }
            try await ReaderPage.with(publication, browser, folder: folder) { page in
                try await browser.wait(until: "document.getElementById('picture').naturalWidth === 40")
                let isDisabled = "return ['earlier', 'later'].map((id) => document.getElementById(id).disabled)"
                #expect(try await browser.script(isDisabled) == [true, false])
                try await browser.press(BrowserKey.left)
                try await browser.wait(
                    until:
                        "document.getElementById('picture').src.endsWith('2.png') && document.getElementById('picture').complete"
                )
                try await page.waitForPlace { $0["href"]?.string == "2.png" }
                try await browser.click("#later")
                try await browser.wait(until: "document.getElementById('picture').src.endsWith('3.png')")
                #expect(try await browser.script(isDisabled) == [false, true])
                try await browser.press(BrowserKey.right)
                try await browser.wait(until: "document.getElementById('picture').src.endsWith('2.png')")
            }
        }
    }
}
