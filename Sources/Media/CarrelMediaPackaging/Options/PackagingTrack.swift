// SPDX-License-Identifier: Apache-2.0

import CarrelMP4

/// The facts about a track that decide its key.
package struct PackagingTrack: Sendable {
    /// The file and the track in it.
    package let name: String
    /// Whether it has pictures; other tracks have sound.
    package let isVideo: Bool
    /// Pixels of a picture; nil unless it is video.
    package let pixels: Int?
    /// Pictures a second, rounded; nil unless it is video.
    package let framesPerSecond: Int?
    /// Whether pictures have a high dynamic range; nil if it is not declared.
    package let isHDR: Bool?
    /// The number of audio channels; nil if it is unknown.
    package let channels: Int?
    /// Bits in a second on average; nil for a track without a duration.
    package let bitrate: Int?

    init(_ track: PackagedTrack) {
        name = "\(track.source.name), track \(track.track.id)"
        isVideo = track.kind == .video
        pixels = isVideo && track.entry.width > 0 ? track.entry.width * track.entry.height : nil
        framesPerSecond = track.frameRate.flatMap { $0.isFinite && $0 < 10_000 ? Int($0.rounded()) : nil }
        isHDR = track.range.map { $0 != .standard }
        channels = !isVideo && track.channels > 0 ? track.channels : nil
        bitrate = track.seconds > 0.001 ? Int(Double(track.byteCount) * 8 / track.seconds) : nil
    }
}
