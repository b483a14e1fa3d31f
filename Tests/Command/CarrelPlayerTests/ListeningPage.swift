// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelTesting
import Testing

/// The listening page of the demo title with the most chapters, in a real browser: ready to play, and silent.
struct ListeningPage {
    static let clock = "document.getElementById('audio').currentTime"
    static let isPlaying = "document.body.dataset.state === 'playing'"
    static let isPaused = "document.body.dataset.state === 'paused'"

    let server: DemoServer
    let browser: Browser
    let title: DemoServer.DemoTitle
    private let client = HTTPClient()

    /// - Parameters:
    ///   - kind: the browser.
    ///   - startScript: runs before the page's own scripts.
    ///   - isSignedIn: whether the reader is signed in, not a visitor.
    /// - Throws: when the server or the browser does not start.
    init(_ kind: BrowserKind, startScript: String? = nil, isSignedIn: Bool = false) async throws {
        server = try await DemoServer([])
        browser = try await Browser.start(kind)
        if let startScript { try await browser.addStartScript(startScript) }
        if isSignedIn {
            let link = try await DemoServer.json([
                "account", "sign-in-link", "--home", server.home, "--url", server.url, "demo", "--json",
            ])
            try await browser.open(try #require(link["url"]?.string))
            try await browser.click("form button")
            try await browser.wait(until: "document.getElementById('account')?.textContent.includes('demo')")
        } else {
            try await browser.open("\(server.url)/")
        }
        // Without a sound card Firefox plays only what is silent.
        try await browser.script("localStorage.setItem('carrel.volume', '0')")
        title = try #require(server.titles.max { $0.chapters.count < $1.chapters.count })
        try await browser.open("\(server.url)/listen/\(title.order)")
        try await browser.wait(until: Self.isPaused)
    }

    func play() async throws {
        try await browser.click("#play")
        try await browser.wait(until: "\(Self.isPlaying) && \(Self.clock) > 0.2")
    }

    /// Seconds of the audio's clock.
    func time() async throws -> Double {
        try #require(try await browser.script("return \(Self.clock)").double)
    }

    /// Asks the server itself, without the browser; null where there is nothing.
    func ask(_ path: String) async throws -> JSON {
        let response = try await client.send(ClientRequest(.get, "\(server.url)\(path)"))
        guard response.status == .ok else { return .null }
        let bytes = response.body
        return try JSON.parse(bytes.rawSpan)
    }

    /// Asks until the answer is as wanted, for half a minute.
    func ask(_ path: String, until isRight: (JSON) -> Bool) async throws -> JSON {
        for _ in 0..<600 {
            let answer = try await ask(path)
            if isRight(answer) { return answer }
            try await Task.sleep(for: .milliseconds(50))
        }
        let last = try await ask(path)
        Issue.record("\(path) never became what was wanted: \(last)")
        return last
    }

    func end() async {
        await browser.close()
        _ = await server.stop()
    }
}
