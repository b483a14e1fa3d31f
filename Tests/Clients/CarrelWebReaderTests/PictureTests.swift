// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelPublication
import CarrelTesting
import Testing

/// Pages of a comic that are larger than the window.
@Suite("The web reader shows all of a large picture")
struct PictureTests {
    private let directory = TemporaryDirectory()
    private var folder: String { directory.file("reader") }

    /// A comic of three pages of 1200 by 1800 pixels.
    private func comic() async throws -> Publication {
        let ffmpeg = try requirePeer("ffmpeg")
        for number in 1...3 {
            try await checkProcess([
                ffmpeg, "-y", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=1200x1800:d=1", "-frames:v", "1",
                directory.file("\(number).png"),
            ])
        }
        let pages = (1...3).map { directory.file("\($0).png") }
        try await checkProcess([try requirePeer("zip"), "-qj0", directory.file("comic.cbz")] + pages)
        return try await Streamer(onAskCredentials: nil)
            .open(asset: PublicationAsset(path: directory.file("comic.cbz")), allowUserInteraction: false)
    }

    private static func isShown(_ number: Int) -> String {
        "document.getElementById('picture')?.src.endsWith('\(number).png') && document.getElementById('picture').complete"
    }

    /// Which part of the picture's height is seen, from 0 to 1, once nothing moves any more.
    private func seen(_ browser: Browser) async throws -> ClosedRange<Double> {
        let found = try await browser.script(
            """
            const view = document.getElementById('page'), picture = document.getElementById('picture');
            const look = (last) => new Promise((done) => setTimeout(done, 120)).then(() => {
              if (last !== view.scrollTop) return look(view.scrollTop);
              const outer = view.getBoundingClientRect(), box = picture.getBoundingClientRect();
              return [Math.max(0, outer.top - box.top) / box.height, Math.min(box.height, outer.bottom - box.top) / box.height];
            });
            return look(view.scrollTop);
            """
        )
        let numbers = try #require(found.array).compactMap(\.double)
        try #require(numbers.count == 2 && numbers[0] <= numbers[1])
        return numbers[0]...numbers[1]
    }

    /// Does something again and again until the next page comes, and fails unless all of this one was seen on the way.
    private func goThrough(_ browser: Browser, _ number: Int, _ how: String, _ act: () async throws -> Void) async throws {
        var last = try await seen(browser)
        #expect(last.lowerBound < 0.001, "\(how): page \(number) begins at its top")
        var steps = 0
        while steps < 20 {
            try await act()
            steps += 1
            // the next page may be there before its picture is
            let page = try await browser.script("return document.getElementById('picture').src").string ?? ""
            if page.hasSuffix("\(number + 1).png") { break }
            let next = try await seen(browser)
            #expect(next.lowerBound <= last.upperBound + 0.001, "\(how): nothing is left out")
            last = next
        }
        #expect(last.upperBound > 0.999, "\(how): page \(number) is seen to its end")
        try await browser.wait(until: Self.isShown(number + 1))
    }

    /// Whether the picture is scrolled to its right side, once nothing moves any more.
    private func isAtRightSide(_ browser: Browser) async throws -> Bool {
        try await browser.script(
            """
            const view = document.getElementById('page');
            const look = (last) => new Promise((done) => setTimeout(done, 120)).then(() => (
              last === view.scrollLeft ? view.scrollLeft + view.clientWidth >= view.scrollWidth - 1 : look(view.scrollLeft)));
            return look(view.scrollLeft);
            """
        ).bool == true
    }

    private func choose(_ browser: Browser, _ fit: String) async throws {
        try await browser.click("#open-look")
        try await browser.script("document.querySelector(`[name=fit][value=${arguments[0]}]`).click()", .string(fit))
        try await browser.wait(until: "document.getElementById('page').dataset.fit === '\(fit)'")
        try await browser.script("document.getElementById('look-sheet').close()")
        try await browser.wait(until: "!document.querySelector('dialog[open]')")
    }

