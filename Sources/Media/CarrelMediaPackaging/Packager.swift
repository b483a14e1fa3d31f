// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia
import CarrelMP4

/// Packages tracks for HTTP streaming: one set of fragments, with HLS playlists and a DASH manifest over them.
///
/// ```swift
/// let packager = try Packager([source], texts: [], options)
/// let folder = try PackageFolder(path)
/// let summary = try packager.write(to: folder) { done, all in … }
/// try folder.commit()
/// ```
package struct Packager {
    private let options: PackagingOptions
    private let tracks: [PackagedTrack]
    /// The keys of each track, in order of rotation; none for a track that stays clear.
    private let keys: [[PackagingKey]]
    private let texts: [PackagingText]
    private let plan: SegmentPlan
    /// The audio tracks that are left out, because another file has the same audio.
    private let warnings: [String]

    /// Reads the tables of all inputs and determines the segment boundaries.
    ///
    /// - Parameters:
    ///   - sources: files with video and audio tracks to package.
    ///   - texts: subtitles.
    ///   - options: the packaging options.
    /// - Throws: `unaligned` with file and time, `unsupported`, `malformed`; the errors of the reader.
    package init(_ sources: [PackagingSource], texts: [PackagingText] = [], _ options: PackagingOptions) throws {
        self.options = options
        self.texts = texts
        var tracks: [PackagedTrack] = []
        var warnings: [String] = []
        for source in sources {
            let (found, omitted) = try source.tracks()
            warnings += omitted
            guard !found.isEmpty else {
                throw MediaError(.unsupported, "\(source.name) has no track of pictures or sound that is meant to be played")
            }
            tracks += found
        }
        guard !tracks.isEmpty else { throw MediaError(.unsupported, "there is neither picture nor sound to package") }
        let audio = SharedAudio(tracks.filter { $0.kind == .audio })
        warnings += audio.warnings
        self.tracks = tracks.filter { $0.kind == .video } + audio.tracks
        keys = try self.tracks.map(options.keys)
        let isProtected = options.scheme != nil || options.transport != nil
        for (track, keys) in zip(self.tracks, keys) where keys.isEmpty && isProtected {
            guard options.keyChoice != nil else { throw MediaError(.missingKey, "no key is given for \(track.kind.rawValue)") }
            warnings.append("\(PackagingTrack(track).name) stays clear: no usage rule names a key for it")
        }
        guard !isProtected || keys.contains(where: { !$0.isEmpty }) else {
            throw MediaError(.missingKey, "no usage rule names a key for any track")
        }
        self.warnings = warnings
        plan = try SegmentPlan(self.tracks, target: options.segmentDuration * 1000)
        // the count of an index has 16 bits (ISO/IEC 14496-12 §8.16.3)
        guard options.layout == .segments || plan.cuts.count <= SegmentIndexBox.limit else {
            throw MediaError(
                .unsupported,
                """
                \(self.tracks[0].source.name) makes \(plan.cuts.count) segments, and the index of one file holds \
                \(SegmentIndexBox.limit): take longer segments
                """
            )
        }
    }

    /// Bytes of all samples.
    package var byteCount: Int64 { tracks.reduce(0) { $0 + $1.byteCount } }

    /// Writes all files of the package.
    ///
    /// - Parameters:
    ///   - folder: the destination.
    ///   - thumbnails: thumbnails already written to the folder; nil for none.
    ///   - progress: gets the sample bytes written so far, and their total; it may throw to end the work.
    /// - Returns: the files written.
    /// - Throws: `unwritable`, `malformed`; the errors of the reader and `progress`.
    package func write(
        to folder: PackageFolder,
        thumbnails: PackagedThumbnails? = nil,
        progress: (Int64, Int64) throws -> Void = { _, _ in }
    ) throws -> PackageSummary {
        var vectors = VectorSequence()
        var renditions: [PackagedRendition] = []
        var done: Int64 = 0
        let all = byteCount
        for (track, keys) in zip(tracks, keys) {
            let number = renditions.count { $0.track.kind == track.kind } + 1
            let name = "\(track.kind.rawValue)-\(number)"
            func advance(_ bytes: Int) throws {
                done += Int64(bytes)
                try progress(done, all)
            }
            do {
                if options.isTransport {
                    let writer = try TransportTrackPackager(track, name: name, keys: keys, plan, options, folder)
                    renditions.append(try writer.write(vectors: &vectors, progress: advance))
                } else {
                    let writer = TrackPackager(track, name: name, keys: keys, plan, options, folder)
                    renditions.append(try writer.write(vectors: &vectors, progress: advance))
                }
            } catch {
                throw PackagingSource.naming(track.source.name, error)
            }
        }
        let end = renditions.map { $0.track.microseconds($0.track.end) }.max() ?? 0
        var subtitles: [PackagedText] = []
        for (i, text) in texts.enumerated() {
            let origin = options.isTransport ? TransportTrackPackager.origin : plan.origin * 9 / 100
            subtitles.append(try text.write(name: "text-\(i + 1)", cuts: plan.cuts, end: end, origin: origin, folder))
        }
        let contents = PackageContents(renditions: renditions, texts: subtitles, thumbnails: thumbnails, options: options)
        try PackagePlaylists(contents).write(to: folder)
        if !options.isTransport {
            try folder.write(PackageFolder.manifestName, PackageManifest(contents).bytes)
        }
        return PackageSummary(renditions, subtitles, options, warnings: warnings)
    }
}
