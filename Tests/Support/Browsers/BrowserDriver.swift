// SPDX-License-Identifier: Apache-2.0

import CarrelJSON

/// A connection that sends commands to one browser.
protocol BrowserDriver: AnyObject, Sendable {
    /// Does it, and returns the `value` of the result.
    func perform(_ command: WebDriverCommand) async throws -> JSON
    /// Makes what a page sees as its window exactly this large, in CSS pixels.
    func setViewport(width: Int, height: Int) async throws
    /// Runs a script in every page from now on, before the page's own.
    func addStartScript(_ body: String) async throws
    /// The page from top to bottom as PNG, in base 64.
    func fullScreenshot() async throws -> JSON
    /// Console messages and uncaught errors of pages since the last call.
    func messages() async throws -> [BrowserMessage]
    /// Closes the page, with all that it does, and opens a fresh tab.
    ///
    /// - Throws: ``BrowserError``, also if the browser is not to be used again.
    func leavePage() async throws
    /// Deletes cookies, storage, cache, granted permissions and what pages logged, and shows the tab in its first size and as
    /// these options say.
    func clearData(_ options: BrowserOptions) async throws
    /// Ends the browser.
    func quit() async
}

extension BrowserDriver {
    /// Opens a tab and closes the one before.
    func openFreshTab() async throws {
        guard let tab = try await perform(.newTab)["handle"]?.string else {
            throw BrowserError("no such window", "the browser opened a tab and did not say which")
        }
        _ = try await perform(.closeWindow)
        _ = try await perform(.switchToWindow(tab))
    }
}
