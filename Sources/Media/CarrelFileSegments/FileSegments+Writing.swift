// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelMP4
package import CarrelMedia
import CarrelTS

extension FileSegments {
    /// Packets that are written together.
    private static let blockLength = 1 << 18
    /// Maximum size of the samples of a fragment, unless a single sample is larger: the header before them contains their sizes.
    private static let fragmentLength = 1 << 20
    /// Samples of a fragment, at most.
    private static let fragmentSamples = 1 << 14

    /// The samples of a track in a segment; of the first one those from which the presentation is decoded.
    private func walkPresented(_ track: Int, in segment: Int) throws -> ClearTrackReader {
        let walk = try walk(track, in: segment)
        for _ in 0..<(segment == 0 ? beginning.skippedCounts[track] : 0) { try walk.skip() }
        return walk
    }

    private func walk(_ track: Int, in segment: Int) throws -> ClearTrackReader {
        let source = sources[track]
        let listedCount = segments.count - stretches.count
        if segment < listedCount {
            let part = SegmentPlanner.part(of: segment, in: parts[track])
            let samples = MP4Samples(of: source, in: reader, from: part?.position ?? .first)
            return try ClearTrackReader(source, samples, in: reader, protection, count: part?.count ?? 0)
        }
        let stretch = stretches[segment - listedCount]
        let fragments = try SegmentPlanner.fragments(in: stretch.range, of: reader)
        return try walk(track, fragments, from: stretch.times[track])
    }

    private func walk(_ track: Int, _ fragments: [MP4Box], from time: Int64) throws -> ClearTrackReader {
        let samples = MP4Samples(of: sources[track], in: reader, fragments: fragments, from: time)
        return try ClearTrackReader(sources[track], samples, in: reader, protection)
    }

    /// The key IDs in the fragments of a segment, which may differ from the tracks' key IDs.
    ///
    /// - Parameter index: the segment.
    /// - Returns: each key ID with its track.
    /// - Throws: `unavailable` if the segment does not exist; `Malformed`; the errors of the reader.
    package func keyIDs(of index: Int) throws -> [(track: UInt32, id: KeyID)] {
        guard segments.indices.contains(index) else { throw MediaError(.unavailable, "there is no segment \(index)") }
        let listedCount = segments.count - stretches.count
        let protected = sources.filter { protection.tracks.contains($0.id) && protection.whole[$0.id] == nil }
        guard index >= listedCount, !protected.isEmpty else { return [] }
        let fragments = try SegmentPlanner.fragments(in: stretches[index - listedCount].range, of: reader)
        return try FragmentSurvey.keyIDs(of: protected, in: fragments, of: reader)
    }

    /// Writes one segment. Of other segments, only the headers of fragments are read.
    ///
    /// A transport stream begins with its tables and, if it has video, with an I-frame and its parameter sets. Its initial
    /// continuity counters are the final ones of every other segment of the same tracks. Memory is one sample per track, and 1.5
    /// MiB.
    ///
    /// - Parameters:
    ///   - index: the segment.
    ///   - form: the form; `.fragment` needs exactly one track.
    ///   - trackIDs: the IDs of the tracks to write; nil for all.
    ///   - sink: gets the bytes in order.
    /// - Throws: `unavailable` if the segment does not exist; `unsupported` if no track fits the form; `wrongKey`, `missingKey`,
    ///   `Malformed`; the errors of the reader and the sink.
    package func write(
        _ index: Int,
        as form: Form,
        tracks trackIDs: Set<UInt32>? = nil,
        to sink: inout some MediaSink
    ) throws {
        guard segments.indices.contains(index) else { throw MediaError(.unavailable, "there is no segment \(index)") }
        let selection = sources.indices.filter { trackIDs?.contains(sources[$0].id) ?? true }
        switch form {
        case .transportStream: try writeTransport(index, selection, to: &sink)
        case .fragment:
            guard selection.count == 1 else { throw MediaError(.unsupported, "a segment of fragments has one track") }
            try writeFragments(index, selection[0], to: &sink)
        }
    }

