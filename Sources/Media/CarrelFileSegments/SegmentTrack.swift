// SPDX-License-Identifier: Apache-2.0

import CarrelMP4
import CarrelMedia

/// A track as playlists name it.
package struct SegmentTrack: Sendable, Hashable {
    /// The id in the file.
    package var id: UInt32
    /// The four characters of its handler: `vide`, `soun`, …
    package var kind: String
    /// The `codecs` parameter (RFC 6381); nil if the configuration is missing or damaged.
    package var codecs: String?
    /// The four characters of its sample entry, whatever the protection.
    package var format: String
    /// Whether transport streams can hold it.
    package var isInTransportStreams: Bool
    /// ISO 639-2, three letters; nil if undetermined.
    package var language: String?
    /// Display width in pixels, after rotation; 0 unless it is video.
    package var width: Int
    /// Display height in pixels, after rotation; 0 unless it is video.
    package var height: Int
    /// Frame rate from the durations of the first pictures; nil unless it is video.
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
