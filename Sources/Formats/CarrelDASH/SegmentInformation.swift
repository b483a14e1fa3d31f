// SPDX-License-Identifier: Apache-2.0

/// How the segments of representations are addressed and timed: SegmentBase, SegmentList or SegmentTemplate of one level
/// (ISO/IEC 23009-1 §5.3.9). What is nil is inherited from the level above.
package struct SegmentInformation: Sendable, Hashable {
    /// The element.
    package enum Kind: String, Sendable, Hashable {
        case base = "SegmentBase"
        case list = "SegmentList"
        case template = "SegmentTemplate"
    }

    /// An address with a range (URLType).
    package struct Address: Sendable, Hashable {
        /// The URL verbatim; nil for the base itself.
        package var url: String?
        package var range: MPDByteRange?

        package init(url: String? = nil, range: MPDByteRange? = nil) {
            self.url = url
            self.range = range
        }
    }

    /// One segment of a SegmentList.
    package struct ListedSegment: Sendable, Hashable {
        package var media = Address()
        /// The address of its index; nil for most segments, which have none.
        private var indexed: IndexAddress?

        package var index: Address {
            get { indexed?.address ?? Address() }
            set { indexed = newValue == Address() ? nil : IndexAddress(newValue) }
        }

        package init(media: Address = Address()) {
            self.media = media
        }
    }

    /// An address apart from the segment, so that those without it are small.
    private final class IndexAddress: Sendable, Hashable {
        let address: Address

        init(_ address: Address) {
            self.address = address
        }

        static func == (left: IndexAddress, right: IndexAddress) -> Bool { left.address == right.address }
        func hash(into hasher: inout Hasher) { hasher.combine(address) }
    }

    /// An entry of a SegmentTimeline (§5.3.9.6).
    package struct TimelineEntry: Sendable, Hashable {
        // there may be a hundred thousand entries: absent numbers are values that no number has
        private var writtenTime: Int64
        private var writtenNumber: Int64
        /// @d.
        package var duration: Int64
        /// @r: how many more; -1 up to the next entry's time or the end of the period.
        package var repeats: Int64
        private var writtenParts: Int32

        private static let absent = Int64.min

        /// @t, in units of the timescale; nil for the end of the entry before.
        package var time: Int64? {
            get { writtenTime == Self.absent ? nil : writtenTime }
            set { writtenTime = newValue ?? Self.absent }
        }
        /// @n.
        package var number: Int64? {
            get { writtenNumber == Self.absent ? nil : writtenNumber }
            set { writtenNumber = newValue ?? Self.absent }
        }
        /// @k: segments of one entry, which make a segment sequence.
        package var parts: Int64 {
            get { Int64(writtenParts) }
            set { writtenParts = Int32(clamping: newValue) }
        }

        package init(time: Int64? = nil, duration: Int64, repeats: Int64 = 0, number: Int64? = nil, parts: Int64 = 1) {
            writtenTime = time ?? Self.absent
            writtenNumber = number ?? Self.absent
            self.duration = duration
            self.repeats = repeats
            writtenParts = Int32(clamping: parts)
        }
    }

    package var kind: Kind
    /// Units per second; 1 when absent everywhere.
    package var timescale: Int64?
    /// The media time at which the period begins.
    package var presentationTimeOffset: Int64?
    /// The media time of the first sample minus the media time of the period's start.
    package var eptDelta: Int64?
    package var indexRange: MPDByteRange?
    package var isIndexRangeExact: Bool?
    package var availabilityTimeOffset: MPDTimeOffset?
    package var availabilityTimeComplete: Bool?
    package var initialization: Address?
    package var representationIndex: Address?
    /// @duration.
    package var duration: Int64?
    package var startNumber: Int64?
    package var endNumber: Int64?
    /// @k of a template by @duration: segments of one number, which make a segment sequence.
    package var parts: Int64?
    package var timeline: [TimelineEntry]?
    package var segments: [ListedSegment]?
    package var media: URLTemplate?
    package var index: URLTemplate?
    package var initializationTemplate: URLTemplate?
    /// A list that is to be fetched from elsewhere.
    package var link: MPDLink?

    package init(_ kind: Kind) {
        self.kind = kind
    }

    /// The effective information under an upper level: its own values first, then the upper level's if both are the same element.
    func inheriting(_ upper: SegmentInformation?) -> SegmentInformation {
        guard let upper, upper.kind == kind else { return self }
        var merged = self
        merged.timescale = timescale ?? upper.timescale
        merged.presentationTimeOffset = presentationTimeOffset ?? upper.presentationTimeOffset
        merged.eptDelta = eptDelta ?? upper.eptDelta
        merged.indexRange = indexRange ?? upper.indexRange
        merged.isIndexRangeExact = isIndexRangeExact ?? upper.isIndexRangeExact
        merged.availabilityTimeOffset = availabilityTimeOffset ?? upper.availabilityTimeOffset
        merged.availabilityTimeComplete = availabilityTimeComplete ?? upper.availabilityTimeComplete
        merged.initialization = initialization ?? upper.initialization
        merged.representationIndex = representationIndex ?? upper.representationIndex
        // the lower of a duration and a timeline takes precedence
        merged.duration = duration ?? (timeline == nil ? upper.duration : nil)
        merged.startNumber = startNumber ?? upper.startNumber
        merged.endNumber = endNumber ?? upper.endNumber
        merged.parts = parts ?? upper.parts
        merged.timeline = timeline ?? (duration == nil ? upper.timeline : nil)
        merged.segments = segments ?? upper.segments
        merged.media = media ?? upper.media
        merged.index = index ?? upper.index
        merged.initializationTemplate = initializationTemplate ?? upper.initializationTemplate
        return merged
    }
}
