// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDASH
import CarrelMP4
package import CarrelMedia
import CarrelMediaSource
import CarrelSavedMedia

extension DASHPresentation {
    /// Chooses the tracks by what the license allows, before they are chosen by the manifest alone.
    func surveyLicense() async throws {
        guard settings.mayHaveLicense, !hasTracks else { return }
        let manifest = try await reader.current()
        var survey = LicenseSurvey { [keys = settings.keys] in await keys.probe(anyOf: $0) }
        while true {
            var wishes = settings.wishes
            wishes.withheld = survey.withheld
            let tracks = try await settings.threads.compute { [wishes, origin] in
                try DASHTracks(manifest, wishes, saved: origin.package?.source.tracks)
            }
            for (offered, track) in zip(tracks.plan.video, tracks.video) + zip(tracks.plan.audio, tracks.audio)
            where !survey.knows(offered) {
                await survey.add(offered, keys: await keyNames(of: track, in: manifest))
            }
            guard survey.settle() else {
                if !hasTracks { try use(tracks, of: manifest) }
                return
            }
        }
    }

    /// The keys of a track by the manifest or, if it names none, by its initialization segment.
    private func keyNames(of track: Manifest.Track, in manifest: Manifest) async -> [[ContentKeyName]] {
        guard let stream = manifest.stream(track, inPeriod: 0) else { return [] }
        let protections = stream.properties.contentProtections
        guard !protections.isEmpty else { return [] }
        let named = protections.flatMap(\.defaultKeyIDs).compactMap { Hex.decode($0) }
        if let first = named.first { return first.allSatisfy { $0 == 0 } ? [] : [[.id(first)]] }
        // a segment that cannot be loaded is an error when it is played
        guard let bytes = try? await initializations.initialization(of: stream) else { return [] }
        return bytes.initializationKeys
    }
}

private func + <A: Sequence, B: Sequence>(a: A, b: B) -> [A.Element] where A.Element == B.Element { Array(a) + Array(b) }

extension [UInt8] {
    /// The keys that the tracks of an initialization segment name, each by its names; none if it is damaged or names none.
    package var initializationKeys: [[ContentKeyName]] {
        guard let file = try? MP4File(BytesReader(self)) else { return [] }
        var keys: [[ContentKeyName]] = []
        for track in file.tracks {
            guard let ids = try? file.keyIDs(of: track) else { continue }
            for id in ids.compactMap({ $0 }) where !id.isZero { keys.append([.id(id.bytes), .track(track.id)]) }
        }
        return keys
    }
}
