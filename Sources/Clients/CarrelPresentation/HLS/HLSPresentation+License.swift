// SPDX-License-Identifier: Apache-2.0

import CarrelHLS
import CarrelMedia
import CarrelMediaSource

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
        var survey = LicenseSurvey(settings.keys.probe)
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
            for (offered, name) in names where !survey.isOver && !survey.knows(offered) {
                guard let source = tracks.sources[name] else { continue }
                await survey.add(offered, keys: await keyNames(at: source, use))
            }
            guard survey.settle() else { return tracks }
        }
    }

    /// The keys of a media playlist: of its first segment, or of its initialization section.
    private func keyNames(at source: String, _ use: KeyUse) async -> [[ContentKeyName]] {
        // a playlist that cannot be loaded is an error when it is played
        guard let held = await survey(source), let segment = held.playlist.segments.first(where: { !$0.isGap }) else { return [] }
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
