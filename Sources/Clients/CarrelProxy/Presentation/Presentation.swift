// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia
import CarrelReader

/// A source as the proxy presents it: variants, the segments of each, and their bytes.
protocol Presentation: Sendable {
    /// The kind of the source.
    var kind: SourceSummary.Kind { get }

    /// How the source is protected, as far as its playlists or its tables say.
    ///
    /// - Returns: each once.
    /// - Throws: ``ProxyError``.
    func protections() async throws -> [MediaProtection]

    /// The variants and renditions.
    ///
    /// - Returns: the same at every call while the source lasts.
    /// - Throws: ``ProxyError``.
    func outline() async throws -> Outline

    /// The segments of a rendition that exist now. A live source is read again when that is due.
    ///
    /// - Parameter rendition: one of the outline.
    /// - Returns: segments in order.
    /// - Throws: ``ProxyError``.
    func segments(of rendition: RenditionName) async throws -> SegmentList

    /// Opens a segment.
    ///
    /// - Parameter name: the name of a listed segment.
    /// - Returns: its bytes, produced on demand.
    /// - Throws: ``ProxyError``.
    func open(_ name: SegmentName) async throws -> ServedMedia

    /// The segment after another: the player's likely next request.
    ///
    /// - Parameter name: the name of a listed segment.
    /// - Returns: nil after the last one, or if a live source does not have the next one yet.
    func next(after name: SegmentName) async -> SegmentName?

    /// Opens the initialization segment of a rendition, of fragmented output.
    ///
    /// - Parameter name: with the period and the rendition.
    /// - Returns: its bytes.
    /// - Throws: ``ProxyError``.
    func openInitialization(_ name: SegmentName) async throws -> ServedMedia

    /// The file that contains the segments of a rendition, for fragmented output.
    ///
    /// - Parameter name: names the period and the rendition.
    /// - Returns: the file with the ranges of its segments.
    /// - Throws: ``ProxyError``: `proxy.missing` if segments are separate resources.
    func file(of name: SegmentName) async throws -> RangedFile

    /// Ends the requests that no response waits for: the session has ended.
    func end()
}

extension Presentation {
    /// No background work to end.
    func end() {}

    /// Returns nil: files that are read by ranges need no prefetching.
    func next(after name: SegmentName) async -> SegmentName? { nil }

    /// Segments are resources of their own.
    func file(of name: SegmentName) async throws -> RangedFile { throw SegmentName.unknown }
}

/// Which tracks a playlist holds, by their places in the outline of the source.
package struct RenditionName: Sendable, Hashable {
    /// Pictures.
    package var video: Int?
    /// Audio, with video or alone.
    package var audio: Int?
    /// Subtitles.
    package var text: Int?
    /// Whether it lists sync pictures alone.
    package var isPictures = false

    /// Whether it has subtitles only, which are served as WebVTT.
    var isText: Bool { text != nil && video == nil && audio == nil }

    /// The one track by which its segments are cut: pictures, or text, or audio.
    var main: RenditionName {
        if video != nil { return RenditionName(video: video, isPictures: isPictures) }
        return text != nil ? RenditionName(text: text) : RenditionName(audio: audio)
    }

    init(video: Int? = nil, audio: Int? = nil, text: Int? = nil, isPictures: Bool = false) {
        self.video = video
        self.audio = audio
        self.text = text
        self.isPictures = isPictures
    }
}

/// The variants and renditions of a presentation.
struct Outline: Sendable {
    /// A combination of tracks at one bit rate.
    struct Variant: Sendable {
        var name: RenditionName
        /// Bits a second, at most.
        var bandwidth: Int
        var codecs: String?
        var width: Int?
        var height: Int?
        var frameRate: String?
        /// Whether audio is in the group of renditions instead.
        var hasAudioGroup = false
    }

    /// A separate audio or subtitle rendition.
    struct Rendition: Sendable {
        var name: RenditionName
        /// The name that players show.
        var label: String
        var language: String?
        var isDefault = false
    }

    var variants: [Variant] = []
    var audio: [Rendition] = []
    var texts: [Rendition] = []
    /// Playlists of sync pictures, with their bit rates.
    var pictures: [Variant] = []
    /// Whether segments are added and expire.
    var isLive = false
    /// The audio of the source, multiplexed with video or as separate renditions.
    var languages: [Rendition] = []
    /// Requests of the caller that the source cannot meet.
    var warnings: [Warning] = []

    enum Warning: Sendable, Equatable {
        /// Segments have no other form.
        case transportStream
        /// A part of the source has the address of another origin.
        case remoteElement(String)

        /// A lower-case sentence without a period.
        var text: String {
            switch self {
            case .transportStream: "the source has transport streams, which go out unchanged, not as fragmented MP4"
            case .remoteElement(let url):
                "a part of the manifest at \(MediaOrigin.shown(url)) is not loaded: it is of another origin"
            }
        }

        /// The event for those who follow what the proxy does.
        var trace: Trace {
            switch self {
            case .transportStream: Trace(.proxy, .now(), "transport streams go out unchanged, not as fragments")
            case .remoteElement(let url): Trace(.proxy, .now(), "a remote element is not loaded", [.init("url", .url(url))])
            }
        }
    }
}

/// The segments of a rendition.
struct SegmentList: Sendable {
    struct Segment: Sendable {
        var name: SegmentName
        /// The start time in the presentation, if known.
        var start = Duration.zero
        var duration: Duration
        /// Whether it does not continue the previous segment.
        var isDiscontinuity = false
        /// Whether there is no media.
        var isGap = false
        /// Whether the initialization segment changes here.
        var hasInitialization = false
        /// Whether its place in the source changes when others leave it, so that it does not name it.
        var hasMovingPlace = false
        /// The name of the initialization segment, if it is not derived from this segment's name.
        var initialization: SegmentName?
        /// Its range in the file of its rendition and period, if the origin also has a single file.
        var byteRange: Range<Int64>?
        /// When its first sample was made (RFC 3339).
        var date: String?
    }

    var segments: [Segment] = []
    var mediaSequence: UInt64 = 0
    var discontinuitySequence: UInt64 = 0
    /// Whether no segment follows.
    var isEnded = true
    /// Whether segments are transport streams whatever the output setting, because the source has no fragments.
    var isTransportStream = false
    /// The format of audio without a container.
    var packedAudio: PackedFormat?
    /// Whether segments are found by their times.
    var hasTimes = false
    /// Whether a period has one initialization segment for each rendition, so that these name it.
    var hasInitializationsOfPeriods = false
    /// Lower bound of the target duration in seconds: a live list must not change it.
    var leastTarget: UInt64 = 0
}
