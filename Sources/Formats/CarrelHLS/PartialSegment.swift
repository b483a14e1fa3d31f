// SPDX-License-Identifier: Apache-2.0

/// A part of a segment that is still being made (draft-pantos-hls-rfc8216bis §4.4.4.9, EXT-X-PART).
package struct PartialSegment: Sendable, Hashable {
    package var uri: String
    package var duration: Duration
    /// The part of the resource; nil for all of it.
    package var byteRange: MediaSegment.ByteRange?
    /// All attributes as read; those above win when they are written.
    package var attributes = AttributeList()

    package init(uri: String, duration: Duration, byteRange: MediaSegment.ByteRange? = nil) {
        self.uri = uri
        self.duration = duration
        self.byteRange = byteRange
    }

    /// Whether it begins with a frame that needs no other.
    package var isIndependent: Bool { attributes.isYes("INDEPENDENT") }
    /// Whether it is missing.
    package var isGap: Bool { attributes.isYes("GAP") }

    /// The attributes of the tag.
    var written: AttributeList {
        var list = attributes
        if list.seconds("DURATION") != duration { list["DURATION"] = .bare(duration.secondsText) }
        list["URI"] = .quoted(uri)
        list["BYTERANGE"] = byteRange.map { .quoted("\($0.length)@\($0.offset)") }
        return list
    }
}
