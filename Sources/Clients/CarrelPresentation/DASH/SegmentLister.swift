// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH
import CarrelMediaSource

/// Lists the segments of renditions, by a manifest at one time.
struct SegmentLister: Sendable {
    let manifest: Manifest
    let tracks: DASHTracks
    let indexes: IndexCache
    /// The current time by the MPD's clock.
    let now: Instant
    /// Whether the source is live, or was.
    let hasLiveNames: Bool

    /// Segments of a live list, at most: eleven hours of two seconds each.
    private static let liveLimit = 20_000
    /// Segments of which the durations of a timeline are compared, at least.
    private static let leastRegular = 3
    /// Durations of audio segments differ by up to a frame; a larger sum is not a rounding error.
    private static let jitter = Duration.milliseconds(100)

    private var isLive: Bool { manifest.mpd.kind == .dynamic }

    /// The remaining budget of segments: for one list, and for all lists that are compared.
    private struct Room {
        var pictures = SegmentPlaces.limit
        var audio = SegmentPlaces.limit
        var all: Int

        /// Takes segments of a list.
        ///
        /// - Returns: false if the list would have too many.
        mutating func take(_ count: Int, of list: WritableKeyPath<Room, Int>) throws(Spent) -> Bool {
            guard count <= self[keyPath: list] else { return false }
            guard count <= all else { throw Spent() }
            self[keyPath: list] -= count
            all -= count
            return true
        }

        /// Begins another list.
        mutating func begin() { (pictures, audio) = (SegmentPlaces.limit, SegmentPlaces.limit) }

        /// The lists that are compared have too many segments together.
        struct Spent: Error {}
    }

    // MARK: - Lists

    /// The segments of a rendition in all periods.
    ///
    /// A period that does not have the rendition has gaps in their place, so that all renditions keep in step.
    func pairs(_ name: RenditionName) async throws -> SegmentPairs {
        var room = Room(all: .max)
        return try await pairs(name, &room)
    }

    private func pairs(_ name: RenditionName, _ room: inout Room) async throws -> SegmentPairs {
        var pairs = SegmentPairs(name)
        // a list holds what each track of it may have
        room.begin()
        let last = manifest.timings.lastIndex { !$0.isEarly }
        for period in manifest.timings.indices where !manifest.timings[period].isEarly {
            try Task.checkCancellation()
            let place = manifest.name(ofPeriod: period)
            let main = try tracks.track(name, .main).flatMap { manifest.stream($0, inPeriod: period) }
            let audio = name.video == nil ? nil : try tracks.track(name, .audio).flatMap { manifest.stream($0, inPeriod: period) }
            guard let main else {
                if let audio {
                    // audio is listed alone, although video would be multiplexed with it
                    let places = try await places(audio, &room, \.pictures)
                    pairs.add(places, nil, period: place, as: RenditionName(audio: name.audio))
                } else if let other = try reference(period) {
                    pairs.addGaps(try await places(other, &room, \.pictures), period: place)
                }
                continue
            }
            let first = try await places(main, &room, \.pictures)
            var second: SegmentPlaces?
            if let audio { second = try await places(audio, &room, \.audio) }
            pairs.add(first, second, period: place, isLive: isLive, isGrowing: isLive && period == last)
        }
        return pairs
    }

    /// The stream of a period whose segment boundaries also divide its gaps.
    private func reference(_ period: Int) throws(ProxyError) -> MPDStream? {
        for track in tracks.video.prefix(1) + tracks.audio + tracks.texts {
            if let stream = manifest.stream(track, inPeriod: period) { return stream }
        }
        return nil
    }

    /// The segments of a stream that exist now: not more than there is room for, which they take.
    private func places(_ stream: MPDStream, _ room: inout Room, _ list: WritableKeyPath<Room, Int>) async throws -> SegmentPlaces
    {
        try Task.checkCancellation()
        let segments = try manifest.segments(of: stream)
        if let index = try await indexes.index(of: stream, segments) {
            try take(index.entries.count, of: stream, &room, list)
            return SegmentPlaces(index, of: stream)
        }
        var range = isLive ? segments.available(in: manifest.mpd, at: now) : 0..<(segments.count ?? 0)
        // without a limit on the window, every list would be longer than the previous one
        if isLive { range = range.suffix(Self.liveLimit) }
        try take(range.count, of: stream, &room, list)
        var places = SegmentPlaces(segments, range, of: stream)
        places.isMoving = hasLiveNames && stream.information?.timeline != nil
        return places
    }

