// SPDX-License-Identifier: Apache-2.0

/// A failed command of a browser, or of its driver.
package struct BrowserError: Error, CustomStringConvertible {
    /// The error code of WebDriver (§6.6), such as `no such element`; `timeout` also for conditions that did not come about, and
    /// `disconnected` when the browser is gone.
    package let code: String
    /// The browser's message.
    package let message: String

    init(_ code: String, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "\(code): \(message)" }
}
