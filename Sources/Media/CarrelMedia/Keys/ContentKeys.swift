// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
package import CarrelMP4

/// The keys of one file or stream, requested before its bytes are decrypted.
package struct ContentKeys: Sendable {
    /// One key of one track: tracks may share the id of a key, and a caller may name keys by track.
    private struct Place: Hashable {
        var track: UInt32
        var id: KeyID?
    }

    private var grants: [Place: ContentKeyGrant] = [:]
    /// The keys that were used, with the evidence from the clear bytes.
    package let evidence = KeyEvidence()
    /// Keys of one file or stream, at most: fragments that name ever more of them do not fill the memory.
    package static let limit = 1 << 16

    /// The key of every track, from a playlist's key line.
    private var everything: ContentKeyGrant?

    package init() {}

    /// Sets the key for everything without its own key.
    package mutating func useForEverything(_ grant: ContentKeyGrant) { everything = grant }

    /// When the first of them ends.
    package var end: ContentKeyEnd { ContentKeyEnd(firstOf: grants.values.map(\.end) + [everything?.end].compactMap { $0 }) }

    /// Whether all of them may be used for a plain stream of bytes.
    package var relaxesOutput: Bool { grants.values.allSatisfy(\.relaxesOutput) }

    /// Whether a license has one of them.
    package var hasLicense: Bool { grants.values.contains(where: \.isLicensed) || everything?.isLicensed == true }

    /// Checks that the keys may be used for the pictures of their tracks.
    ///
    /// - Parameter tracks: the tracks of the movie.
    /// - Throws: `outputControl` if a license allows smaller pictures only, or their size is not known.
    package func checkPictures(_ tracks: [MP4Track]) throws(MediaError) {
        for (place, grant) in grants where grant.maxPixels != nil {
            guard let track = tracks.first(where: { $0.id == place.track }), track.kind == "vide" else { continue }
            try grant.checkPictures(track.pixels, "track \(track.id)")
        }
        guard let everything, everything.maxPixels != nil else { return }
        for track in tracks where track.kind == "vide" { try everything.checkPictures(track.pixels, "track \(track.id)") }
    }

    /// Checks that all of them may be used for plain files now.
    ///
    /// - Parameter now: the time.
    /// - Throws: `outputControl`, `expiredKey`.
    package func checkPlainOutput(at now: Instant) throws(MediaError) {
        for (place, grant) in grants { try grant.checkPlainOutput(Self.words(place.id, place.track), at: now) }
        try everything?.checkPlainOutput("all tracks", at: now)
    }

    /// Requests a key, unless it is already present.
    ///
    /// - Parameters:
    ///   - id: the key ID; nil if the format has none.
    ///   - track: the track it is for.
    ///   - others: alternative names of the key, tried after its ID and before its track.
    ///   - source: the key source.
    /// - Throws: `missingKey`, `refusedKey`.
    package mutating func resolve(
        _ id: KeyID?,
        track: UInt32,
        others: [ContentKeyName] = [],
        from source: some ContentKeySource
    ) async throws(MediaError) {
        let place = Place(track: track, id: id)
        guard grants[place] == nil, everything == nil else { return }
        guard grants.count < Self.limit else {
            throw MediaError(.malformed, "the media name more than \(Self.limit) keys")
        }
        var names = others
        if let id { names.insert(.id(id.bytes), at: 0) }
        names.append(.track(track))
        do {
            grants[place] = try await Self.ask(for: names, Self.words(id, track), source)
        } catch  where error.code == .missingKey && id?.isZero == true {
            // with key rotation, packagers write zeros into the track, and name the keys in its sample groups: a sample without a
            // group is an error when it arrives
        }
    }

    /// Requests the key of a content without tracks, and stores it as the key of track 0.
    ///
    /// - Parameters:
    ///   - id: the content ID.
    ///   - source: the key source.
    /// - Throws: `missingKey`, `refusedKey`.
    package mutating func resolve(content id: String, from source: some ContentKeySource) async throws(MediaError) {
        add(try await Self.ask(for: [.content(id), .track(0)], "content id \(id)", source), track: 0)
    }

    /// The first key that the source has, by any of its names.
    package static func ask(
        for names: [ContentKeyName],
        _ words: String,
        _ source: some ContentKeySource
    ) async throws(MediaError) -> ContentKeyGrant {
        try await answered(names, words, source).grant
    }

    /// The first key that the source has, by any of its names, and that name.
    static func answered(
        _ names: [ContentKeyName],
        _ words: String,
        _ source: some ContentKeySource
    ) async throws(MediaError) -> (grant: ContentKeyGrant, name: ContentKeyName?) {
        let (answer, name) = await source.key(anyOf: names)
        switch answer {
        case .granted(let grant): return (grant, name)
        case .pending: throw MediaError(.missingKey, "the license for \(words) is not there yet")
        case .refused(let reason): throw MediaError(.refusedKey, "the key for \(words) is refused: \(reason)")
        case .unknown: throw MediaError(.missingKey, "no key is given for \(words)")
        }
    }

    /// Adds a key that was obtained otherwise.
    mutating func add(_ grant: ContentKeyGrant, track: UInt32) { grants[Place(track: track, id: nil)] = grant }

    /// The key of a track.
    ///
    /// - Throws: `missingKey` if it was not requested.
    package func key(_ id: KeyID?, track: UInt32) throws(MediaError) -> Secret {
        guard let grant = grants[Place(track: track, id: id)] ?? everything else {
            throw MediaError(.missingKey, "no key is given for \(Self.words(id, track))")
        }
        return grant.key
    }

    /// Notes that the key of a track decrypts something.
    ///
    /// - Returns: the digest of the key and its use, for ``KeyEvidence/verify(_:)``: its id, and without one the track.
    func use(_ key: Secret, _ id: KeyID?, track: UInt32) -> [UInt8] {
        evidence.use(key, for: id?.bytes ?? Array("\(track)".utf8), Self.words(id, track))
    }

    /// The error for samples that were encrypted with another key.
    ///
    /// - Parameters:
    ///   - id: the key ID; nil if the format has none.
    ///   - track: the track it is for.
    ///   - fault: what is wrong with the decrypted data, as a lower-case phrase.
    /// - Returns: `wrongKey`.
    package func wrongKey(_ id: KeyID?, track: UInt32, _ fault: String) -> MediaError {
        MediaError(
            .wrongKey,
            "the key given for \(Self.words(id, track)) is another, or the samples are damaged: behind the decryption, \(fault)"
        )
    }

    private static func words(_ id: KeyID?, _ track: UInt32) -> String {
        id.map { "key id \($0) (track \(track))" } ?? "track \(track)"
    }
}

extension MP4Track {
    /// The pixels of its largest picture, by its sample descriptions; nil if one of them has no size.
    var pixels: Int? {
        var largest = 0
        for entry in entries {
            guard entry.width > 0, entry.height > 0 else { return nil }
            largest = max(largest, entry.width * entry.height)
        }
        return largest > 0 ? largest : nil
    }
}
