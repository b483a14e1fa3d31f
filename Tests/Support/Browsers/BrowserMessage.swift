// SPDX-License-Identifier: Apache-2.0

/// One line of a page's console, or an uncaught error.
package struct BrowserMessage: Sendable, CustomStringConvertible {
    /// Whether it is an error: uncaught, logged as one, or a resource that could not be loaded or was refused by a policy.
    package let isError: Bool
    /// As the browser writes it.
    package let text: String

    package var description: String { isError ? "error: \(text)" : text }
}
