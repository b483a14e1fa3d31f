// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelJSON

/// A headless browser without any data, driven by WebDriver commands. It ends with the value, or with the test run.
///
/// It works as root, plays media without a user's gesture and sends nothing home. One call at a time.
package final class Browser: Sendable {
    let driver: any BrowserDriver
    /// Which one it is.
    package let kind: BrowserKind
    private let options: BrowserOptions

    private init(_ kind: BrowserKind, _ driver: any BrowserDriver, _ options: BrowserOptions) {
        self.kind = kind
        self.driver = driver
        self.options = options
    }

    /// Starts a browser, or takes one that another test closed: with a fresh tab, and without that test's cookies, storage, cache
    /// and permissions. When it is not installed the test is skipped and says so.
    ///
    /// - Parameters:
    ///   - kind: which one.
    ///   - options: how.
    /// - Returns: the browser with an empty page.
    /// - Throws: what skips the test, ``BrowserError`` or ``ProcessError``.
    package static func start(_ kind: BrowserKind, _ options: BrowserOptions = BrowserOptions()) async throws -> Browser {
        if let kept = await IdleBrowsers.take(kind, options) { return Browser(kind, kept, options) }
        let driver: any BrowserDriver =
            switch kind {
            case .chromium: try await ChromeDriver.start(options)
            case .firefox: try await Marionette.start(options)
            }
        _ = try await driver.perform(.setTimeouts(milliseconds: 60_000))
        return Browser(kind, driver, options)
    }

    /// Leaves the page, and keeps the browser for the next test. A test that does not come here, because it failed, ends the
    /// browser.
    package func close() async {
        await IdleBrowsers.keep(driver, kind, options)
    }

    /// Ends it and waits until its processes are gone.
    package func quit() async {
        await driver.quit()
    }

    /// Whether it is the same program that another value drove before.
    package func continues(_ other: Browser) -> Bool { driver === other.driver }

    // MARK: - pages

    /// Goes to a URL and waits until the page has loaded.
    package func open(_ url: String) async throws {
        _ = try await driver.perform(.navigate(url))
    }

    /// Loads the page again and waits until it has.
    package func reload() async throws {
        _ = try await driver.perform(.refresh)
    }

    /// The page's URL.
    package var url: String {
        get async throws { try await driver.perform(.currentURL).string ?? "" }
    }

    /// The page's title.
    package var title: String {
        get async throws { try await driver.perform(.title).string ?? "" }
    }

    // MARK: - scripts

    /// Runs the body of a function in the page and returns what it returns; a promise is awaited.
    ///
    /// - Parameters:
    ///   - body: such as `return document.title`. It assigns to the page's variables as `window.name`: a bare name stays its own
    ///     in Firefox.
    ///   - arguments: what it finds in `arguments`.
    /// - Returns: the result; null where there is none.
    /// - Throws: ``BrowserError`` with `javascript error` when it throws.
    @discardableResult
    package func script(_ body: String, _ arguments: JSON...) async throws -> JSON {
        try await driver.perform(.execute(body, arguments))
    }

    /// Runs the body of a function in the page and waits until it calls its last argument.
    ///
    /// - Parameters:
    ///   - body: such as `setTimeout(arguments[0], 100)`.
    ///   - arguments: what it finds in `arguments` before that function.
    /// - Returns: what it called it with.
    /// - Throws: ``BrowserError`` with `javascript error` when it throws, `script timeout` after 60 s.
    @discardableResult
    package func asyncScript(_ body: String, _ arguments: JSON...) async throws -> JSON {
        try await driver.perform(.executeAsync(body, arguments))
    }

    /// Waits until a JavaScript expression is true in the page, looking some twenty times a second.
    ///
    /// - Parameters:
    ///   - expression: such as `document.querySelector('audio').currentTime > 3`. While it throws it is not true.
    ///   - timeout: how long.
    /// - Throws: ``BrowserError`` with `timeout`.
    package func wait(until expression: String, timeout: Duration = .seconds(30)) async throws {
        let deadline = ContinuousClock.now + timeout
        var last = ""
        while true {
            do {
                let value = try await script("return !!(\(expression))")
                if value.bool == true { return }
                last = ""
            } catch let error as BrowserError where error.code == "javascript error" {
                last = ", and it threw: \(error.message)"
            }
            guard ContinuousClock.now < deadline else {
                throw BrowserError("timeout", "\(expression) was not true within \(timeout)\(last)")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Does something inside a frame of the page, as if the document in it were the page; then everything is in the page again.
    ///
    /// - Parameters:
    ///   - selector: the frame's selector.
    ///   - body: what is done there.
    /// - Returns: what `body` returns.
    /// - Throws: ``BrowserError``, or what `body` throws.
    package func inFrame<Result>(_ selector: String, _ body: () async throws -> Result) async throws -> Result {
        _ = try await driver.perform(.switchToFrame(find(selector)))
        do {
            let result = try await body()
            _ = try await driver.perform(.switchToFrame(nil))
            return result
        } catch {
            _ = try await driver.perform(.switchToFrame(nil))
            throw error
        }
    }

    // MARK: - elements

    /// Whether the page has an element that a CSS selector selects.
    package func has(_ selector: String) async throws -> Bool {
        try await script("return document.querySelector(arguments[0]) !== null", .string(selector)).bool == true
    }

    /// The text of the first element selected, as displayed.
    package func text(_ selector: String) async throws -> String {
        try await script("return document.querySelector(arguments[0]).innerText", .string(selector)).string ?? ""
    }

    /// Scrolls the first element selected into view and clicks it as a user would; one that another covers cannot be clicked.
    package func click(_ selector: String) async throws {
        _ = try await driver.perform(.click(find(selector)))
    }

    /// Focuses the first element selected and types into it; ``BrowserKey`` has the keys that are not characters.
    package func type(_ text: String, into selector: String) async throws {
        _ = try await driver.perform(.sendKeys(find(selector), text))
    }

    /// Empties the first element selected.
    package func clear(_ selector: String) async throws {
        _ = try await driver.perform(.clear(find(selector)))
    }

    /// Presses and releases keys one after another where the focus is; those in `holding` are down meanwhile.
    package func press(_ keys: String..., holding: [String] = []) async throws {
        func action(_ kind: String, _ key: String) -> JSON { ["type": .string(kind), "value": .string(key)] }
        let strokes = keys.flatMap { [action("keyDown", $0), action("keyUp", $0)] }
        let all = holding.map { action("keyDown", $0) } + strokes + holding.reversed().map { action("keyUp", $0) }
        let keyboard: JSON = ["type": "key", "id": "keyboard", "actions": .array(all)]
        _ = try await driver.perform(.perform([keyboard]))
    }

    private func find(_ selector: String) async throws -> String {
        let found = try await driver.perform(.find(selector))
        guard let id = found["element-6066-11e4-a52e-4f735466cecf"]?.string else {
            throw BrowserError("no such element", "the browser found \(selector) and did not say where")
        }
        return id
    }

    // MARK: - looks

    /// A screenshot as PNG.
    ///
    /// - Parameter isWhole: the page from top to bottom instead of the window.
    /// - Returns: the file's bytes.
    /// - Throws: ``BrowserError``.
    package func screenshot(wholePage isWhole: Bool = false) async throws -> [UInt8] {
        let value = try await isWhole ? driver.fullScreenshot() : driver.perform(.screenshot)
        guard let bytes = Self.bytes(value) else {
            throw BrowserError("unable to capture screen", "the screenshot is not base 64")
        }
        return bytes
    }

    /// The printed page, with print media emulated, as PDF.
    ///
    /// - Parameters:
    ///   - width: the width of the paper without margins, in CSS pixels.
    ///   - height: the height of the paper without margins, in CSS pixels.
    /// - Returns: the file's bytes.
    /// - Throws: ``BrowserError``.
    package func printed(width: Int, height: Int) async throws -> [UInt8] {
        let centimeters = 2.54 / 96
        let value = try await driver.perform(
            .print(widthInCentimeters: Double(width) * centimeters, height: Double(height) * centimeters)
        )
        guard let bytes = Self.bytes(value) else { throw BrowserError("unable to print", "the document is not base 64") }
        return bytes
    }

    /// Decodes standard base 64; nil if empty or invalid.
    private static func bytes(_ value: JSON) -> [UInt8]? {
        let text = (value.string ?? "").filter { $0 != "=" }.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }
        return Base64URL.decode(String(text)).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Lets the page do what a user would be asked about, such as `clipboard-read`.
    package func grant(_ permission: String) async throws {
        _ = try await driver.perform(.grant(permission))
    }

    /// Runs a script in every page opened from now on, before the page's own; Chromium only.
    package func addStartScript(_ body: String) async throws {
        try await driver.addStartScript(body)
    }

    /// Makes what a page sees as its window exactly this large, in CSS pixels.
    package func setWindowSize(width: Int, height: Int) async throws {
        try await driver.setViewport(width: width, height: height)
    }

    /// Console messages and uncaught errors of pages since the last call.
    package func messages() async throws -> [BrowserMessage] {
        try await driver.messages()
    }
}
