// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// A set of pictures that may be referred to (`st_ref_pic_set`, ISO/IEC 23008-2 §7.3.7, §7.4.8).
struct HEVCReferenceSet: Sendable {
    private struct Picture: Sendable {
        var delta: Int
        var isUsed: Bool
    }
    /// Pictures before the current one, nearest first; the array below has the pictures after it.
    private var before: [Picture] = []
    private var after: [Picture] = []

    /// Pictures that the current one uses.
    var used: Int { (before + after).count { $0.isUsed } }

    /// Pictures of a list, at most.
    private static let limit = 16

    /// - Parameters:
    ///   - bits: the set.
    ///   - sets: the preceding sets in the sequence parameter set.
    ///   - isInSlice: whether it is in a slice header, which may refer to any of them.
    /// - Throws: `Malformed`, and read errors.
    init(_ bits: inout ParameterBits, after sets: [HEVCReferenceSet], isInSlice: Bool) throws(Malformed) {
        if !sets.isEmpty, try bits.flag("reference set prediction") {
            let distance = isInSlice ? 1 + (try bits.unsigned("reference set distance", limit: sets.count - 1)) : 1
            try readPredicted(&bits, from: sets[sets.count - distance])
            return
        }
        let counts = [
            try bits.unsigned("pictures before", limit: Self.limit), try bits.unsigned("pictures after", limit: Self.limit),
        ]
        for list in 0...1 {
            var delta = 0
            for _ in 0..<counts[list] {
                let step = 1 + (try bits.unsigned("picture order step", limit: 32_767))
                delta += list == 0 ? -step : step
                let picture = Picture(delta: delta, isUsed: try bits.flag("picture is used"))
                if list == 0 { before.append(picture) } else { after.append(picture) }
            }
        }
    }

    private mutating func readPredicted(_ bits: inout ParameterBits, from set: HEVCReferenceSet) throws(Malformed) {
        let isNegative = try bits.flag("picture order sign")
        let size = 1 + (try bits.unsigned("picture order step", limit: 32_767))
        let shift = isNegative ? -size : size
        // the pictures of the other set in its order, followed by that set's own picture
        let others = set.before + set.after + [Picture(delta: 0, isUsed: true)]
        var pictures: [Picture] = []
        for other in others {
            let isUsed = try bits.flag("picture is used")
            let isKept = isUsed ? true : try bits.flag("picture is kept")
            if isKept { pictures.append(Picture(delta: other.delta + shift, isUsed: isUsed)) }
        }
        before = pictures.filter { $0.delta < 0 }
        after = pictures.filter { $0.delta > 0 }
        guard before.count <= Self.limit, after.count <= Self.limit else {
            throw Malformed("reference set has too many pictures", at: bits.position / 8)
        }
        before.sort { $0.delta > $1.delta }
        after.sort { $0.delta < $1.delta }
    }
}
