// SPDX-License-Identifier: Apache-2.0

/// How a browser is started.
package struct BrowserOptions: Sendable, Equatable {
    /// The value of `prefers-color-scheme`.
    package enum ColorScheme: String, Sendable {
        case light
        case dark
    }

    package var colorScheme: ColorScheme
    /// Whether `prefers-reduced-motion` is set.
    package var reducesMotion: Bool
    /// Host names that lead to 127.0.0.1. Unlike `localhost` they are not a secure context over plain HTTP.
    package var loopbackNames: [String]
    /// Whether untrusted certificates are accepted.
    package var acceptsAnyCertificate: Bool
    /// Whether the machine seems to have nothing to play sound through. Firefox only.
    package var lacksSound: Bool

    /// Whether frames without an origin stay in the process of their page: the driver prints no others. Chromium only.
    package var keepsFramesInProcess = false

    package init(
        colorScheme: ColorScheme = .light,
        reducesMotion: Bool = false,
        loopbackNames: [String] = [],
        acceptsAnyCertificate: Bool = false,
        lacksSound: Bool = false
    ) {
        self.colorScheme = colorScheme
        self.reducesMotion = reducesMotion
        self.loopbackNames = loopbackNames
        self.acceptsAnyCertificate = acceptsAnyCertificate
        self.lacksSound = lacksSound
    }

    /// Whether a browser that runs with these options can switch to others: Chromium can change colors and motion later.
    func startsLike(_ other: BrowserOptions, _ kind: BrowserKind) -> Bool {
        guard kind == .chromium else { return self == other }
        var same = other
        same.colorScheme = colorScheme
        same.reducesMotion = reducesMotion
        return self == same
    }
}
