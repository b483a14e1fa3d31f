/// The choice of adaptation sets of a period, and of representations from period to period.
package struct MPDSelection: Sendable {
    /// Languages of the user in the order of preference (RFC 5646).
    package var languages: [String]
    /// Tells whether the caller plays a representation by its media type and codecs.
    package var canPlay: @Sendable (_ mimeType: String?, _ codecs: String?) -> Bool

    package init(languages: [String] = [], canPlay: @escaping @Sendable (_ mimeType: String?, _ codecs: String?) -> Bool) {
        self.languages = languages
        self.canPlay = canPlay
    }

    /// The sets of one kind, the best first: those with the role `main`, then those with a representation that the caller plays, then,
    /// of audio, by language. Sets that are alike in this keep the order of the MPD.
    ///
    /// - Parameters:
    ///   - kind: `video`, `audio` or `text`.
    ///   - period: the period.
    /// - Returns: places of adaptation sets with representations.
    package func sets(of kind: String, in period: MPDPeriod) -> [Int] {
        var ranked: [(place: Int, rank: (Int, Int, Int))] = []
        for (place, set) in period.adaptationSets.enumerated() where set.kind == kind && !set.representations.isEmpty {
            let hasPlayed = set.representations.contains { isPlayed($0, of: set) }
            let language = kind == "audio" ? rank(ofLanguage: set.language) : 0
            ranked.append((place, (set.isMain ? 0 : 1, hasPlayed ? 0 : 1, language)))
        }
        ranked.sort { $0.rank == $1.rank ? $0.place < $1.place : $0.rank < $1.rank }
        return ranked.map(\.place)
    }

    /// The representations of a set that the caller plays, by bandwidth.
    package func representations(of set: MPDAdaptationSet) -> [Int] {
        set.representations.indices.filter { isPlayed(set.representations[$0], of: set) }.sorted { a, b in
            let (left, right) = (set.representations[a].bandwidth, set.representations[b].bandwidth)
            return left == right ? a < b : left < right
        }
    }

    private func isPlayed(_ representation: MPDRepresentation, of set: MPDAdaptationSet) -> Bool {
        canPlay(
            representation.properties.mimeType ?? set.properties.mimeType,
            representation.properties.codecs ?? set.properties.codecs
        )
    }

    /// The place of the first language of the user that a tag has; behind all of them where none does, and one more without a tag.
    private func rank(ofLanguage tag: String?) -> Int {
        guard let tag else { return languages.count + 1 }
        return languages.firstIndex { MPDLanguage.matches(tag, range: $0) } ?? languages.count
    }

    /// The representation of another period that goes on with one: that of the same id and kind; or the nearest of its kind.
    ///
    /// The nearest is in a set of the same language and role, as far as there is one, has the same codec, and has the bandwidth that
    /// differs least. Of equals the first one counts.
    ///
    /// - Parameters:
    ///   - representation: the representation that was played.
    ///   - set: its adaptation set.
    ///   - period: the other period.
    /// - Returns: places of adaptation set and representation; nil where the period has none of the kind.
    package static func match(
        _ representation: MPDRepresentation,
        of set: MPDAdaptationSet,
        in period: MPDPeriod
    ) -> (adaptationSet: Int, representation: Int)? {
        let codec = Self.codec(representation, set)
        var best: (rank: (Int, Int, Int, Int, UInt64), place: (Int, Int))?
        for (setPlace, other) in period.adaptationSets.enumerated() where other.kind == set.kind {
            let isOtherLanguage = MPDLanguage.isEqual(other.language, set.language) ? 0 : 1
            let isOtherRole = other.isMain == set.isMain ? 0 : 1
            for (place, candidate) in other.representations.enumerated() {
                let isOtherID = !representation.id.isEmpty && candidate.id == representation.id ? 0 : 1
                let isOtherCodec = Self.codec(candidate, other) == codec ? 0 : 1
                let (a, b) = (candidate.bandwidth, representation.bandwidth)
                let rank = (isOtherID, isOtherCodec, isOtherLanguage, isOtherRole, max(a, b) - min(a, b))
                if best.map({ rank < $0.rank }) ?? true { best = (rank, (setPlace, place)) }
            }
        }
        return best.map { ($0.place.0, $0.place.1) }
    }

    /// The sample entries of the codecs, such as `avc1` of `avc1.64001f`: those between which a decoder changes without a new one.
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
    /// Basic filtering (RFC 4647 §3.3.1): equal without case, or longer by subtags.
    static func matches(_ tag: String, range: String) -> Bool {
        if range == "*" { return true }
        let (tag, range) = (tag.lowercased(), range.lowercased())
        return tag == range || tag.hasPrefix(range + "-")
    }

    static func isEqual(_ a: String?, _ b: String?) -> Bool { a?.lowercased() == b?.lowercased() }
}
