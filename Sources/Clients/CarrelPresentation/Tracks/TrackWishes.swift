// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaSource
import CarrelTimedText

/// The input of track selection: the preferences of the caller, the codecs of the player, and the segment format.
struct TrackWishes: Sendable {
    var videoTrack = MediaSourceParameters.TrackSelector.any
    var audioTrack = MediaSourceParameters.TrackSelector.any
    /// The language of audio that is preferred (BCP 47).
    var language: String?
    /// Codecs that the player has; none for all.
    var videoCodecs: [String] = []
    var audioCodecs: [String] = []
    var output = ProxyOptions.Output.transportStream
    /// Whether segments may be fragments if transport streams cannot carry the tracks.
    var allowsFragments = false
    /// Whether audio is served as separate renditions.
    var demuxesAudio = false
    /// Whether there are playlists of sync pictures.
    var hasPictureLists = false
    /// The tracks that the license withholds, with the reasons, by their kind and place.
    var withheld: [OfferedTrack.Kind: [Int: String]] = [:]

    /// The first codec of a track that the player does not support; nil if it supports all, or its codecs are unknown.
    func missingCodec(_ codecs: String?) -> String? {
        guard let codecs else { return nil }
        return Codecs.list(codecs).first { codec in
            let known = Codecs.isPicture(codec) ? videoCodecs : audioCodecs
            return !Codecs.isText(codec) && !known.isEmpty && !known.contains { Codecs.isSame($0, codec) }
        }
    }

    /// Why the license withholds a track; nil if it does not.
    func reason(toWithhold track: OfferedTrack) -> String? { withheld[track.kind]?[track.place] }

    /// The rank of a track's language: 0 is best; all are equal without a preference.
    func rank(ofLanguage language: String?) -> Int {
        guard let wanted = self.language else { return 0 }
        return language.flatMap { LanguageTag.rank(of: $0, preferred: wanted) } ?? LanguageTag.ranks
    }
}

extension MediaSourceParameters.TrackSelector {
    /// Returns the tracks that a caller selects.
    ///
    /// - Parameters:
    ///   - all: the tracks of one kind.
    ///   - kind: the kind, as named in errors.
    /// - Returns: the tracks.
    /// - Throws: `proxy.usage` if no track matches.
    func choose(of all: [OfferedTrack], _ kind: OfferedTrack.Kind) throws(ProxyError) -> [OfferedTrack] {
        let chosen: [OfferedTrack]
        let name: String
        switch self {
        case .any: return all
        case .index(let index):
            chosen = all.filter { $0.place == index }
            name = "\(index)"
        case .id(let id):
            chosen = all.filter { $0.ids.contains(id) }
            name = "'\(id)'"
        }
        guard !chosen.isEmpty else { throw ProxyError(.usage, "the source has no \(kind.rawValue) track \(name)") }
        return chosen
    }
}
