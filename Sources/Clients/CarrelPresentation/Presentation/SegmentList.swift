// SPDX-License-Identifier: Apache-2.0

/// The segments of a rendition.
package struct SegmentList: Sendable {
    package struct Segment: Sendable {
        package var name: SegmentName
        /// The start time in the presentation, if known.
        package var start = Duration.zero
        package var duration: Duration
        /// Whether it does not continue the previous segment.
        package var isDiscontinuity = false
        /// Whether there is no media.
        package var isGap = false
        /// Whether the initialization segment changes here.
        package var hasInitialization = false
        /// Whether its place in the source changes when others leave it, so that it does not name it.
        package var hasMovingPlace = false
        /// The name of the initialization segment, if it is not derived from this segment's name.
        package var initialization: SegmentName?
        /// Its range in the file of its rendition and period, if the origin also has a single file.
        package var byteRange: Range<Int64>?
        /// When its first sample was made (RFC 3339).
        package var date: String?

        package init(name: SegmentName, start: Duration = .zero, duration: Duration) {
            self.name = name
            self.start = start
            self.duration = duration
        }
    }

    package var segments: [Segment] = []
    package var mediaSequence: UInt64 = 0
    package var discontinuitySequence: UInt64 = 0
    /// Whether no segment follows.
    package var isEnded = true
    /// Whether segments are transport streams whatever the output setting, because the source has no fragments.
    package var isTransportStream = false
    /// The format of audio without a container.
    package var packedAudio: PackedFormat?
    /// Whether segments are identified by their times, and each rendition of a period has one initialization segment.
    package var hasTimes = false
    /// Lower bound of the target duration in seconds: a live list must not change it.
    package var leastTarget: UInt64 = 0

    package init() {}

    /// The query fields of the initialization segment that a segment needs.
    package func initializationQuery(of segment: Segment) -> String {
        let name = segment.initialization ?? segment.name
        return hasTimes ? name.fileQuery : name.query(hasTime: false)
    }
}