    @Test(arguments: BrowserKind.allCases)
    func `by keys and the wheel, in every size`(kind: BrowserKind) async throws {
        try await ReaderPage.withBrowser(kind: kind, width: 1440, height: 900) { browser in
            try await ReaderPage.with(try await comic(), browser, folder: folder) { page in
                try await browser.wait(until: Self.isShown(1))
                // the whole page at first, not a part of it
                #expect(try await seen(browser) == 0...1)
                #expect(try await browser.text("#progress") == "Page 1 of 3 · 33 %")
                let stage = try await browser.script(
                    """
                    const stage = document.getElementById('stage').getBoundingClientRect(), box = document.getElementById('picture').getBoundingClientRect();
                    return box.top >= stage.top && box.bottom <= stage.bottom && box.left >= stage.left && box.right <= stage.right;
                    """
                )
                #expect(stage.bool == true)
                try await browser.press(BrowserKey.space)
                try await browser.wait(until: Self.isShown(2))
                try await browser.press(BrowserKey.space, holding: [BrowserKey.shift])
                try await browser.wait(until: Self.isShown(1))

                for fit in ["width", "actual"] {
                    try await choose(browser, fit)
                    let width = try await browser.script(
                        "return [document.getElementById('picture').offsetWidth, document.getElementById('page').clientWidth]"
                    )
                    let numbers = try #require(width.array).compactMap(\.int)
                    #expect(fit == "actual" ? numbers.first == 1200 : numbers.first == numbers.last)
                    try await browser.script("document.getElementById('page').scrollTo(0, 0)")
                    try await goThrough(browser, 1, "\(fit), Space") { try await browser.press(BrowserKey.space) }
                    try await goThrough(browser, 2, "\(fit), Page Down") { try await browser.press(BrowserKey.pageDown) }
                    // back to the end of the page before
                    try await browser.press(BrowserKey.pageUp)
                    try await browser.wait(until: Self.isShown(2))
                    #expect(try await seen(browser).upperBound > 0.999)
                    try await browser.press(BrowserKey.left)
                    try await browser.wait(until: Self.isShown(1))
                    try await browser.script("document.getElementById('page').scrollTo(0, 0)")
                    try await goThrough(browser, 1, "\(fit), the wheel") {
                        try await browser.wheel(300, at: (720, 450))
                        // the wheel that reaches the end of a page stops there
                        try await Task.sleep(for: .milliseconds(300))
                    }
                    try await browser.press(BrowserKey.left)
                    try await browser.wait(until: Self.isShown(1))
                    try await browser.script("document.getElementById('page').scrollTo(0, 0)")
                    for _ in 0..<15 { try await browser.press(BrowserKey.down) }
                    #expect(try await seen(browser).upperBound > 0.999, "by the arrow, which turns no page")
                    #expect(try await browser.script("return \(Self.isShown(1))").bool == true)
                }
                // Firefox also writes of its own services
                let errors = try await browser.messages().filter { $0.isError && !$0.text.contains("RSLoader") }
                #expect(errors.isEmpty, "\(errors)")
            }
            // the size is kept
            try await ReaderPage.with(try await comic(), browser, folder: folder) { _ in
                #expect(try await browser.script("return document.getElementById('page').dataset.fit") == "actual")
                try await browser.press("z")
                try await browser.wait(until: "document.getElementById('page').dataset.fit === 'page'")
                #expect(try await browser.text("#said") == "Whole page.")
            }
        }
    }

    @Test func `by a finger, which also turns pages`() async throws {
        try await ReaderPage.withBrowser(width: 360, height: 740) { browser in
            try await ReaderPage.with(try await comic(), browser, folder: folder) { _ in
                try await browser.wait(until: Self.isShown(1))
                try await browser.touch(from: (300, 300), to: (60, 310))
                try await browser.wait(until: Self.isShown(2))
                try await browser.touch(from: (60, 300), to: (300, 310))
                try await browser.wait(until: Self.isShown(1))
                try await choose(browser, "actual")
                try await browser.script("document.getElementById('page').scrollTo(0, 0)")
                for _ in 0..<6 { try await browser.touch(from: (180, 550), to: (180, 150)) }
                #expect(try await seen(browser).upperBound > 0.999)
                // sideways over the picture first, whose edge is reached before its page turns
                var isAtSide = false
                for _ in 0..<12 where !isAtSide {
                    try await browser.touch(from: (330, 300), to: (30, 300))
                    isAtSide = try await isAtRightSide(browser)
                    try #require(try await browser.script("return \(Self.isShown(1))").bool == true, "the page turned too early")
                }
                try #require(isAtSide)
                try await browser.touch(from: (330, 300), to: (30, 300))
                try await browser.wait(until: Self.isShown(2))
            }
        }
    }

    @Test func `and says so when a picture cannot be read`() async throws {
        directory.write("1.png", Array("this is no picture".utf8))
        try await checkProcess([try requirePeer("zip"), "-qj0", directory.file("bad.cbz"), directory.file("1.png")])
        try await ReaderPage.withBrowser { browser in
            let publication = try await Streamer(onAskCredentials: nil)
                .open(asset: PublicationAsset(path: directory.file("bad.cbz")), allowUserInteraction: false)
            try await ReaderPage.with(publication, browser, folder: folder) { _ in
                try await browser.wait(
                    until: "document.getElementById('page').textContent.startsWith('This page cannot be shown')"
                )
            }
        }
    }
}
