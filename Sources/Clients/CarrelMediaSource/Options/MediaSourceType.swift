// SPDX-License-Identifier: Apache-2.0

/// The kind of a source.
public enum MediaSourceType: Sendable, Hashable {
    /// One file: MP4, PDCF, PIFF, a transport stream, or a DCF.
    case singleFile
    /// An HLS playlist.
    case hls
    /// A DASH manifest.
    case dash
}
