// SPDX-License-Identifier: Apache-2.0

extension TrackPlan {
    /// The variants and renditions, by the places of their tracks in the plan.
    var outline: Outline {
        var outline = Outline()
        outline.warnings = withheld.map { .withheld($0) }
        for (place, track) in video.enumerated() { outline.variants.append(variant(place, track)) }
        if video.isEmpty, let first = audio.first {
            var variant = Outline.Variant(name: RenditionName(audio: 0), bandwidth: first.bandwidth)
            variant.codecs = first.codecs
            outline.variants = [variant]
        }
        outline.languages = renditions(audio, "audio") { RenditionName(audio: $0) }
        // no more than one of a group is the default (RFC 8216 §4.3.4.1.1)
        if !audio.isEmpty { outline.languages[0].isDefault = true }
        if isApart { outline.audio = outline.languages }
        for (place, track) in pictures.enumerated() {
            var variant = Outline.Variant(name: RenditionName(video: place, isPictures: true), bandwidth: track.bandwidth)
            // audio that is sent with it elsewhere is not in it
            variant.codecs = track.codecs.flatMap { Self.text(Codecs.list($0).filter(Codecs.isPicture)) } ?? track.codecs
            variant.width = track.width
            variant.height = track.height
            outline.pictures.append(variant)
        }
        outline.texts = renditions(texts, "text") { RenditionName(text: $0) }
        if let place = texts.firstIndex(where: \.isDefault) { outline.texts[place].isDefault = true }
        return outline
    }

    private func variant(_ place: Int, _ track: OfferedTrack) -> Outline.Variant {
        let sound = track.includesAudio ? nil : audio.first
        var variant = Outline.Variant(
            name: RenditionName(video: place, audio: isApart || sound == nil ? nil : 0),
            bandwidth: track.bandwidth + (sound?.bandwidth ?? 0)
        )
        variant.codecs = codecs(of: track)
        variant.width = track.width
        variant.height = track.height
        variant.frameRate = track.frameRate
        variant.hasAudioGroup = isApart && (track.audioGroup != nil || !track.includesAudio)
        return variant
    }

    /// The codecs of a variant, with the audio multiplexed into it.
    private func codecs(of track: OfferedTrack) -> String? {
        guard track.includesAudio else {
            // an unknown codec would look like a missing one
            guard let own = track.codecs else { return nil }
            return Self.text([own] + audio.prefix(1).compactMap(\.codecs))
        }
        // a single audio group is offered: do not declare the audio codecs of another group
        guard isApart, let own = track.codecs, let group = track.audioGroup, group != audio.first?.audioGroup,
            let other = video.first(where: { $0.audioGroup == audio.first?.audioGroup })?.codecs
        else { return track.codecs }
        return Self.text(Codecs.list(own).filter(Codecs.isPicture) + Codecs.list(other).filter { !Codecs.isPicture($0) })
    }

    private static func text(_ codecs: [String]) -> String? { codecs.isEmpty ? nil : codecs.joined(separator: ",") }

    private func renditions(_ tracks: [OfferedTrack], _ kind: String, _ name: (Int) -> RenditionName) -> [Outline.Rendition] {
        var labels: Set<String> = []
        return tracks.enumerated().map { place, track in
            let own = track.label ?? track.language ?? kind
            // players distinguish renditions by name (RFC 8216 §4.3.4.1)
            var (label, number) = (own, 1)
            while !labels.insert(label).inserted {
                number += 1
                label = "\(own) \(number)"
            }
            return Outline.Rendition(name: name(place), label: label, language: track.language)
        }
    }
}
