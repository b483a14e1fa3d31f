// SPDX-License-Identifier: Apache-2.0

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
}
