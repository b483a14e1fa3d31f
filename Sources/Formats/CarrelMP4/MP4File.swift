// SPDX-License-Identifier: Apache-2.0

package import CarrelAudio
import CarrelBytes

/// The content of an MP4 file (M4A, M4B, MOV, 3GP, fragmented or not), without its media (ISO/IEC 14496-12, 14496-14).
///
/// Reads headers and small boxes only; sample tables are read through windows on demand.
package struct MP4File {
    /// The file.
    package let reader: any ByteReader
    /// Brands, the major one first; empty for old QuickTime files.
    package private(set) var brands: [String] = []
    /// In file order.
    package private(set) var tracks: [MP4Track] = []
    /// Title, authors, cover, chapters, …
    package var tags = AudioTags()
    /// Whether samples are in movie fragments.
    package var isFragmented: Bool { !fragments.isEmpty || hasIndexedFragments }
    /// The start of the box that the end of the file cuts off, if there is one.
    package private(set) var truncatedBoxAt: Int64?

    /// Its `pssh` boxes, including PIFF's, without those in fragments.
    package private(set) var systems: [ProtectionSystemHeader] = []
    /// Its `sidx` boxes, in file order; 1,000 of them at most.
    package private(set) var indexes: [MP4Box] = []

    /// Its `moof` boxes, in file order; only the first one when there are `hasIndexedFragments`.
    package private(set) var fragments: [MP4Box] = []
    /// Whether fragments were left to the file's index: `samples(of:)` then ends after the first one.
    package private(set) var hasIndexedFragments = false

    /// Reads the boxes of a file.
    ///
    /// - Parameters:
    ///   - reader: the file.
    ///   - leavesFragmentsToIndex: whether to stop at the first fragment after the movie if an index lists the others: a `sidx`
    ///     box before it, or an `mfra` box at the end. Each header read of a remote file would be a request.
    /// - Throws: the errors of the reader; `Malformed` if this is not an MP4 file, or its index is damaged or missing.
    package init(_ reader: any ByteReader, leavesFragmentsToIndex: Bool = false) throws {
        self.reader = reader
        var window = FileWindow(reader)
        var movie: MP4Box?
        var at: Int64 = 0
        var count = 0
        let all = 0..<reader.length
        while all.upperBound - at >= 8 {
            let box = try MP4Box(&window, at: at, in: all)
            count += 1
            if count == 1, !Self.firstBoxes.contains(box.type) { throw Malformed("not an MP4 file", at: 0) }
            if count > 2 * MP4Box.limit { throw Malformed("too many boxes", at: Int(at)) }
            if box.isCut { truncatedBoxAt = at }
            switch box.type {
            case "ftyp": brands = try Self.brands(box.load(reader, limit: 4096))
            case "moov" where movie == nil:
                if box.isCut { throw Malformed("file is cut off inside its index", at: Int(at)) }
                movie = box
            case "moof" where !box.isCut:
                fragments.append(box)
                if leavesFragmentsToIndex, fragments.count == 1, movie != nil {
                    hasIndexedFragments = try !indexes.isEmpty || FragmentRandomAccess.range(in: reader) != nil
                }
            case "sidx" where !box.isCut && indexes.count < 1000: indexes.append(box)
            default: break
            }
            if hasIndexedFragments { break }
            at = box.content.upperBound
        }
        guard let movie else {
            if count == 0 { throw Malformed("not an MP4 file", at: 0) }
            throw Malformed(truncatedBoxAt == nil ? "file has no index" : "file is cut off before its index", at: Int(at))
        }
        var contents = MovieReader(window)
        try contents.read(movie.content)
        tracks = contents.tracks
        systems = contents.systems
        tags = contents.tags
        if brands.first == "MGSV" {
            for i in tracks.indices where tracks[i].protection == nil { tracks[i].protection = MP4Protection(scheme: "MGSV") }
        }
        try readChapters(nero: contents.neroChapters)
    }

    /// Boxes that a file may begin with.
    private static let firstBoxes: Set<FourCC> = [
        "ftyp", "moov", "mdat", "free", "skip", "wide", "pnot", "styp", "uuid", "moof", "sidx",
    ]

    /// Audio tracks, in file order.
    package var audioTracks: [MP4Track] { tracks.filter { $0.kind == "soun" } }

    /// The track to take as the work: the first enabled audio track, else the first audio track.
    package var mainAudioTrack: MP4Track? { audioTracks.first { $0.isEnabled } ?? audioTracks.first }

    /// The samples of a track in decode order.
    ///
    /// - Parameters:
    ///   - track: one of this file.
    ///   - allowsTruncation: whether samples past the end of the file just end the walk instead of being an error.
    /// - Returns: a walk from the first sample on.
    package func samples(of track: MP4Track, allowsTruncation: Bool = false) -> MP4Samples {
        MP4Samples(
            TableSamples(track.tables, track.auxiliary, reader),
            FragmentSamples(track, fragments, reader),
            fileLength: reader.length,
            allowsTruncation: allowsTruncation
        )
    }

    /// The key IDs of a track's Common Encryption samples: from its descriptions, groups and fragments; in order of appearance.
    ///
    /// - Parameter track: a track of this file.
    /// - Returns: at most 65,536 key IDs.
    /// - Throws: the errors of the reader; `Malformed` if a fragment is damaged.
    package func keyIDs(of track: MP4Track) throws -> [KeyID] { try keyIDs(of: [track]).map(\.id) }

    /// The key IDs of some tracks' Common Encryption samples, each with its track: from their descriptions, groups and fragments;
    /// in order of appearance. The fragments are read once.
    ///
    /// - Parameter tracks: tracks of this file.
    /// - Returns: at most 65,536 key IDs.
    /// - Throws: the errors of the reader; `Malformed` if a fragment is damaged.
    package func keyIDs(of tracks: [MP4Track]) throws -> [(track: UInt32, id: KeyID)] {
        let protected = tracks.filter { $0.entries.contains { $0.encryption != nil } }
        guard !protected.isEmpty else { return [] }
        var keyIDs: [(track: UInt32, id: KeyID)] = []
        var seen: [UInt32: Set<KeyID>] = [:]
        func add(_ encryption: TrackEncryption?, _ track: UInt32) {
            guard let encryption, encryption.isProtected, keyIDs.count < 65_536 else { return }
            if seen[track, default: []].insert(encryption.keyID).inserted { keyIDs.append((track, encryption.keyID)) }
        }
        for track in protected {
            for entry in track.entries { add(entry.encryption, track.id) }
            for group in track.sampleGroups { add(group, track.id) }
            add(track.auxiliary.replacement, track.id)
        }
        var window = FileWindow(reader, capacity: 1 << 14)
        for fragment in fragments {
            for part in try TrackFragment.read(fragment, of: protected, &window) {
                for group in part.auxiliary.groups.fragment { add(group, part.trackID) }
                add(part.auxiliary.replacement, part.trackID)
            }
        }
        return keyIDs
    }

    /// The boxes at the top of the file, one after the other.
    ///
    /// - Parameter visit: gets each, and a window to read it with.
    /// - Throws: the errors of `visit` and the reader; `Malformed` if one is damaged.
    package func forEachBox(_ visit: (MP4Box, inout FileWindow) throws -> Void) throws {
        var window = FileWindow(reader)
        var at: Int64 = 0
        while reader.length - at >= 8 {
            let box = try MP4Box(&window, at: at, in: 0..<reader.length)
            try visit(box, &window)
            at = box.content.upperBound
        }
    }

    private static func brands(_ content: [UInt8]) -> [String] {
        let span = content.rawSpan
        return stride(from: 0, to: span.byteCount - 3, by: 4).filter { $0 != 4 }.map { FourCC(span.u32(at: $0)).description }
    }

    /// Chapters of a text track if there is one that names them, else Nero's list.
    private mutating func readChapters(nero: [AudioTags.Chapter]) throws {
        var chapters = nero
        let ids = mainAudioTrack?.chapterTrackIDs ?? []
        if let track = tracks.first(where: { ids.contains($0.id) && ["text", "sbtl"].contains($0.kind) }) {
            // a damaged chapter track is no reason to refuse the book
            let trackChapters = (try? ChapterTrack.read(track, samples(of: track, allowsTruncation: true), reader)) ?? []
            if trackChapters.count >= nero.count, trackChapters.contains(where: { !$0.title.isEmpty }) || nero.isEmpty {
                chapters = trackChapters
            }
        }
        chapters.sort { $0.start < $1.start }
        tags.chapters = chapters
    }
}
