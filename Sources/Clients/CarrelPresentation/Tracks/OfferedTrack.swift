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
    /// The codecs (RFC 6381); nil where they are not known.
    var codecs: String?
    /// The codec that a transport stream cannot carry; nil where all fit, or that is not known.
    var uncarried: String?
    /// Bits a second.
    var bandwidth = 0
    var width: Int?
    var height: Int?
    var frameRate: String?
    /// Tracks of one kind with the same number differ in quality alone.
    var group = 0
    /// Of pictures alone: the groups of video that they are for; nil for all.
    var mains: Set<Int>?
    /// Whether codecs and bandwidth are those of all that is played with it.
    var includesAudio = false
    /// Whether sync pictures alone can be taken out of it.
    var hasPictures = false
    /// The name of the audio that goes with video, and of the audio itself, where the source has audio in playlists of its own.
    var audioGroup: String?
}
