public import Testing

/// A browser that tests can drive.
public enum BrowserKind: String, Sendable, CaseIterable, CustomTestStringConvertible {
    /// Through chromedriver.
    case chromium
    /// Through Marionette, the protocol inside Firefox: Debian has no geckodriver.
    case firefox

    public var testDescription: String { rawValue }
}
