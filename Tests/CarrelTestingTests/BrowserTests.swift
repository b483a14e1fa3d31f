// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Testing

/// Browsers are heavy: one test at a time.
@Suite(.serialized)
struct `A browser` {
    private static let page = """
        <!doctype html><meta charset=utf-8><title>Pláge</title><style>body{margin:0;height:3000px}</style>
        <label>Name <input id=name></label><button onclick="clicks++">Press</button><p id=out></p>
        <script>var clicks = 0, keys = [];
        addEventListener('keydown', e => keys.push((e.shiftKey ? 'Shift+' : '') + e.key));</script>
        """

    private static func serve(_ page: String) -> LoopbackServer {
        LoopbackServer { connection in
            while let request = connection.readRequest() {
                let isPage = request.target.hasPrefix("/page")
                connection.respond(isPage ? 200 : 404, ["Content-Type: text/html"], body: isPage ? Array(page.utf8) : [])
            }
        }
    }

    @Test(arguments: BrowserKind.allCases)
    func `opens pages, runs scripts in them and uses them as a person does`(kind: BrowserKind) async throws {
        let server = Self.serve(Self.page)
        let browser = try await Browser.start(kind)
        try await browser.open("http://127.0.0.1:\(server.port)/page?x")
        #expect(try await browser.title == "Pláge")
        #expect(try await browser.url == "http://127.0.0.1:\(server.port)/page?x")

        #expect(
            try await browser.script("return {a: [1, 'b', null, 2.5], c: arguments[0]}", "é") == [
                "a": [1, "b", nil, 2.5], "c": "é",
            ]
        )
        #expect(try await browser.script("return new Promise(r => setTimeout(() => r(7), 20))") == 7)
        #expect(try await browser.asyncScript("setTimeout(arguments[1], 20, arguments[0] + 1)", 41) == 42)
        #expect(try await browser.script("return isSecureContext") == true)
        var caught: BrowserError?
        do { try await browser.script("throw new TypeError('no such thing')") } catch let error as BrowserError { caught = error }
        #expect(caught?.code == "javascript error")
        #expect(caught?.message.contains("no such thing") == true)

        try await browser.click("button")
        try await browser.click("button")
        #expect(try await browser.script("return clicks") == 2)
        try await browser.type("Ann\u{E003}a", into: "#name")
        #expect(try await browser.script("return document.querySelector('#name').value") == "Ana")
        try await browser.clear("#name")
        #expect(try await browser.script("return document.querySelector('#name').value") == "")
        try await browser.script("window.keys = []; document.activeElement.blur()")
        try await browser.press("k", BrowserKey.right)
        try await browser.press(BrowserKey.tab, holding: [BrowserKey.shift])
        let keys = try await browser.script("return keys")
        #expect(keys == ["k", "ArrowRight", "Shift+Shift", "Shift+Tab"])

        #expect(try await browser.has("#out"))
        #expect(!(try await browser.has("#nothing")))
        try await browser.script("setTimeout(() => document.querySelector('#out').textContent = 'done', 100)")
        try await browser.wait(until: "document.querySelector('#out').textContent === 'done'")
        #expect(try await browser.text("#out") == "done")
        await #expect(throws: BrowserError.self) { try await browser.click("#nothing") }
        await #expect(throws: BrowserError.self) { try await browser.wait(until: "missing.thing", timeout: .milliseconds(100)) }

