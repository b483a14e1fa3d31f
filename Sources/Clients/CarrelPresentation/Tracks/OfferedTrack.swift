// SPDX-License-Identifier: Apache-2.0

/// A track of a source that a plan may take: a track of a file, a representation of DASH, a variant or a rendition of HLS.
struct OfferedTrack: Sendable, Equatable {
    /// The kind of a track's content.
    enum Kind: String, Sendable {
        case video, audio, text
        /// Sync pictures alone, for fast play.
        case pictures
    }

    var kind: Kind
    /// Its number among the tracks of its kind in the source, from 0, by which callers select it.
    var place: Int
    /// The names by which callers select it, and errors name it; the last one is its own.
    var ids: [String] = []
    /// The name that players show; nil for the language.
    var label: String?
    /// The language (BCP 47), in its shortest form.
    var language: String?
    /// Whether the source names it as the main one of its kind.
    var isMain = false
    /// Whether players choose it by themselves.
    var isDefault = false
    /// The codecs (RFC 6381); nil if unknown.
    var codecs: String?
    /// The codec that a transport stream cannot carry; nil if all are supported, or unknown.
    var uncarried: String?
    /// Bits a second.
    var bandwidth = 0
    var width: Int?
    var height: Int?
    var frameRate: String?
    /// Tracks of one kind with the same number differ in quality alone.
    var group = 0
    /// For I-frame tracks: the video groups that they belong to; nil for all.
    var mains: Set<Int>?
    /// Whether codecs and bandwidth include the audio that is played with the track.
    var includesAudio = false
    /// Whether sync pictures alone can be taken out of it.
    var hasPictures = false
    /// The name of the audio group of a video track, and of the audio itself, if the source has separate audio playlists.
    var audioGroup: String?

    /// The pixels of its pictures; nil if their size is not known.
    var pixels: Int? {
        guard let width, let height, width > 0, height > 0 else { return nil }
        let (count, isTooLarge) = width.multipliedReportingOverflow(by: height)
        return isTooLarge ? .max : count
    }
}
