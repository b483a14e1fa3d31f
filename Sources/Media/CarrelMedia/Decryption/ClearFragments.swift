// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelMP4

/// Decrypts fragments in pieces of any size as they arrive: a `FragmentReader` whose samples are clear.
///
/// The bytes of its events form a clear stream of the same length (`ProtectionRemoval`). Call `resolveKeys` after each `movie`
/// and `fragment` event; samples whose keys were not requested are not returned.
package struct ClearFragments: ~Copyable {
    private var reader: FragmentReader
    private var keys: ContentKeys
    private var decrypters: [TrackDecrypter?] = []
    private var protected: Set<UInt32> = []

    /// - Parameters:
    ///   - tracks: the tracks of the movie, when it was read before; none if it comes with the stream.
    ///   - keys: existing keys.
    package init(tracks: [MP4Track] = [], keys: ContentKeys = ContentKeys()) {
        reader = FragmentReader(tracks: tracks)
        self.keys = keys
    }

    /// The tracks of the movie; none before it.
    package var tracks: [MP4Track] { reader.tracks }
    /// The least composition offset of each track in the current fragment, at most 0, if its offsets are signed; in units of the
    /// track's timescale.
    package var leastComposition: [UInt32: Int64] { reader.leastComposition }
    /// The composition offset of the first sample of each track in the fragment on its way, in units of its time scale.
    package var firstComposition: [UInt32: Int64] { reader.firstComposition }

    /// Whether the samples of a track are encrypted in the stream; by its position in `tracks`.
    package func isProtected(_ track: Int) -> Bool { track < decrypters.count && decrypters[track] != nil }

    /// When the first of its keys ends.
    package var keyEnd: ContentKeyEnd { keys.end }

    /// The bytes of an event.
    package var bytes: RawSpan {
        @_lifetime(borrow self)
        borrowing get { reader.bytes }
    }

    /// Changes the keys after a complete fragment: a playlist may change keys and leave the IDs in the samples unchanged.
    ///
    /// - Parameter keys: all keys from here on.
    /// - Throws: `unsupported`.
    package mutating func use(_ keys: ContentKeys) throws(MediaError) {
        self.keys = keys
        if !decrypters.isEmpty { try readTracks() }
    }

    /// Adds a piece of the stream.
    package mutating func append(_ piece: RawSpan) { reader.append(piece) }

    /// Adds a piece of the stream that `body` writes, at most `count` bytes.
    package mutating func append<Failure: Error>(
        addingCapacity count: Int,
        _ body: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        try reader.append(addingCapacity: count, body)
    }

    /// Says that no piece follows.
    package mutating func end() { reader.end() }

    /// Lends the bytes for in-place changes to a sample.
    package mutating func withBytes<Result, Failure: Error>(
        _ body: (inout MutableRawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try reader.withBytes(body)
    }

    /// Asks for the keys that the last movie or fragment names and that are not there.
    ///
    /// - Parameter source: the key source.
    /// - Throws: `missingKey`, `refusedKey`.
    package mutating func resolveKeys(from source: some ContentKeySource) async throws(MediaError) {
        for (track, id) in reader.keyIDs { try await keys.resolve(id, track: track, from: source) }
        try keys.checkPictures(reader.tracks)
        for i in decrypters.indices { decrypters[i]?.keys = keys }
    }

    /// The next event, with clear bytes; nil if the stream needs more data, or has ended.
    ///
    /// - Throws: `Malformed`, `unsupported`, `missingKey`, `wrongKey`.
    package mutating func next() throws -> FragmentReader.Event? {
        guard let event = try reader.next() else { return nil }
        switch event {
        case .movie(let range):
            try readTracks()
            try reader.removeProtection(in: range, tracks: protected)
        case .fragment(let range):
            if decrypters.isEmpty { try readTracks() }
            try reader.removeProtection(in: range, tracks: protected)
        case .box(let type, let range):
            if ["ftyp", "styp", "pssh", "uuid"].contains(type) { try reader.removeProtection(in: range, tracks: protected) }
        case .sample(let track, let sample, let range):
            guard reader.encryption.isProtected, track < decrypters.count, let decrypter = decrypters[track] else { break }
            let encryption = reader.encryption
            try reader.withBytes { bytes throws in try decrypter.decrypt(&bytes, in: range, sample, encryption) }
        case .data: break
        }
        return event
    }

    private mutating func readTracks() throws(MediaError) {
        decrypters = []
        protected = []
        for track in reader.tracks {
            guard track.entries.contains(where: { $0.protection != nil }) else {
                decrypters.append(nil)
                continue
            }
            decrypters.append(try TrackDecrypter(track, keys: keys))
            protected.insert(track.id)
        }
    }
}
