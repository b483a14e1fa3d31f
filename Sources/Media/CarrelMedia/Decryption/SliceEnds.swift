// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Judges a key by the last bytes of slices, which are encrypted even if the headers of slices are clear.
///
/// A slice of H.264 and H.265 ends with a stop bit and zeros up to the next byte (`rbsp_slice_segment_trailing_bits`, ITU-T H.264
/// §7.3.2.10, H.265 §7.3.2.11). The length of the coded data is arbitrary, so the places of the stop bit are equally frequent. In random
/// bytes, a place is half as frequent as the place after it. The last place is not counted: x264 favors it. The score sums the logarithms
/// of both frequencies.
struct SliceEnds: Sendable {
    /// Eighths of a bit of evidence that the key is right; negative values are evidence that it is wrong.
    private var score = 0
    private var remaining = 512
    /// The ends of the last slices: still pictures repeat them, and a repetition adds no evidence.
    private var recent: [UInt64] = []

    /// The score that one right key in sixteen million has.
    private static let wrong = -24 * 8
    private static let right = KeyEvidence.certainty * 8
    /// Bytes of a slice that has more in it than skipped blocks.
    private static let shortest = 64
    private static let recentLimit = 32

    /// Whether more slices are looked at.
    var isOpen: Bool { remaining > 0 && score < Self.right }
    /// Whether the key is right.
    var isVerified: Bool { score >= Self.right }
    /// Whether the key is wrong.
    var isWrong: Bool { score <= Self.wrong }

    /// Counts a slice whose last byte was encrypted.
    mutating func add(_ slice: RawSpan) {
        let count = slice.byteCount
        guard isOpen, count >= Self.shortest else { return }
        let last = slice.u8(at: count - 1)
        // zeros after the slice hide its end, and so does filling (`cabac_zero_words`), which ends with a set bit
        guard last != 0, last & 1 == 0 else { return }
        let end = slice.u64(at: count - 8)
        guard !recent.contains(end) else { return }
        if recent.count == Self.recentLimit { recent.removeFirst() }
        recent.append(end)
        remaining -= 1
        // log2(1/7) is the frequency of each of seven places, and -place the frequency in random bytes
        score += 8 * last.trailingZeroBitCount - 22
    }
}
