// SPDX-License-Identifier: Apache-2.0

/// What a browser refused to do, or why it could not be driven.
package struct BrowserError: Error, CustomStringConvertible {
    /// The error code of WebDriver (§6.6), such as `no such element`; `timeout` also for conditions that did not come about, and
    /// `disconnected` when the browser is gone.
    package let code: String
    /// What it said about it.
    package let message: String

    init(_ code: String, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "\(code): \(message)" }
}
