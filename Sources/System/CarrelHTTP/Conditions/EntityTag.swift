// SPDX-License-Identifier: Apache-2.0

/// An entity tag (RFC 9110 §8.8.3).
public struct EntityTag: Sendable, Hashable, CustomStringConvertible {
    /// The text between the quotes.
    public let opaque: String
    /// Whether it only promises that two representations serve the same purpose, not that they are the same bytes.
    public let isWeak: Bool

    /// A tag of text without quotes, spaces and control characters. Traps when it has one.
    ///
    /// - Parameters:
    ///   - opaque: the text between the quotes.
    ///   - isWeak: true for a weak tag (`W/`).
    public init(_ opaque: String, isWeak: Bool = false) {
        precondition(opaque.utf8.allSatisfy(Self.isAllowed), "an entity tag has a character it cannot have")
        self.opaque = opaque
        self.isWeak = isWeak
    }

    /// Parses an entity tag.
    ///
    /// `"opaque"` or `W/"opaque"`; nil for anything else.
    ///
    /// - Parameter text: the tag.
    public init?(parsing text: some StringProtocol) {
        var remainder = Substring(text).utf8
        isWeak = remainder.starts(with: "W/".utf8)
        if isWeak { remainder.removeFirst(2) }
        guard remainder.count >= 2, remainder.popFirst() == UInt8(ascii: "\""), remainder.popLast() == UInt8(ascii: "\""),
            remainder.allSatisfy(Self.isAllowed)
        else { return nil }
        opaque = String(Substring(remainder))
    }

    /// The tag as sent.
    public var description: String { isWeak ? "W/\"\(opaque)\"" : "\"\(opaque)\"" }

    /// Whether both stand for the same bytes: equal and neither weak.
    ///
    /// - Parameter other: another tag.
    /// - Returns: true if both are strong and equal (RFC 9110 §8.8.3.2).
    public func matchesStrongly(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && opaque == other.opaque
    }

    /// Whether both serve the same purpose.
    ///
    /// - Parameter other: another tag.
    /// - Returns: true if the texts are equal (RFC 9110 §8.8.3.2).
    public func matchesWeakly(_ other: EntityTag) -> Bool {
        opaque == other.opaque
    }

    private static func isAllowed(_ c: UInt8) -> Bool {
        c == 0x21 || (c >= 0x23 && c != 0x7f)
    }
}
