// SPDX-License-Identifier: Apache-2.0

/// The choice of representations from period to period.
package enum MPDSelection {
    /// Finds the representation that continues another in a different period: the one with the same id and kind, or the nearest
    /// of its kind.
    ///
    /// The nearest is in a set of the same language and role, if there is one, has the same codec, and the closest bandwidth.
    /// Ties are resolved in document order.
    ///
    /// - Parameters:
    ///   - representation: the representation that was played.
    ///   - set: its adaptation set.
    ///   - period: the other period.
    /// - Returns: the indexes of adaptation set and representation; nil if the period has none of the kind.
    package static func match(
        _ representation: MPDRepresentation,
        of set: MPDAdaptationSet,
        in period: MPDPeriod
    ) -> (adaptationSet: Int, representation: Int)? {
        let codec = Self.codec(representation, set)
        var best: (rank: (Int, Int, Int, Int, UInt64), position: (Int, Int))?
        for (setIndex, other) in period.adaptationSets.enumerated() where other.kind == set.kind {
            let isOtherLanguage = MPDLanguage.isEqual(other.language, set.language) ? 0 : 1
            let isOtherRole = other.isMain == set.isMain ? 0 : 1
            for (index, candidate) in other.representations.enumerated() {
                let isOtherID = !representation.id.isEmpty && candidate.id == representation.id ? 0 : 1
                let isOtherCodec = Self.codec(candidate, other) == codec ? 0 : 1
                let (a, b) = (candidate.bandwidth, representation.bandwidth)
                let rank = (isOtherID, isOtherCodec, isOtherLanguage, isOtherRole, max(a, b) - min(a, b))
                if best.map({ rank < $0.rank }) ?? true { best = (rank, (setIndex, index)) }
            }
        }
        return best.map { ($0.position.0, $0.position.1) }
    }

    /// The sample entries of the codecs, such as `avc1` of `avc1.64001f`: a decoder switches between equal ones without a
    /// restart.
    private static func codec(_ representation: MPDRepresentation, _ set: MPDAdaptationSet) -> [Substring] {
        let codecs = representation.properties.codecs ?? set.properties.codecs ?? ""
        return codecs.split(separator: ",").map { codec in
            let name = codec.drop { $0 == " " }
            return name[..<(name.firstIndex(of: ".") ?? name.endIndex)]
        }
    }
}

extension MPDAdaptationSet {
    /// Whether it has the role `main` (ISO/IEC 23009-1 §5.8.5.5).
    package var isMain: Bool { roles.contains { $0.scheme == MPDDescriptor.dashRole && $0.value == "main" } }
}

/// Comparison of language tags.
enum MPDLanguage {
    static func isEqual(_ a: String?, _ b: String?) -> Bool { a?.lowercased() == b?.lowercased() }
}
