// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
package import CarrelDCF
package import CarrelMP4

/// How a file's tracks are protected, and their keys.
package struct FileProtection: Sendable {
    /// The tracks with samples that are encrypted completely, after a header, by track.
    package private(set) var whole: [UInt32: SampleProtection] = [:]
    /// The keys of all protected tracks.
    package private(set) var keys = ContentKeys()
    private let movie: [MP4Track]
    /// The tracks that are protected.
    package private(set) var tracks: Set<UInt32> = []
    /// The tracks that the license of the others withholds, with the reasons.
    package private(set) var withheld: [UInt32: MediaError] = [:]

    /// Detects the protection of a file and requests its keys.
    ///
    /// - Parameters:
    ///   - file: the file; its fragments are searched for keys.
    ///   - source: the key source.
    ///   - leavesOut: whether tracks are left out whose key the license of the others lacks, or whose pictures are larger than
    ///     it allows.
    /// - Throws: `unsupported` with the name of a protection that Carrel does not open, `missingKey`, `refusedKey`, `wrongKey`;
    ///   the errors of the reader, and `Malformed`.
    package init(_ file: MP4File, from source: some ContentKeySource, leavesOut: Bool = false) async throws {
        movie = file.tracks
        let marlin = MarlinTracks.isMarlin(file) ? try MarlinTracks.protections(of: file) : [:]
        var common: [MP4Track] = []
        for track in file.tracks {
            if let protection = marlin[track.id] {
                try await add(.marlin(protection), track, source, leavesOut)
                continue
            }
            guard let protection = track.entries.lazy.compactMap(\.protection).first else { continue }
            tracks.insert(track.id)
            if let protection = try SampleProtection(protection) {
                try await add(protection, track, source, leavesOut)
            } else if track.entries.contains(where: { $0.encryption != nil }) {
                common.append(track)
            } else if let fault = track.entries.lazy.compactMap(\.encryptionFault).first {
                throw MediaError(track, fault)
            } else {
                throw MediaError(.unsupported, "track \(track.id) is protected by \(protection)")
            }
        }
        for (track, id) in try file.keyIDs(of: common) where withheld[track] == nil {
            try await self.try(leavesOut, track) { protection throws(MediaError) in
                try await protection.keys.resolve(id, track: track, from: source)
            }
        }
        for track in file.tracks where withheld[track.id] == nil {
            try await self.try(leavesOut, track.id) { protection throws(MediaError) in
                try protection.keys.checkPictures([track])
            }
        }
        // without a license, a missing key is an error
        if let first = withheld.values.first, !keys.hasLicense { throw first }
    }

    /// Runs a part for one track, which is left out if its license withholds it.
    private mutating func `try`(
        _ leavesOut: Bool,
        _ track: UInt32,
        _ body: (inout FileProtection) async throws(MediaError) -> Void
    ) async throws(MediaError) {
        do throws(MediaError) { try await body(&self) } catch {
            guard leavesOut, [.missingKey, .refusedKey, .outputControl].contains(error.code) else { throw error }
            withheld[track] = error
        }
    }

    /// Requests missing keys, which fragments name.
    ///
    /// - Parameters:
    ///   - ids: the key IDs, each with its track.
    ///   - source: the key source.
    /// - Throws: `missingKey`, `refusedKey`; `outputControl` if a license allows smaller pictures only.
    package mutating func resolve(
        _ ids: [(track: UInt32, id: KeyID)],
        from source: some ContentKeySource
    ) async throws(MediaError) {
        for (track, id) in ids { try await keys.resolve(id, track: track, from: source) }
        try keys.checkPictures(movie.filter { withheld[$0.id] == nil })
    }

    private mutating func add(
        _ protection: SampleProtection,
        _ track: MP4Track,
        _ source: some ContentKeySource,
        _ leavesOut: Bool
    ) async throws {
        tracks.insert(track.id)
        whole[track.id] = protection
        let others = protection.contentID.map { [ContentKeyName.content($0)] } ?? []
        guard let group = protection.groupID else {
            try await self.try(leavesOut, track.id) { protection throws(MediaError) in
                try await protection.keys.resolve(nil, track: track.id, others: others, from: source)
            }
            return
        }
        let names: [ContentKeyName] = [.group(group)] + others + [.track(track.id)]
        try await self.try(leavesOut, track.id) { file throws(MediaError) in
            let (found, name) = try await ContentKeys.answered(names, "track \(track.id)", source)
            var grant = found
            if case .group? = name {
                do throws(CryptoError) { grant.key = try protection.contentKey(under: grant.key) } catch {
                    throw MediaError(.wrongKey, "the group key does not unwrap the key of track \(track.id)")
                }
            }
            file.keys.add(grant, track: track.id)
        }
    }
}
