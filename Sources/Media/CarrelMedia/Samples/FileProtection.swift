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
    /// The tracks that are protected.
    package private(set) var tracks: Set<UInt32> = []

    /// Detects the protection of a file and requests its keys.
    ///
    /// - Parameters:
    ///   - file: the file; its fragments are searched for keys.
    ///   - source: the key source.
    /// - Throws: `unsupported` with the name of a protection that Carrel does not open, `missingKey`, `refusedKey`, `wrongKey`;
    ///   the errors of the reader, and `Malformed`.
    package init(_ file: MP4File, from source: some ContentKeySource) async throws {
        let marlin = MarlinTracks.isMarlin(file) ? try MarlinTracks.protections(of: file) : [:]
        var common: [MP4Track] = []
        for track in file.tracks {
            if let protection = marlin[track.id] {
                try await add(.marlin(protection), track, source)
                continue
            }
            guard let protection = track.entries.lazy.compactMap(\.protection).first else { continue }
            tracks.insert(track.id)
            if let protection = try SampleProtection(protection) {
                try await add(protection, track, source)
            } else if track.entries.contains(where: { $0.encryption != nil }) {
                common.append(track)
            } else if let fault = track.entries.lazy.compactMap(\.encryptionFault).first {
                throw MediaError(track, fault)
            } else {
                throw MediaError(.unsupported, "track \(track.id) is protected by \(protection)")
            }
        }
        for (track, id) in try file.keyIDs(of: common) { try await keys.resolve(id, track: track, from: source) }
        try keys.checkPictures(file.tracks)
    }

    /// Requests missing keys, which fragments name.
    ///
    /// - Parameters:
    ///   - ids: the key IDs, each with its track.
    ///   - source: the key source.
    /// - Throws: `missingKey`, `refusedKey`.
    package mutating func resolve(
        _ ids: [(track: UInt32, id: KeyID)],
        from source: some ContentKeySource
    ) async throws(MediaError) {
        for (track, id) in ids { try await keys.resolve(id, track: track, from: source) }
    }

    private mutating func add(
        _ protection: SampleProtection,
        _ track: MP4Track,
        _ source: some ContentKeySource
    ) async throws {
        tracks.insert(track.id)
        whole[track.id] = protection
        if let group = protection.groupID, let grant = try await groupKey(group, track, source) {
            do throws(CryptoError) {
                var grant = grant
                grant.key = try protection.contentKey(under: grant.key)
                keys.add(grant, track: track.id)
                return
            } catch {
                throw MediaError(.wrongKey, "the group key does not unwrap the key of track \(track.id)")
            }
        }
        try await keys.resolve(nil, track: track.id, others: protection.contentID.map { [.content($0)] } ?? [], from: source)
    }

    private func groupKey(_ group: String, _ track: MP4Track, _ source: some ContentKeySource) async throws -> ContentKeyGrant? {
        switch await source.key(.group(group)) {
        case .granted(let grant): grant
        case .pending: throw MediaError(.missingKey, "the license for the group key of track \(track.id) is not there yet")
        case .refused(let reason): throw MediaError(.refusedKey, "the group key of track \(track.id) is refused: \(reason)")
        case .unknown: nil
        }
    }
}
