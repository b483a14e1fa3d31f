// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelTS

/// The samples of a track that its presentation needs, by part, and how much earlier its pictures are decoded than declared.
struct PresentationPlan: Sendable {
    /// A part with the samples that it presents.
    struct Part: Sendable {
        var part: PresentedParts.Part
        /// The range of samples in decode order; empty if the part presents none.
        var samples: Range<Int>
        /// Pictures that are presented before this time belong to the part before the first sample.
        var earliest: Int64
    }

    let parts: [Part]
    /// The ticks by which pictures are decoded before their samples' decode time.
    private(set) var delay: Int64 = 0
    /// The pictures that the edit of the only part hides at its beginning; nil without any.
    private(set) var preroll: Preroll?

    /// Looks at samples for parts, at most: an edit list multiplies the samples of its track.
    private static let workLimit = 1 << 26

    /// The search for the samples of one part.
    private struct Search {
        var part: PresentedParts.Part
        /// The first sample; for video, the last random access point that is not after the beginning.
        var first: (index: Int, presented: Int64, end: Int64)?
        /// The last sample that is presented.
        var last: Int?
        /// The first sample from `first` on that is presented after the end.
        var beyond: Int?

        mutating func look(_ sample: MP4Sample, _ index: Int, isPicture: Bool) {
            let presented = sample.decodeTime &+ sample.compositionOffset
            let middle = presented &+ sample.duration / 2
            if isPicture ? sample.isSync && presented <= part.start &+ sample.duration / 2 : first == nil && middle > part.start {
                first = (index, presented, presented &+ sample.duration)
                last = nil
                beyond = nil
            }
            guard let first, presented >= first.presented || !isPicture else { return }
            if let end = part.end, middle >= end {
                if beyond == nil { beyond = index }
            } else {
                last = index
            }
        }
    }

    /// - Parameters:
    ///   - track: the track.
    ///   - file: its file.
    /// - Throws: `unsupported` if a transport stream cannot have its parts; the errors of the reader, and `Malformed`.
    init(_ track: MP4Track, of file: MP4File) throws {
        let presented = PresentedParts(track)
        let isPicture = track.kind == "vide"
        // samples that do not fit into a transport stream may be presented in any way
        guard isPicture || track.kind == "soun" else {
            parts = [Part(part: PresentedParts.Part(start: 0, end: nil, time: 0), samples: 0..<Int.max, earliest: .min)]
            return
        }
        guard presented.parts.count > 1 || presented.fault != nil else {
            var samples = 0..<Int.max
            if let part = presented.parts.first {
                var first = try Self.beginning(of: part, track, file)
                if isPicture, part.start > 0 {
                    let candidate = try Preroll(file.samples(of: track), before: part.start, timescale: track.timescale)
                    first = candidate.first
                    if !candidate.isEmpty { preroll = candidate }
                }
                samples = first..<max(first, try Self.end(of: part, track, file))
            }
            parts = presented.parts.map { Part(part: $0, samples: samples, earliest: .min) }
            if isPicture { try findDelay(track, file) }
            return
        }
        func refuse(_ words: String) -> MediaError {
            MediaError(.unsupported, "track \(track.id) \(words), which a transport stream does not do")
        }
        if let fault = presented.fault { throw refuse(fault) }
        var searches = presented.parts.map { Search(part: $0) }
        var samples = file.samples(of: track)
        var index = 0
        while let sample = try samples.next() {
            guard index < Self.workLimit / searches.count else { throw refuse("presents too many parts of its media") }
            for i in searches.indices { searches[i].look(sample, index, isPicture: isPicture) }
            index += 1
        }
        var parts: [Part] = []
        for (number, search) in searches.enumerated() {
            // this part presents no media
            guard let first = search.first, let last = search.last else { continue }
            if isPicture {
                guard first.end > search.part.start else {
                    throw refuse("begins part \(number + 1) of its presentation between random access points")
                }
                guard search.beyond.map({ $0 > last }) ?? true else {
                    throw refuse("ends part \(number + 1) of its presentation between pictures that need each other")
                }
            }
            parts.append(
                Part(part: search.part, samples: first.index..<last + 1, earliest: isPicture ? first.presented : .min)
            )
        }
        self.parts = parts
        if isPicture { try findDelay(track, file) }
    }

    /// The position of the first audio frame that a part presents, or that the decoder needs to begin.
    private static func beginning(of part: PresentedParts.Part, _ track: MP4Track, _ file: MP4File) throws -> Int {
        guard Preroll.hidesAudio(track, before: part.start) else { return 0 }
        var samples = file.samples(of: track)
        var index = 0
        while let sample = try samples.next(), Preroll.isHidden(audio: sample, before: part.start) { index += 1 }
        return index
    }

    /// The index after the last sample that a part presents.
    private static func end(of part: PresentedParts.Part, _ track: MP4Track, _ file: MP4File) throws -> Int {
        guard let end = part.end else { return .max }
        var samples = file.samples(of: track)
        var index = 0
        var last = 0
        while let sample = try samples.next() {
            index += 1
            if sample.decodeTime &+ sample.compositionOffset &+ sample.duration / 2 < end { last = index }
        }
        return last == index ? .max : last
    }

    /// Determines the delay with which no picture is decoded after its presentation.
    private mutating func findDelay(_ track: MP4Track, _ file: MP4File) throws {
        let timescale = Int64(max(1, track.timescale))
        var clock = DecodeClock()
        var most: Int64 = 0
        var samples = file.samples(of: track)
        var index = 0
        for part in parts {
            if part.samples.lowerBound < index {
                samples = file.samples(of: track)
                index = 0
            }
            let shift = part.part.time &- MediaTime.ticks(part.part.start, timescale: timescale)
            while index < part.samples.upperBound, let sample = try samples.next() {
                defer { index += 1 }
                let presented = sample.decodeTime &+ sample.compositionOffset
                guard index >= part.samples.lowerBound, presented >= part.earliest else { continue }
                let decoded = clock.next(MediaTime.ticks(sample.decodeTime, timescale: timescale) &+ shift)
                most = max(most, decoded &- (MediaTime.ticks(presented, timescale: timescale) &+ shift))
            }
        }
        delay = most
    }
}
