// SPDX-License-Identifier: Apache-2.0

/// A violation of the specification whose meaning is unambiguous, so that a reader can tolerate it.
package struct PlaylistWarning: Sendable, Hashable {
    /// The kind of breach.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        case byteOrderMark = "byte-order-mark"
        case notUTF8 = "not-utf-8"
        case blank = "blank"
        case versionTooLow = "version-too-low"
        case versionInvalid = "version-invalid"
        case missingComma = "missing-comma"
        case durationAboveTarget = "duration-above-target"
        case durationMissing = "duration-missing"
        case durationRepeated = "duration-repeated"
        case targetDurationMissing = "target-duration-missing"
        case tagRepeated = "tag-repeated"
        case tagInvalid = "tag-invalid"
        case quotation = "quotation"
        case keyNone = "key-none"
        case vectorPrefix = "vector-prefix"
        case discontinuitySequenceLate = "discontinuity-sequence-late"
        case segmentIncomplete = "segment-incomplete"
        case variableUnknown = "variable-unknown"
        case variableRepeated = "variable-repeated"
        case entryIncomplete = "entry-incomplete"
        case entryRepeated = "entry-repeated"
    }

    package let code: Code
    /// A lower-case sentence without a period.
    package let message: String
    /// The first byte of the first line concerned.
    package let offset: Int
    /// The number of lines concerned.
    package var count = 1
}

/// How strictly a playlist is read.
package enum PlaylistStrictness: Sendable, Hashable {
    /// Every breach of a MUST is refused, but for a byte order mark.
    case strict
    /// A breach after which the meaning is still plain becomes a warning.
    case lenient
}

/// The warnings of one reading: one of each kind, however many lines it concerns.
struct PlaylistWarnings {
    let strictness: PlaylistStrictness
    private(set) var list: [PlaylistWarning] = []

    init(_ strictness: PlaylistStrictness) {
        self.strictness = strictness
    }

    var isLenient: Bool { strictness == .lenient }

    mutating func note(_ code: PlaylistWarning.Code, _ message: String, at offset: Int) {
        if let index = list.firstIndex(where: { $0.code == code && $0.message == message }) {
            list[index].count += 1
        } else {
            list.append(PlaylistWarning(code: code, message: message, offset: offset))
        }
    }
}
