import CarrelJSON

/// What carries commands to one browser.
protocol BrowserDriver: Sendable {
    /// Does it, and returns the `value` of the result.
    func perform(_ command: WebDriverCommand) async throws -> JSON
    /// Makes what a page sees as its window exactly this large, in CSS pixels.
    func setViewport(width: Int, height: Int) async throws
    /// Runs a script in every page from now on, before the page's own.
    func addStartScript(_ body: String) async throws
    /// The page from top to bottom as PNG, in base 64.
    func fullScreenshot() async throws -> JSON
    /// What pages wrote to the console, and errors nobody caught, since the last call.
    func messages() async throws -> [BrowserMessage]
    /// Ends the browser.
    func quit() async
}
