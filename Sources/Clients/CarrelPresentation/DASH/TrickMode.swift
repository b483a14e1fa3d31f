// SPDX-License-Identifier: Apache-2.0

package import CarrelDASH

/// Adaptation sets of sync pictures alone, for fast play and previews (DASH-IF IOP §3.2.9).
package enum TrickMode {
    private static let scheme = "http://dashif.org/guidelines/trickmode"

    /// The space-separated ids of a trick-mode set's main sets; empty if it names none, nil if the set is for normal playback.
    package static func main(of set: MPDAdaptationSet) -> String? {
        let properties = set.properties.essentialProperties + set.properties.supplementalProperties
        return properties.first { $0.scheme.lowercased() == scheme }.map { $0.value ?? "" }
    }

    /// The ids of the sets that a trick-mode set belongs to, without duplicates; nil if it names none and belongs to all.
    static func ids(in value: String) -> Set<Substring>? {
        let ids = Set(value.split(whereSeparator: \.isWhitespace))
        return ids.isEmpty ? nil : ids
    }

    /// A period without its trick-mode sets, or with these only; indexes are unchanged.
    static func period(_ period: MPDPeriod, isFast: Bool) -> MPDPeriod {
        guard isFast || period.adaptationSets.contains(where: { main(of: $0) != nil }) else { return period }
        var period = period
        for place in period.adaptationSets.indices where (main(of: period.adaptationSets[place]) != nil) != isFast {
            period.adaptationSets[place].representations = []
        }
        return period
    }
}
