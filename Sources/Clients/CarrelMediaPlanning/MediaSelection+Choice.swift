// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource
import CarrelTimedText

extension MediaSelection {
    /// The index of the variant that is saved: the lowest with enough bits, otherwise the highest.
    ///
    /// - Parameter bandwidths: of all variants, in bits a second.
    /// - Returns: nil if there are none.
    func variant(_ bandwidths: [Int]) -> Int? {
        let enough = bandwidths.indices.filter { bandwidths[$0] >= bitrate }
        return enough.min { bandwidths[$0] < bandwidths[$1] } ?? bandwidths.indices.max { bandwidths[$0] < bandwidths[$1] }
    }
}

extension MediaSelection.Languages {
    /// The indexes of the renditions of one group that are saved.
    ///
    /// - Parameters:
    ///   - renditions: the renditions.
    ///   - kind: the kind, as errors name it.
    ///   - isNeeded: whether one is saved even if none is a default, because nothing could be heard without it.
    /// - Returns: the indexes in order.
    /// - Throws: `proxy.usage` if a chosen language is absent.
    func choose(
        of renditions: [MediaChoices.Rendition],
        _ kind: String,
        isNeeded: Bool
    ) throws(ProxyError) -> [Int] {
        switch self {
        case .none: return []
        case .all: return Array(renditions.indices)
        case .defaults:
            let defaults = renditions.indices.filter { renditions[$0].isDefault }
            return defaults.isEmpty && isNeeded ? Array(renditions.indices.prefix(1)) : defaults
        case .chosen(let languages):
            var chosen: Set<Int> = []
            for language in languages {
                let matches = renditions.indices.filter { place in
                    renditions[place].language.map { LanguageTag.rank(of: $0, preferred: language) != nil } ?? false
                }
                guard !matches.isEmpty else { throw Self.absent(language, renditions, kind) }
                let best = matches.map { rank(renditions[$0], language) }.min()
                chosen.formUnion(matches.filter { rank(renditions[$0], language) == best })
            }
            return chosen.sorted()
        }
    }

    private func rank(_ rendition: MediaChoices.Rendition, _ language: String) -> Int {
        rendition.language.flatMap { LanguageTag.rank(of: $0, preferred: language) } ?? LanguageTag.ranks
    }

    private static func absent(_ language: String, _ renditions: [MediaChoices.Rendition], _ kind: String) -> ProxyError {
        let known = Set(renditions.compactMap(\.language)).sorted().prefix(32).joined(separator: ", ")
        let shown = String(language.prefix(64))
        return ProxyError(
            .usage,
            known.isEmpty
                ? "the source has no \(kind) in '\(shown)': the language of its \(kind) is not known"
                : "the source has no \(kind) in '\(shown)': it has \(known)",
            recommendation: "Choose a language that the source has."
        )
    }
}
