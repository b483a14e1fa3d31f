// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHLS
import CarrelMP4

/// The segments of a local media playlist, with their keys, and their clear bytes, concatenated.
package struct PlaylistSegments: Sendable {
    /// A part of a file, and its encryption.
    struct Part: Sendable, Hashable {
        var path: String
        var range: MediaSegment.ByteRange?
        var key: EncryptionKey?
        var iv = AESBlock(high: 0, low: 0)
    }

    /// A segment after its initialization section, if it has one.
    struct Segment: Sendable {
        var media: Part
        var initialization: Part?
    }

    let segments: [Segment]
    private var keys: [String: ContentKeyGrant] = [:]
    /// The keys of fragments whose key lines have no key address, by the IDs in the fragments.
    private(set) var fragmentKeys = ContentKeys()
    /// Whether the ids of all fragments have keys, so that no address of one is read.
    private var fragmentsHaveKeys = false

    /// The keys that were used, with the evidence from the clear bytes.
    var evidence: KeyEvidence { fragmentKeys.evidence }

    /// Bytes of a playlist, at most.
    private static let playlistLimit: Int64 = 16 << 20
    /// Bytes of a key file, at most.
    private static let keyLimit: Int64 = 64

    /// Whether a file is a playlist.
    static func isPlaylist(_ reader: any ByteReader) throws -> Bool {
        let head = try reader.readAll(0..<min(10, reader.length))
        return head.rawSpan.matches("#EXTM3U", at: 0) || head.starts(with: [0xef, 0xbb, 0xbf, 0x23, 0x45, 0x58, 0x54])
    }

    /// Reads a playlist and requests the keys of its segments: from the source, a `data:` address, or a file next to the
    /// playlist, in this order.
    ///
    /// - Parameters:
    ///   - file: the playlist; it may only name files in its folder or below.
    ///   - source: the key source, called with addresses verbatim from the playlist.
    /// - Throws: `unsupported` if the playlist names other playlists, remote files, or keys of another format; `missingKey`,
    ///   `refusedKey`; `Malformed`.
    init(_ file: LocalFile, from source: some ContentKeySource) async throws {
        let playlist = try Self.playlist(file)
        let folder = try Self.folder(file)
        var segments: [Segment] = []
        for (i, segment) in playlist.segments.enumerated() where !segment.isGap {
            let key = try Self.key(of: segment.keys)
            let iv = key.map { playlist.initializationVector(of: $0, forSegmentAt: i) } ?? []
            var media = Part(path: try Self.path(segment.uri, in: folder), range: segment.byteRange, key: key)
            media.iv = AESBlock(iv.rawSpan) ?? media.iv
            var initialization: Part?
            if let map = segment.initialization {
                var part = Part(path: try Self.path(map.uri, in: folder), range: map.byteRange, key: try Self.key(of: map.keys))
                if let iv = part.key?.initializationVector { part.iv = AESBlock(iv.rawSpan) ?? part.iv }
                initialization = part
            }
            segments.append(Segment(media: media, initialization: initialization))
        }
        guard !segments.isEmpty else { throw MediaError(.unsupported, "the playlist has no segment") }
        self.segments = segments
        try await resolveFragmentKeys(from: source)
        for segment in segments {
            for part in [segment.media, segment.initialization] {
                guard let key = part?.key, keys[key.uri] == nil, !Self.isByID(key), !fragmentsHaveKeys else { continue }
                let grant = try await Self.key(key, in: folder, source)
                // the playlist does not state the size of the pictures
                try grant.checkPictures(nil, "the address \(KeyAddress.withoutSecrets(key.uri))")
                keys[key.uri] = grant
            }
        }
    }

    private static func playlist(_ file: LocalFile) throws -> MediaPlaylist {
        guard file.length <= playlistLimit else { throw Malformed("playlist is longer than \(playlistLimit) bytes", at: 0) }
        let bytes = try file.readAll(0..<file.length)
        guard case .media(let playlist) = try Playlist.read(bytes.rawSpan, strictness: .lenient).playlist else {
            throw MediaError(.unsupported, "the playlist names other playlists: decrypt one of those")
        }
        return playlist
    }

    private static func folder(_ file: LocalFile) throws(MediaError) -> LocalFolder {
        guard let folder = LocalFolder(ofFile: file.path) else {
            throw MediaError(.unavailable, "\(file.path) was moved while it was read")
        }
        return folder
    }

    /// Whether the key is found by its id: key systems of samples name it by their own means.
    private static func isByID(_ key: EncryptionKey) -> Bool {
        (key.method == .sampleAES || key.method == .sampleAESCTR) && key.keyFormat != nil && key.keyFormat != "identity"
    }

    /// Reads fragments with encrypted samples and requests their keys by ID. If a key line gives the address of a key, the IDs
    /// need not be known: some packagers write an ID there, others the key.
    ///
    /// Some packagers write no key line for `cenc`: the movie declares how its samples are encrypted.
    private mutating func resolveFragmentKeys(from source: some ContentKeySource) async throws {
        var current: Part?
        var reader = FragmentReader()
        let hasLines = segments.contains { $0.media.key != nil }
        for segment in segments {
            guard let initialization = segment.initialization else { continue }
            guard try Self.hasKeyIDs(segment.media.key, initialization, hasLines) else { continue }
            let hasAddress = segment.media.key.map { !Self.isByID($0) } ?? false
            do {
                if current != initialization {
                    reader = FragmentReader()
                    try await resolve(initialization, &reader, source)
                    current = initialization
                }
                if Self.hasProtection(reader) { try await resolve(segment.media, &reader, source) }
            } catch let error as MediaError where error.code == .missingKey && hasAddress {
                return
            }
        }
        fragmentsHaveKeys = current != nil
    }

    private static func hasProtection(_ reader: FragmentReader) -> Bool {
        reader.tracks.contains { $0.entries.contains { $0.protection != nil } }
    }

    /// Whether the fragments after an initialization section may name keys.
    private static func hasKeyIDs(_ key: EncryptionKey?, _ initialization: Part, _ hasLines: Bool) throws -> Bool {
        if hasLines { return key?.method == .sampleAES || key?.method == .sampleAESCTR }
        // a transport stream may have one too
        return try isMovie(initialization)
    }

    private static func isMovie(_ part: Part) throws -> Bool {
        let file = try LocalFile(part.path)
        let range = try range(part, of: file)
        let head = try file.readAll(range.lowerBound..<min(range.upperBound, range.lowerBound + 8))
        return ClearHead(head.rawSpan).content == .fragments
    }

    private mutating func resolve(_ part: Part, _ reader: inout FragmentReader, _ source: some ContentKeySource) async throws {
        let file = try LocalFile(part.path)
        let range = try Self.range(part, of: file)
        var at = range.lowerBound
        while at < range.upperBound {
            let end = min(range.upperBound, at + 262_144)
            let piece = try file.readAll(at..<end)
            reader.append(piece.rawSpan)
            at = end
            while let event = try reader.next() {
                switch event {
                case .movie, .fragment:
                    for (track, id) in reader.keyIDs { try await fragmentKeys.resolve(id, track: track, from: source) }
                    try fragmentKeys.checkPictures(reader.tracks)
                case .box, .sample, .data: continue
                }
            }
        }
    }

    /// The key to use: one whose address leads to its bytes.
    private static func key(of keys: [EncryptionKey]) throws(MediaError) -> EncryptionKey? {
        guard let first = keys.first else { return nil }
        if let key = keys.first(where: { $0.keyFormat == nil || $0.keyFormat == "identity" }) { return key }
        if let key = keys.first(where: isByID) { return key }
        throw MediaError(.unsupported, "keys of the format \(first.keyFormat ?? "identity") are not for files")
    }

    /// The real path of a file below the folder.
    private static func path(_ uri: String, in folder: LocalFolder) throws(MediaError) -> String {
        let reference = URIReference(uri)
        let path = URIReference.percentDecoded(reference.path)
        let parts = path?.split(separator: "/", omittingEmptySubsequences: false) ?? []
        let refusal = MediaError(
            .unsupported,
            "'\(KeyAddress.withoutSecrets(uri))' is not a file below the folder of the playlist"
        )
        guard !reference.isAbsolute, reference.authority == nil, let path, !path.isEmpty, !path.hasPrefix("/"),
            !parts.contains(".."),
            !path.utf8.contains(0)
        else { throw refusal }
        switch folder.place(of: path) {
        case .inside(let path): return path
        case .outside: throw refusal
        case .missing: return folder.path + path
        }
    }

    private static func key(_ key: EncryptionKey, in folder: LocalFolder, _ source: some ContentKeySource) async throws
        -> ContentKeyGrant
    {
        let shown = KeyAddress.withoutSecrets(key.uri)
        let names = [.address(key.uri)] + (key.contentID.map { [ContentKeyName.content($0)] } ?? [])
        for name in names {
            switch await source.key(name) {
            case .granted(let grant): return grant
            case .pending: throw MediaError(.missingKey, "the license for the key \(shown) is not there yet")
            case .refused(let reason): throw MediaError(.refusedKey, "the key \(shown) is refused: \(reason)")
            case .unknown: continue
            }
        }
        if let bytes = KeyAddress.data(key.uri) { return ContentKeyGrant(key: Secret(bytes)) }
        if let path = try? path(key.uri, in: folder), let file = try? LocalFile(path), file.length <= keyLimit {
            return ContentKeyGrant(key: Secret(try file.readAll(0..<file.length)))
        }
        throw MediaError(.missingKey, "no key is given for the address \(shown)")
    }

    /// Checks that its keys may be used for plain files now.
    func checkPlainOutput(at now: Instant) throws(MediaError) {
        for (uri, grant) in keys { try grant.checkPlainOutput("the key \(KeyAddress.withoutSecrets(uri))", at: now) }
        try fragmentKeys.checkPlainOutput(at: now)
    }

    func key(_ part: Part) throws(MediaError) -> Secret? {
        guard let key = part.key, !Self.isByID(key) else { return nil }
        if fragmentsHaveKeys, key.method == .sampleAES || key.method == .sampleAESCTR { return nil }
        guard let grant = keys[key.uri] else {
            throw MediaError(.missingKey, "no key is given for the address \(KeyAddress.withoutSecrets(key.uri))")
        }
        return grant.key
    }

    /// The segments as one stream if they are transport stream packets without a key line; otherwise nil.
    func transportStream() throws -> JoinedFiles? {
        var ranges: [(path: String, range: Range<Int64>)] = []
        for segment in segments {
            guard segment.media.key == nil, segment.initialization == nil else { return nil }
            ranges.append((segment.media.path, try Self.range(segment.media, of: try LocalFile(segment.media.path))))
        }
        let joined = JoinedFiles(ranges)
        return try ScrambledStream.isTransportStream(joined) ? joined : nil
    }

    /// Bytes of all segments in the files.
    func length() throws -> Int64 {
        var sum: Int64 = 0
        for segment in segments { sum += try Int64(Self.range(segment.media, of: try LocalFile(segment.media.path)).count) }
        return sum
    }

    /// The bytes of a part in its file.
    static func range(_ part: Part, of file: LocalFile) throws(MediaError) -> Range<Int64> {
        guard let range = part.range else { return 0..<file.length }
        guard let start = Int64(exactly: range.offset), let length = Int64(exactly: range.length), start <= file.length,
            length <= file.length - start
        else { throw MediaError(.malformed, "\(part.path): the byte range lies past the end of the file") }
        return start..<start + length
    }
}
