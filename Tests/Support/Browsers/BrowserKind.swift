// SPDX-License-Identifier: Apache-2.0

import Testing

/// A browser that tests can drive.
package enum BrowserKind: String, Sendable, CaseIterable, CustomTestStringConvertible {
    /// Through chromedriver.
    case chromium
    /// Through Marionette, the protocol inside Firefox: Debian has no geckodriver.
    case firefox

    package var testDescription: String { rawValue }
}
