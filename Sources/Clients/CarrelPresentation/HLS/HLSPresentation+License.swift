// SPDX-License-Identifier: Apache-2.0

import CarrelHLS
import CarrelMedia
import CarrelMediaSource
import CarrelSavedMedia

extension HLSPresentation {
    /// The tracks of a multivariant playlist that the license allows.
    ///
    /// - Parameters:
    ///   - list: the playlist.
    ///   - url: its address.
    ///   - use: the keys of the response.
    /// - Returns: the tracks.
    /// - Throws: the errors of the plan.
    func tracks(of list: MultivariantPlaylist, _ url: String, _ use: KeyUse) async throws -> HLSTracks {
        let list = saved(list, url)
        var survey = LicenseSurvey { [keys = settings.keys] in await keys.probe(anyOf: $0) }
        while true {
            var wishes = settings.wishes
            wishes.withheld = survey.withheld
            let tracks = try await settings.threads.compute { [origin, wishes] in
                try HLSTracks(list, wishes) { origin.resolve($0, against: url) }
            }
            guard settings.mayHaveLicense else { return tracks }
            let names =
                tracks.plan.video.indices.map { (tracks.plan.video[$0], RenditionName(video: $0)) }
                + tracks.plan.audio.indices.map { (tracks.plan.audio[$0], RenditionName(audio: $0)) }
            for (offered, name) in names where !survey.knows(offered) {
                guard let source = tracks.sources[name] else { continue }
                await survey.add(offered, keys: await keyNames(at: source, use))
            }
            guard survey.settle() else { return tracks }
        }
    }

    /// The variants and renditions whose playlists a package has; all of them if the source is not saved.
    private func saved(_ list: MultivariantPlaylist, _ url: String) -> MultivariantPlaylist {
        guard let package = origin.package else { return list }
        var list = list
        let isSaved = { [origin] (uri: String) in package.hasDocument(origin.resolve(uri, against: url)) }
        list.variants.removeAll { !isSaved($0.uri) }
        // a rendition without a playlist is in the variant
        list.renditions.removeAll { $0.uri.map { !isSaved($0) } ?? false }
        list.iFrameVariants.removeAll { !isSaved($0.uri) }
        return list
    }

    /// Key lines and initialization sections of one playlist that are looked at: the first segments may be clear, or have other keys.
    private static var surveyLimit: Int { 16 }

    /// The keys of a media playlist: of its segments, or of their initialization sections.
    private func keyNames(at source: String, _ use: KeyUse) async -> [[ContentKeyName]] {
        // a playlist that cannot be loaded is an error when it is played
        guard let held = await survey(source) else { return [] }
        var firsts: [MediaSegment] = []
        for segment in held.playlist.segments where !segment.isGap && firsts.count < Self.surveyLimit {
            guard firsts.last?.keys != segment.keys || firsts.last?.initialization != segment.initialization else { continue }
            let isKnown = firsts.contains { $0.keys == segment.keys && $0.initialization == segment.initialization }
            if !isKnown { firsts.append(segment) }
        }
        var names: [[ContentKeyName]] = []
        for segment in firsts {
            for key in await keyNames(of: segment, held, use) where !names.contains(key) { names.append(key) }
        }
        return names
    }

    private func keyNames(of segment: MediaSegment, _ held: HeldPlaylist, _ use: KeyUse) async -> [[ContentKeyName]] {
        let key = resolved(segment.keys, held.url, use).key
        var named: [ContentKeyName] = []
        if let key {
            if let content = key.contentID { named.append(.content(content)) }
            // a `data:` address is the key itself, or data of a key system
            let isData = key.uri.lowercased().hasPrefix("data:")
            if isData, key.keyFormat == nil || key.keyFormat?.lowercased() == "identity" { return [] }
            if !isData { named.append(.address(key.uri)) }
        }
        let isSampled = key.map { [.sampleAES, .sampleAESCTR].contains($0.method) } ?? true
        guard isSampled, let bytes = try? await initialization(segment, held, use) else { return named.isEmpty ? [] : [named] }
        let keys = bytes.initializationKeys
        return keys.isEmpty ? (named.isEmpty ? [] : [named]) : keys.map { [$0[0]] + named + $0.dropFirst() }
    }
}
