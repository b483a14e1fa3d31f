// SPDX-License-Identifier: Apache-2.0

import CarrelMP4

/// The files of a package, for the person or the script that made it.
package struct PackageSummary: Sendable {
    /// One track.
    package struct Track: Sendable {
        /// `video`, `audio` or `text`.
        package let kind: String
        /// Its name within the package.
        package let name: String
        /// RFC 6381.
        package let codecs: String
        /// RFC 5646; nil if unknown.
        package let language: String?
        /// Width in pixels; 0 unless it is video.
        package let width: Int
        /// Height in pixels; 0 unless it is video.
        package let height: Int
        package let segmentCount: Int
        /// Bits a second on average; 0 of text.
        package let bandwidth: Int
        /// The ids of its keys; none of a clear track.
        package let keyIDs: [String]
    }

    /// Its tracks.
    package let tracks: [Track]
    /// Whether there are HLS playlists: two schemes have no name in them.
    package let hasPlaylists: Bool
    /// Whether playlists name the keys: scrambled streams name them themselves.
    package let hasKeyLines: Bool
    /// Changes and omissions, each with the file.
    package let warnings: [String]
    /// The duration of the longest one, in seconds.
    package let seconds: Double

    init(
        _ renditions: [PackagedRendition],
        _ texts: [PackagedText],
        _ options: PackagingOptions,
        warnings others: [String] = []
    ) {
        hasPlaylists = options.hasPlaylists
        hasKeyLines = hasPlaylists && options.transport != .cissa && renditions.contains { !$0.keys.isEmpty }
        warnings =
            renditions.compactMap { rendition in
                rendition.track.warning.map { "\(rendition.track.source.name): \($0)" }
            } + others
        var tracks = renditions.map { rendition in
            Track(
                kind: rendition.track.kind.rawValue,
                name: rendition.name,
                codecs: rendition.track.codecs,
                language: rendition.track.language,
                width: rendition.track.size?.width ?? 0,
                height: rendition.track.size?.height ?? 0,
                segmentCount: rendition.segments.count,
                bandwidth: rendition.averageBandwidth,
                keyIDs: rendition.keys.map { "\($0.id)" }
            )
        }
        tracks += texts.map { text in
            Track(
                kind: "text",
                name: text.name,
                codecs: "wvtt",
                language: text.language,
                width: 0,
                height: 0,
                segmentCount: text.segments.count,
                bandwidth: 0,
                keyIDs: []
            )
        }
        self.tracks = tracks
        seconds = renditions.map(\.track.seconds).max() ?? 0
    }
}