        try await browser.open("data:text/html,<title>data</title>")
        #expect(try await browser.title == "data")
        await browser.close()
    }

    @Test(arguments: BrowserKind.allCases)
    func `shows pages in any size, light or dark, and takes pictures of them`(kind: BrowserKind) async throws {
        let server = Self.serve(Self.page)
        let browser = try await Browser.start(kind, BrowserOptions(colorScheme: .dark, reducesMotion: true))
        try await browser.open("http://127.0.0.1:\(server.port)/page")
        for width in [360, 1440] {
            try await browser.setWindowSize(width: width, height: 700)
            #expect(try await browser.script("return [innerWidth, innerHeight]") == [.integer(width), 700])
            let picture = try await browser.screenshot()
            #expect(try size(of: picture) == [width, 700])
            let whole = try await browser.screenshot(wholePage: true)
            let wholeSize = try size(of: whole)
            #expect(wholeSize == [width, 3000])
        }
        #expect(try await browser.script("return matchMedia('(prefers-color-scheme: dark)').matches") == true)
        #expect(try await browser.script("return matchMedia('(prefers-reduced-motion: reduce)').matches") == true)
        await browser.close()
    }

    @Test(arguments: BrowserKind.allCases)
    func `tells what went wrong in a page`(kind: BrowserKind) async throws {
        let server = Self.serve(
            """
            <!doctype html><title>x</title><script>console.log('plain words'); console.error('bad words');</script>
            <script>setTimeout(() => { throw new Error('nobody catches this') })</script><link rel=icon href=data:,>
            """
        )
        let browser = try await Browser.start(kind)
        try await browser.open("http://127.0.0.1:\(server.port)/page")
        var messages: [BrowserMessage] = []
        for _ in 0..<200 where messages.count < 3 {
            messages += try await browser.messages()
            try await Task.sleep(for: .milliseconds(20))
        }
        func has(_ text: String, _ isError: Bool) -> Bool {
            messages.contains { $0.text.contains(text) && $0.isError == isError }
        }
        #expect(has("plain words", false) && has("bad words", true) && has("nobody catches this", true), "\(messages)")
        let again = try await browser.messages().filter { later in messages.contains { $0.text == later.text } }
        #expect(again.isEmpty, "each is told once: \(again)")
        try await browser.open("data:text/html,<title>silent</title>")
        #expect(try await browser.messages().filter(\.isError).isEmpty)
        await browser.close()
    }

    @Test(arguments: BrowserKind.allCases)
    func `plays sound without a gesture and without a sound card`(kind: BrowserKind) async throws {
        let browser = try await Browser.start(kind)
        let directory = TemporaryDirectory()
        let ffmpeg = try requirePeer("ffmpeg")
        try await checkProcess(
            [ffmpeg, "-v", "error", "-f", "lavfi", "-i", "sine=duration=20:sample_rate=8000", "a.wav"],
            directory: directory.path
        )
        let wave = try #require(directory.read("a.wav"))
        let server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                let isWave = request.target == "/a.wav"
                connection.respond(
                    200,
                    ["Content-Type: \(isWave ? "audio/wav" : "text/html")"],
                    body: isWave ? wave : Array("<audio src=/a.wav autoplay>".utf8)
                )
            }
        }
        try await browser.open("http://127.0.0.1:\(server.port)/page")
        try await browser.wait(until: "document.querySelector('audio').currentTime > 0.3", timeout: .seconds(60))
        await browser.close()
    }

    @Test(arguments: BrowserKind.allCases)
    func `reaches a loopback server by a name that is not a secure context`(kind: BrowserKind) async throws {
        let server = Self.serve(Self.page)
        let browser = try await Browser.start(kind, BrowserOptions(loopbackNames: ["library.test"]))
        try await browser.open("http://library.test:\(server.port)/page")
        #expect(try await browser.script("return [location.hostname, isSecureContext]") == ["library.test", false])
        await browser.close()
    }

    @Test(arguments: BrowserKind.allCases)
    func `leaves no process running, closed or released`(kind: BrowserKind) async throws {
        let mark = "carrel-test-"
        try await Browser.start(kind).quit()  // the one that an earlier test closed
        for isClosed in [true, false] {
            let before = try await processes(containing: mark, kind)
            var browser: Browser? = try await Browser.start(kind)
            #expect(try await !processes(containing: mark, kind).subtracting(before).isEmpty)
            if isClosed { await browser?.quit() }
            browser = nil
            var left = try await processes(containing: mark, kind).subtracting(before)
            for _ in 0..<500 where !left.isEmpty {
                try await Task.sleep(for: .milliseconds(20))
                left = try await processes(containing: mark, kind).subtracting(before)
            }
            #expect(left.isEmpty, "\(left)")
        }
    }

    @Test(arguments: BrowserKind.allCases)
    func `that another test closed keeps nothing of it`(kind: BrowserKind) async throws {
        let server = Self.serve(Self.page)
        let page = "http://127.0.0.1:\(server.port)/page"
        let looks =
            "return [document.cookie, String(localStorage.x), innerWidth, innerHeight, history.length < 3, document.hasFocus(), window.mark || 0]"
        // one that the headless browser knows and has not granted by itself
        let name = kind == .chromium ? "clipboard-read" : "geolocation"
        let permission = "return navigator.permissions.query({name: '\(name)'}).then(status => status.state)"
        let first = try await Browser.start(kind)
        try await first.open(page)
        let fresh = try await first.script(looks)
        let state = try await first.script(permission)
        try await first.grant(name)
        #expect(state != "granted")
        #expect(try await first.script(permission) == "granted")
        try await first.script("document.cookie = 'a=b; max-age=1000'; localStorage.x = 1; console.log('words of another test')")
        if kind == .chromium { try await first.addStartScript("window.mark = 1") }
        try await first.setWindowSize(width: 400, height: 300)
        try await first.open("\(page)?again")
        #expect(try await first.script(looks) != fresh)
        await first.close()

        let second = try await Browser.start(kind)
        #expect(second.continues(first))
        try await second.open(page)
        #expect(try await second.script(looks) == fresh)
        #expect(try await second.script(permission) == state)
        #expect(try await !second.messages().contains { $0.text.contains("words of another test") })
        await second.quit()
    }

    /// Processes of this kind of browser that run with a profile of a test.
    private func processes(containing mark: String, _ kind: BrowserKind) async throws -> Set<String> {
        let lines = try await checkProcess(["ps", "-eo", "pid=,stat=,args="]).split(separator: "\n")
        let ours = lines.filter { $0.contains(mark) && $0.contains(kind.rawValue) && !$0.contains("<defunct>") }
        return Set(ours.map { String($0.split(separator: " ")[0]) })
    }

    /// Width and height of a PNG (ISO/IEC 15948 §11.2.2).
    private func size(of picture: [UInt8]) throws -> [Int] {
        var cursor = ByteCursor(picture.rawSpan)
        try #require(picture.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))
        try cursor.skip(16)
        return [Int(try cursor.u32()), Int(try cursor.u32())]
    }
}
