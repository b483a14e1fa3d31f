// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// A media presentation description (ISO/IEC 23009-1 §5.3.1).
package struct MPD: Sendable, Hashable {
    /// Whether the MPD may change while it is played.
    package enum Kind: String, Sendable, Hashable {
        case isStatic = "static"
        case dynamic
    }

    package var id: String?
    package var kind = Kind.isStatic
    /// URIs separated by commas.
    package var profiles = ""
    package var availabilityStartTime: Instant?
    package var availabilityEndTime: Instant?
    package var publishTime: Instant?
    package var mediaPresentationDuration: Duration?
    /// The minimum time between updates; nil if the MPD does not change.
    package var minimumUpdatePeriod: Duration?
    package var minBufferTime: Duration?
    /// The depth of the time-shift buffer; nil if unlimited.
    package var timeShiftBufferDepth: Duration?
    package var suggestedPresentationDelay: Duration?
    package var maxSegmentDuration: Duration?
    package var baseURLs: [MPDBaseURL] = []
    /// Addresses of the next MPD.
    package var locations: [String] = []
    package var patchLocations: [String] = []
    /// Ways to learn the time, in the order of preference.
    package var utcTimings: [MPDDescriptor] = []
    package var essentialProperties: [MPDDescriptor] = []
    package var supplementalProperties: [MPDDescriptor] = []
    package var contentProtections: [MPDContentProtection] = []
    package var periods: [MPDPeriod] = []

    package init() {}

    /// The media type (ISO/IEC 23009-1 Annex C).
    package static let mediaType = "application/dash+xml"

    /// The namespace of MPD elements.
    package static let namespace = "urn:mpeg:dash:schema:mpd:2011"

    /// A period's place in the presentation.
    package struct Timing: Sendable, Hashable {
        package var start: Duration
        /// The duration; nil while unknown.
        package var duration: Duration?
        /// Whether the period is announced and its start is not known yet (§5.3.2.1, early available period): it has the start of
        /// the one before, and no segments to play.
        package var isEarly = false

        package var end: Duration? { duration.map { start + $0 } }
    }

    /// The place of each period (§5.3.2.1): its start, or the end of the one before; its duration, or the start of the next one,
    /// or the end of the presentation. The first one starts at zero if it does not say. No start is later than 2⁴⁰ seconds.
    package var timings: [Timing] {
        var timings: [Timing] = []
        for period in periods {
            let end = timings.last.flatMap { last in last.duration.map { last.start + $0 } }
            // limited, because durations of many periods may overflow
            let start = (period.start ?? end).map { min($0, .seconds(1 << 40)) }
            let isEarly = kind == .dynamic && start == nil && !timings.isEmpty
            timings.append(
                Timing(start: start ?? timings.last?.start ?? .zero, duration: period.duration, isEarly: isEarly)
            )
            let last = timings.count - 1
            if last > 0, timings[last - 1].duration == nil, !isEarly {
                timings[last - 1].duration = max(.zero, timings[last].start - timings[last - 1].start)
            }
        }
        if let last = timings.indices.last, timings[last].duration == nil, let whole = mediaPresentationDuration {
            // a presentation that ends before it begins is counted from its first period
            let end = whole > timings[last].start ? whole : timings[0].start + whole
            timings[last].duration = max(.zero, end - timings[last].start)
        }
        return timings
    }

    /// Elements that are to be fetched from elsewhere, in their order. Their content here stands until they are.
    package var links: [MPDLink] {
        var links: [MPDLink] = []
        func add(_ link: MPDLink?) { if let link { links.append(link) } }
        for period in periods {
            add(period.link)
            add(period.information?.link)
            for stream in period.eventStreams { add(stream.link) }
            for set in period.adaptationSets {
                add(set.link)
                add(set.information?.link)
                for representation in set.representations { add(representation.information?.link) }
            }
        }
        return links
    }
}
