// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFileSegments
import CarrelMP4
import CarrelMedia
import CarrelMediaSource
import CarrelThreads

/// One transport stream, scrambled or in the clear, as HLS.
final class StreamPresentation: Presentation {
    private let segmentation: ScrambledSegments
    /// The keys that its threads ask for.
    private let use = KeyUse()
    private let threads: SessionThreads
    private let isScrambled: Bool
    private let plan: TrackPlan
    private let wantsFragments: Bool

    private static let target = Duration.seconds(6)

    /// Probes a stream and divides it into segments: by the caller's index, a scan if it is short, its duration or bit rate.
    ///
    /// - Throws: ``ProxyError``: `proxy.clear-content` if nothing is scrambled and the policy requires protection.
    init(
        _ reader: any ByteReader & Sendable,
        name: String,
        head: [UInt8],
        _ origin: MediaOrigin,
        _ settings: SessionSettings
    ) async throws(ProxyError) {
        let parameters = settings.parameters
        threads = settings.threads
        var track = OfferedTrack(kind: .video, place: 0)
        track.includesAudio = true
        plan = try TrackPlan([track], settings.wishes)
        wantsFragments = plan.output == .fragments
        do {
            var index: ScrambledIndex?
            if let address = parameters.indexURL {
                let (bytes, _) = try await origin.load(origin.resolve(address), limit: ScrambledIndex.lengthLimit)
                index = try ScrambledIndex(bytes.rawSpan)
            }
            // of a remote stream nothing is read through
            let limit = origin.isRemote ? 4 << 20 : ScrambledSegments.scanLimit
            isScrambled = ScrambledSegment.isScrambled(head)
            guard isScrambled || settings.takesClearContent else {
                throw ProxyError(.clearContent, "\(name): no packet is scrambled")
            }
            segmentation = try await settings.threads.run { [index, use] in
                try ScrambledSegments(
                    reader,
                    keys: settings.keys.keys(for: use),
                    target: Self.target,
                    index: index,
                    duration: parameters.durationSeconds.map { .seconds($0) },
                    bitrate: parameters.bitrate,
                    clock: settings.clock,
                    scanLimit: limit
                )
            }
        } catch {
            throw ProxyError(error, in: name)
        }
    }

    private static let rendition = RenditionName(video: 0)

    var kind: SourceSummary.Kind { .transportStream }

    func protections(_ use: KeyUse) -> [MediaProtection] { isScrambled ? [.scrambledTransportStream] : [] }

    func outline(_ use: KeyUse) -> Outline {
        var outline = plan.outline
        outline.variants[0].bandwidth = segmentation.bandwidth.peak
        if wantsFragments { outline.warnings = [.transportStream] }
        return outline
    }

    func segments(of rendition: RenditionName, _ use: KeyUse) throws -> SegmentList {
        guard rendition == Self.rendition else { throw SegmentName.unknown }
        var list = SegmentList()
        list.isTransportStream = true
        list.segments = segmentation.segments.enumerated().map { place, segment in
            SegmentList.Segment(name: SegmentName(rendition, index: Int64(place)), duration: segment.duration)
        }
        return list
    }

    func open(_ name: SegmentName, _ use: KeyUse) throws -> ServedMedia {
        let index = Int(clamping: name.index)
        guard name.rendition == Self.rendition, segmentation.segments.indices.contains(index) else { throw SegmentName.unknown }
        let segmentation = segmentation
        // the keys of one segment also decrypt the next ones
        var media = ServedMedia(
            .transportStream,
            try ThreadBytes(threads, name: "the source") { sink in try segmentation.write(index, to: &sink) }
        )
        media.uses.append(self.use)
        return media
    }

    func openInitialization(_ name: SegmentName, _ use: KeyUse) throws -> ServedMedia { throw SegmentName.unknown }
}