    // MARK: - Transport streams

    private func writeTransport(_ index: Int, _ selection: [Int], to sink: inout some MediaSink) throws {
        var remuxer = try TransportRemuxer(selection.map { sources[$0] }, delays: delays)
        var walks: [ClearTrackReader?] = []
        for (position, track) in selection.enumerated() {
            walks.append(remuxer.takes(position) ? try walkPresented(track, in: index) : nil)
            if index == 0, let preroll = beginning.prerolls[track] { remuxer.begin(preroll, of: position, at: preroll.first) }
        }
        let tables = tablesBefore(index, selection)
        remuxer.beginSegment(after: tables ?? 0)
        while let next = Self.earliest(walks) {
            guard let walk = walks[next] else { break }
            try Self.write(walk, as: next, with: &remuxer)
            if remuxer.packets.count >= Self.blockLength {
                try sink.write(remuxer.packets.bytes)
                remuxer.packets.removeAll()
            }
        }
        remuxer.endAlignedSegment(alignsTables: tables == nil)
        try sink.write(remuxer.packets.bytes)
    }

    private static func write(_ reader: ClearTrackReader, as position: Int, with remuxer: inout TransportRemuxer) throws {
        try reader.next { sample, bytes, range in
            do throws(Malformed) { try remuxer.write(sample, of: position, &bytes, in: range) } catch {
                throw reader.isProtected
                    ? MediaError(
                        .wrongKey,
                        "track \(reader.track.id): \(error.what) behind the decryption: the key is another, or the file is damaged"
                    )
                    : Malformed(error.what, at: Int(clamping: sample.offset) + error.offset)
            }
        }
    }

    /// The track whose next sample is decoded first.
    private static func earliest(_ walks: [ClearTrackReader?]) -> Int? {
        var first: Int?
        var time = Double.infinity
        for (index, walk) in walks.enumerated() {
            guard let walk, let sample = walk.sample else { continue }
            let decoded = Double(sample.decodeTime) / Double(max(1, walk.track.timescale))
            if decoded < time { (first, time) = (index, decoded) }
        }
        return first
    }

    /// How many times the tables are written before a segment: once per segment and once per I-frame; nil if not all I-frames are
    /// known.
    private func tablesBefore(_ index: Int, _ selection: [Int]) -> Int? {
        let pictures = selection.filter { sources[$0].kind == "vide" }
        if pictures.isEmpty { return index }
        guard stretches.isEmpty, pictures == [leading], syncSamples.count < SegmentPlanner.syncLimit else { return nil }
        var low = 0
        var high = syncSamples.count
        while low < high {
            let middle = (low + high) / 2
            if syncSamples[middle].segment < index { low = middle + 1 } else { high = middle }
        }
        return index + low
    }

    /// Writes one picture that is decoded alone.
    ///
    /// - Parameters:
    ///   - number: its place in `iFrames`.
    ///   - form: the form.
    ///   - sink: gets the bytes in order.
    /// - Throws: as `write`.
    package func writeIFrame(_ number: Int, as form: Form = .transportStream, to sink: inout some MediaSink) throws {
        guard syncSamples.indices.contains(number) else { throw MediaError(.unavailable, "there is no picture \(number)") }
        let syncSample = syncSamples[number]
        let listedCount = segments.count - stretches.count
        let walk: ClearTrackReader
        if syncSample.segment < listedCount {
            walk = try self.walk(leading, in: syncSample.segment)
        } else {
            let stretch = stretches[syncSample.segment - listedCount]
            let range = syncSample.offset..<stretch.range.upperBound
            walk = try self.walk(
                leading,
                try SegmentPlanner.fragments(in: range, of: reader, first: true),
                from: stretch.times[leading]
            )
        }
        for _ in 0..<syncSample.ordinal { try walk.skip() }
        let index = syncSample.segment == 0 && syncSample.offset == 0 ? syncSample.ordinal : nil
        if form == .fragment { return try writeFragments(walk, leading, from: number, at: index, limit: 1, to: &sink) }
        var remuxer = try TransportRemuxer([sources[leading]], delays: delays)
        if let index, let preroll = beginning.prerolls[leading] { remuxer.begin(preroll, of: 0, at: index) }
        remuxer.beginSegment(after: 2 * number)
        try Self.write(walk, as: 0, with: &remuxer)
        remuxer.endAlignedSegment()
        try sink.write(remuxer.packets.bytes)
    }

