// SPDX-License-Identifier: Apache-2.0

package import CarrelAudio
import CarrelTS

/// The container of a segment's frames.
package enum SegmentForm: String, Sendable, Hashable, CaseIterable {
    /// In an MPEG-2 transport stream: plays everywhere.
    case transportStream = "ts"
    /// Frames unchanged, after an ID3 time stamp (RFC 8216 §3.4): the smallest form, and accepted by Media Source Extensions.
    case packed

    /// The extension of a segment's URI, for players that ignore media types.
    package func fileExtension(for codec: AudioCodec) -> String {
        switch (self, codec) {
        case (.transportStream, _): "ts"
        case (.packed, .mp3): "mp3"
        case (.packed, .aac): "aac"
        }
    }

    /// The media type of a segment.
    package func mediaType(for codec: AudioCodec) -> String {
        switch (self, codec) {
        case (.transportStream, _): "video/mp2t"
        case (.packed, .mp3): "audio/mpeg"
        case (.packed, .aac): "audio/aac"
        }
    }
}

extension AudioCodec {
    /// Its stream type in a transport stream.
    var streamType: AudioStreamType {
        switch self {
        case .mp3(.mpeg1): .mpeg1
        case .mp3: .mpeg2
        case .aac: .adts
        }
    }
}
