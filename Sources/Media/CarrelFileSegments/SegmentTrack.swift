// SPDX-License-Identifier: Apache-2.0

import CarrelMP4
import CarrelMedia

/// A track as playlists name it.
package struct SegmentTrack: Sendable, Hashable {
    /// The id in the file.
    package var id: UInt32
    /// The four characters of its handler: `vide`, `soun`, …
    package var kind: String
    /// The `codecs` parameter (RFC 6381); nil when the configuration is missing or damaged.
    package var codecs: String?
    /// The four characters of its sample entry, whatever the protection.
    package var format: String
    /// Whether transport streams can hold it.
    package var isInTransportStreams: Bool
    /// ISO 639-2, three letters; nil when undetermined.
    package var language: String?
    /// Pixels as they are shown, turned where the file says so; 0 of what is not a picture.
    package var width: Int
    /// Pixels as they are shown, turned where the file says so; 0 of what is not a picture.
    package var height: Int
    /// Pictures a second, by the durations of the first ones; nil of what is not a picture.
    package var frameRate: Double?
    /// Channels of audio, by the sample entry; 0 of other tracks.
    package var channels: Int
    /// Samples of each channel a second, by the sample entry; 0 of other tracks.
    package var sampleRate: Int

    init(_ track: MP4Track, sampleDuration: Double) {
        id = track.id
        kind = track.kind
        language = track.language
        let entry = track.entries.first
        codecs = entry?.codecString
        format = entry.map { "\($0.format)" } ?? ""
        isInTransportStreams = TransportRemuxer.holds(track)
        let isPicture = track.kind == "vide"
        let size = track.display?.size ?? (entry?.width ?? 0, entry?.height ?? 0)
        width = isPicture ? size.width : 0
        height = isPicture ? size.height : 0
        frameRate = isPicture && sampleDuration > 0 ? Double(track.timescale) / sampleDuration : nil
        channels = track.entryChannels
        sampleRate = track.entrySampleRate
    }
}
