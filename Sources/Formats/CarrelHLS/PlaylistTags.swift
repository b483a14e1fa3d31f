// SPDX-License-Identifier: Apache-2.0

/// A span of time with attributes (RFC 8216 §4.3.2.7, EXT-X-DATERANGE).
package struct DateRange: Sendable, Hashable {
    /// All attributes of the tag.
    package var attributes: AttributeList

    package init(_ attributes: AttributeList) {
        self.attributes = attributes
    }

    package var id: String? { attributes["ID"]?.text }
    /// CLASS.
    package var kind: String? { attributes["CLASS"]?.text }
    /// The start date verbatim.
    package var startDate: String? { attributes["START-DATE"]?.text }
    /// The end date verbatim.
    package var endDate: String? { attributes["END-DATE"]?.text }
    package var duration: Duration? { attributes.seconds("DURATION") }
    package var plannedDuration: Duration? { attributes.seconds("PLANNED-DURATION") }
    /// Whether it ends when the next range of its class begins.
    package var endsOnNext: Bool { attributes.isYes("END-ON-NEXT") }
}

/// The offers of a server to clients that reload a playlist (draft-pantos-hls-rfc8216bis §4.4.3.8, EXT-X-SERVER-CONTROL).
package struct ServerControl: Sendable, Hashable {
    /// All attributes of the tag.
    package var attributes: AttributeList

    package init(_ attributes: AttributeList = AttributeList()) {
        self.attributes = attributes
    }

    package var canBlockReload: Bool { attributes.isYes("CAN-BLOCK-RELOAD") }
    /// How far before the end of the playlist segments can be left out.
    package var canSkipUntil: Duration? { attributes.seconds("CAN-SKIP-UNTIL") }
    package var canSkipDateRanges: Bool { attributes.isYes("CAN-SKIP-DATERANGES") }
    package var holdBack: Duration? { attributes.seconds("HOLD-BACK") }
    package var partHoldBack: Duration? { attributes.seconds("PART-HOLD-BACK") }
}

/// Segments that a playlist leaves out because the client has them (draft-pantos-hls-rfc8216bis §4.4.5.2, EXT-X-SKIP).
package struct SkippedSegments: Sendable, Hashable {
    package var count: UInt64
    /// All attributes as read; those above win when they are written.
    package var attributes = AttributeList()

    package init(count: UInt64) {
        self.count = count
    }

    /// Identifiers of removed date ranges.
    package var removedDateRanges: [String] {
        attributes["RECENTLY-REMOVED-DATERANGES"]?.text.split(separator: "\t").map(String.init) ?? []
    }

    /// The attributes of the tag.
    var tagAttributes: AttributeList {
        var list = attributes
        list["SKIPPED-SEGMENTS"] = .bare(String(count))
        return list
    }
}

/// A resource that a client may request before it exists (draft-pantos-hls-rfc8216bis §4.4.5.3, EXT-X-PRELOAD-HINT).
package struct PreloadHint: Sendable, Hashable {
    /// All attributes of the tag.
    package var attributes: AttributeList

    package init(_ attributes: AttributeList) {
        self.attributes = attributes
    }

    /// PART or MAP.
    package var kind: String? { attributes.bare("TYPE") }
    package var uri: String? { attributes["URI"]?.text }
    package var offset: UInt64 { attributes.integer("BYTERANGE-START") ?? 0 }
    /// Bytes; nil up to the end of the resource.
    package var length: UInt64? { attributes.integer("BYTERANGE-LENGTH") }
}

/// How far another rendition is (draft-pantos-hls-rfc8216bis §4.4.5.4, EXT-X-RENDITION-REPORT).
package struct RenditionReport: Sendable, Hashable {
    /// All attributes of the tag.
    package var attributes: AttributeList

    package init(_ attributes: AttributeList) {
        self.attributes = attributes
    }

    package var uri: String? { attributes["URI"]?.text }
    /// The media sequence number of its last segment.
    package var lastSequence: UInt64? { attributes.integer("LAST-MSN") }
    /// The number of its last part.
    package var lastPart: UInt64? { attributes.integer("LAST-PART") }
}

/// The point at which to begin to play (RFC 8216 §4.3.5.2, EXT-X-START).
package struct StartPoint: Sendable, Hashable {
    /// All attributes of the tag.
    package var attributes: AttributeList

    package init(_ attributes: AttributeList) {
        self.attributes = attributes
    }

    /// From the beginning; from the end when negative.
    package var timeOffset: Duration? { attributes.seconds("TIME-OFFSET") }
    /// Whether samples before the point are not to be shown.
    package var isPrecise: Bool { attributes.isYes("PRECISE") }
}
