// SPDX-License-Identifier: Apache-2.0

/// The place where a value was read, carried along beside it: no part of the value, so that all are equal.
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
