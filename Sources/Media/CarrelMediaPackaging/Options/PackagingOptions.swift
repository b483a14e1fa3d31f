// SPDX-License-Identifier: Apache-2.0

package import CarrelMedia

/// How media are packaged.
package struct PackagingOptions: Sendable {
    /// How the segments of a track are stored in files.
    package enum Layout: Sendable, Hashable {
        /// One file for each segment.
        case segments
        /// One file for each track; segments are ranges of it.
        case ranges
    }

    /// The scheme of encryption; nil writes clear media.
    package var scheme: CommonEncryptionScheme?
    /// How segments of transport streams are protected; nil of fragments, and of clear transport streams.
    package var transport: TransportScheme?
    /// Whether segments are transport streams, with HLS playlists and no manifest.
    package var isTransport = false
    /// The id that messages in scrambled streams have for the content; nil takes the id of the key.
    package var contentID: String?
    /// The video keys, in order of rotation.
    package var videoKeys: [PackagingKey] = []
    /// The audio keys, in order of rotation.
    package var audioKeys: [PackagingKey] = []
    /// Chooses the key of each track in place of ``videoKeys`` and ``audioKeys``; nil leaves a track clear.
    package var keyChoice: (@Sendable (PackagingTrack) throws -> PackagingKey?)?
    /// The target duration of segments, in milliseconds.
    package var segmentDuration: Int64 = 4000
    /// The files of segments.
    package var layout = Layout.segments
    /// The duration of the clear segments at the start, in milliseconds; 0 encrypts all.
    package var clearLead: Int64 = 0
    /// Segments under one key before the next one takes its turn; 0 keeps the first.
    package var rotation = 0
    /// The URI that playlists name for a key, `{kid}` standing for the id of the key in hexadecimal digits; nil writes a `data:` URI
    /// with the header of the common protection system.
    package var keyURI: String?
    /// The URI of a ClearKey license server, for the manifest; nil names none.
    package var licenseURI: String?
    /// The URI where players get the token that authorizes requests to the license server, for the manifest; nil names none.
    package var authorizationURI: String?
    /// Whether a playlist of single pictures is written for each track of pictures.
    package var hasIFramePlaylists = true

    package init() {}

    /// Whether playlists have a name for the scheme (RFC 8216 §4.3.2.4).
    var hasPlaylists: Bool { scheme == nil || scheme == .cenc || scheme == .cbcs }

    /// The keys of a track; empty if it stays clear.
    func keys(of track: PackagedTrack) throws -> [PackagingKey] {
        guard scheme != nil || transport != nil else { return [] }
        if let keyChoice { return try [keyChoice(PackagingTrack(track))].compactMap(\.self) }
        switch track.kind {
        case .video: return videoKeys
        case .audio: return audioKeys
        case .text: return []
        }
    }
}
