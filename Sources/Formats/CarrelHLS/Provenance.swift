// SPDX-License-Identifier: Apache-2.0

/// The position at which a value was read, carried along with the value: it does not take part in comparisons, so all are equal.
struct Provenance<Place: Sendable>: Sendable, Hashable {
    var place: Place?

    init(_ place: Place? = nil) {
        self.place = place
    }

    static func == (left: Self, right: Self) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}

/// The bytes of a playlist that was read, and how it was read.
final class ParsedPlaylistText: Sendable {
    let bytes: [UInt8]
    let isLenient: Bool

    init(_ bytes: [UInt8], isLenient: Bool) {
        self.bytes = bytes
        self.isLenient = isLenient
    }
}

/// Whole lines of a playlist that was read.
struct PlaylistPassage: Sendable {
    let text: ParsedPlaylistText
    let range: Range<Int>
}