    private func take(_ count: Int, of stream: MPDStream, _ room: inout Room, _ list: WritableKeyPath<Room, Int>) throws {
        guard try room.take(count, of: list) else {
            let limit = SegmentPlaces.limit
            throw ProxyError(.manifest, "a list has more than \(limit) segments, up to those of representation '\(stream.id)'")
        }
    }

    // MARK: - Alignment

    /// Whether every video segment has an audio segment in all periods, now and in later manifests.
    ///
    /// - Returns: false also if the representations have too many segments to compare.
    func isAligned() async throws -> Bool {
        // of pictures, and as many of audio
        var room = Room(all: 2 * SegmentPlaces.limit)
        do { return try await isAligned(&room) } catch is Room.Spent { return false }
    }

    private func isAligned(_ room: inout Room) async throws -> Bool {
        guard let first = tracks.video.first else { return true }
        let known = manifest.timings.indices.map { manifest.stream(first, inPeriod: $0)?.information }
        for (place, track) in tracks.video.enumerated() {
            try Task.checkCancellation()
            if place > 0, isTimed(track, as: known) { continue }
            guard try await pairs(RenditionName(video: place, audio: 0), &room).isAligned else { return false }
        }
        guard isLive else { return true }
        for period in manifest.timings.indices where !manifest.timings[period].isEarly {
            if try await drifts(inPeriod: period, &room) { return false }
        }
        return true
    }

    /// Whether two representations have the same times in every period, by the MPD.
    private func isTimed(_ track: Manifest.Track, as other: [SegmentInformation?]) -> Bool {
        manifest.timings.indices.allSatisfy { period in
            switch (manifest.stream(track, inPeriod: period)?.information, other[period]) {
            case (nil, nil): true
            case (let one?, let two?): SegmentTimes.areEqual(one, two)
            default: false
            }
        }
    }

    /// Whether segments of pictures and audio have durations that lead them apart by more than half a segment within a period.
    private func drifts(inPeriod period: Int, _ room: inout Room) async throws -> Bool {
        guard let pictures = try await regularDuration(tracks.video.first, period, &room), pictures.duration > .zero,
            let audio = try await regularDuration(tracks.audio.first, period, &room)
        else { return false }
        let (one, other) = (pictures.duration, audio.duration)
        let difference = one > other ? one - other : other - one
        let count = min(pictures.count ?? .max, audio.count ?? .max)
        guard difference > .microseconds(1), count == .max || difference * count > Self.jitter else { return false }
        guard let length = manifest.timings[period].duration else { return true }
        return (length / one) * (difference / one) > 0.5
    }

    /// The duration that all segments of a track have.
    private struct RegularDuration {
        var duration: Duration
        /// The number of timeline segments available; nil if the MPD declares all of them available.
        var count: Int?
    }

    private func regularDuration(_ track: Manifest.Track?, _ period: Int, _ room: inout Room) async throws -> RegularDuration? {
        guard let stream = track.flatMap({ manifest.stream($0, inPeriod: period) }), let information = stream.information else {
            return nil
        }
        let segments = try manifest.segments(of: stream)
        if information.timeline == nil, information.duration != nil {
            return segments[0].flatMap { $0.duration == nil ? nil : RegularDuration(duration: SegmentPlaces.Place($0).duration) }
        }
        // the last one may end with its period
        room.begin()
        let places = try await places(stream, &room, \.pictures).places.dropLast()
        guard places.count >= Self.leastRegular, let first = places.first?.duration, places.allSatisfy({ $0.duration == first })
        else { return nil }
        return RegularDuration(duration: first, count: places.count)
    }
}
