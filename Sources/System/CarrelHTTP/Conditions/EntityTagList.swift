// SPDX-License-Identifier: Apache-2.0

/// The value of `If-Match` or `If-None-Match` (RFC 9110 §13.1.1, §13.1.2).
public enum EntityTagList: Sendable, Hashable {
    /// `*`: whatever there is.
    case any
    /// Any of these.
    case tags([EntityTag])

    /// Parses a list of entity tags, or `*`.
    ///
    /// A malformed tag matches nothing.
    ///
    /// - Parameter field: the value of `If-Match` or `If-None-Match`.
    public init(parsing field: String) {
        if field.trimmingASCIISpace() == "*" {
            self = .any
            return
        }
        var tags: [EntityTag] = []
        var current: [UInt8] = []
        var quoted = false
        // A comma may stand inside the quotes.
        for c in field.utf8 + [UInt8(ascii: ",")] {
            if c == UInt8(ascii: ","), !quoted {
                let text = String(decoding: current, as: UTF8.self).trimmingASCIISpace()
                if let tag = EntityTag(parsing: text) { tags.append(tag) }
                current = []
            } else {
                if c == UInt8(ascii: "\"") { quoted.toggle() }
                current.append(c)
            }
        }
        self = .tags(tags)
    }

    /// Whether a tag in the list stands for the same bytes as `tag`; `*` matches whatever exists.
    public func matchesStrongly(_ tag: EntityTag?) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tags.contains { tag?.matchesStrongly($0) == true }
        }
    }

    /// Whether a tag in the list serves the same purpose as `tag`; `*` matches whatever exists.
    public func matchesWeakly(_ tag: EntityTag?) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tags.contains { tag?.matchesWeakly($0) == true }
        }
    }
}
