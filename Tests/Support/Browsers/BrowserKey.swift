// SPDX-License-Identifier: Apache-2.0

/// A key that is not a character, by its code point in WebDriver (§17.4.2).
package enum BrowserKey {
    package static let backspace = "\u{E003}"
    package static let tab = "\u{E004}"
    package static let enter = "\u{E007}"
    package static let shift = "\u{E008}"
    package static let control = "\u{E009}"
    package static let escape = "\u{E00C}"
    package static let space = "\u{E00D}"
    package static let pageUp = "\u{E00E}"
    package static let pageDown = "\u{E00F}"
    package static let end = "\u{E010}"
    package static let home = "\u{E011}"
    package static let left = "\u{E012}"
    package static let up = "\u{E013}"
    package static let right = "\u{E014}"
    package static let down = "\u{E015}"
    package static let delete = "\u{E017}"
}
