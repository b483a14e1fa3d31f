// SPDX-License-Identifier: Apache-2.0

/// A right with a limited amount.
///
/// This type alone defines how it is counted.
public struct CountedRight: RawRepresentable, Sendable, Hashable {
    /// The name under which a store keeps it.
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Copying text, in Unicode scalars: a letter with a combining accent is two, whatever the platform calls a character.
    public static let copy = CountedRight(rawValue: "copy")
    /// Printing, in pages of the publication.
    public static let print = CountedRight(rawValue: "print")

    /// The cost of copying a text.
    ///
    /// - Parameter text: the text to copy.
    /// - Returns: the number of Unicode scalars.
    public static func cost(ofCopying text: String) -> Int { text.unicodeScalars.count }
}
