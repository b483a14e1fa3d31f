// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
package import CarrelMediaSource

/// A segment for the player.
package struct ServedMedia: Sendable {
    /// The media type.
    package var contentType: String
    package var bytes: any SegmentBytes
    /// The keys that were requested before the response, when the source was probed or the segment was prefetched.
    package var uses: [KeyUse]

    /// - Parameters:
    ///   - contentType: the media type.
    ///   - bytes: of the segment.
    ///   - uses: keys that were requested before the response.
    package init(contentType: String, bytes: any SegmentBytes, uses: [KeyUse] = []) {
        self.contentType = contentType
        self.bytes = bytes
        self.uses = uses
    }

    /// - Parameters:
    ///   - form: the form of the segment, which determines the media type.
    ///   - bytes: of the segment.
    init(_ form: FileSegments.Form, _ bytes: any SegmentBytes) {
        self.init(contentType: form == .fragment ? "video/mp4" : "video/mp2t", bytes: bytes)
    }

    /// Subtitles as WebVTT.
    init(text: [UInt8]) { self.init(contentType: "text/vtt; charset=utf-8", bytes: HeldBytes(text)) }
}