    // MARK: - Fragments

    /// The clear initialization segment of a track.
    ///
    /// - Parameter id: the track; nil if there is only one.
    /// - Returns: `ftyp` and `moov`.
    /// - Throws: `unsupported` if the track does not exist, or there are several; `malformed` if its description cannot be
    ///   written.
    package func initialization(of id: UInt32? = nil) throws -> [UInt8] {
        let selection = sources.filter { id == nil || $0.id == id }
        guard selection.count == 1 else { throw MediaError(.unsupported, "a segment of fragments has one track") }
        do throws(Malformed) {
            var track = try MovieTrack(selection[0])
            // fragment times are presentation times
            track.edits = []
            track.isEnabled = true
            if let index = sources.firstIndex(where: { $0.id == selection[0].id }) {
                track.timescale = UInt32(clamping: Int64(track.timescale) * beginning.scales[index])
            }
            return InitializationSegment(track).bytes
        } catch {
            throw MediaError(.malformed, "track \(selection[0].id): \(error.what)")
        }
    }

    private func writeFragments(_ index: Int, _ track: Int, to sink: inout some MediaSink) throws {
        let first = index == 0 ? beginning.skippedCounts[track] : nil
        try writeFragments(try walkPresented(track, in: index), track, from: index &* 4096, at: first, to: &sink)
    }

    private func writeFragments(
        _ walk: ClearTrackReader,
        _ track: Int,
        from number: Int,
        at first: Int?,
        limit: Int = .max,
        to sink: inout some MediaSink
    ) throws {
        let shift = clocks[track].unitShift
        var fragment: MediaFragment?
        var data: [UInt8] = []
        var number = UInt32(truncatingIfNeeded: number)
        var remaining = limit
        var index = first
        try sink.write(SegmentType.bytes.rawSpan)
        func flush(_ sink: inout some MediaSink) throws {
            if let fragment {
                try sink.write(fragment.header.rawSpan)
                try sink.write(data.rawSpan)
            }
            fragment = nil
            data.removeAll(keepingCapacity: true)
        }
        while remaining > 0, let next = walk.sample {
            remaining -= 1
            let sample = beginning.fragmentSample(next, at: index, of: track, shift: shift, lead: leads[track])
            index = index.map { $0 + 1 }
            if let open = fragment {
                let isFull = data.count + sample.size > Self.fragmentLength || open.count >= Self.fragmentSamples
                if isFull || open.entry != sample.entry { try flush(&sink) }
            }
            if fragment == nil {
                guard let time = UInt64(exactly: sample.decodeTime) else {
                    throw MediaError(
                        .unsupported,
                        "track \(sources[track].id): a sample is decoded more than ten seconds before the presentation begins"
                    )
                }
                number &+= 1
                fragment = MediaFragment(
                    sequenceNumber: number,
                    trackID: sources[track].id,
                    decodeTime: time,
                    entry: sample.entry
                )
            }
            try walk.next { _, bytes, range in
                data.append(copying: bytes.bytes.extracting(range))
                let fits = fragment?.append(
                    size: range.count,
                    duration: sample.duration,
                    compositionOffset: sample.compositionOffset,
                    isSync: sample.isSync
                )
                guard fits == true else {
                    throw Malformed("a sample's numbers do not fit into a fragment", at: Int(clamping: sample.offset))
                }
            }
        }
        try flush(&sink)
    }
}
