// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The samples of one track in decode order: the samples listed in the movie, then the samples in fragments.
///
/// Holds windows of the tables, 100 KiB in all, whatever the length of the track, and the run headers of one fragment, which are
/// limited.
package struct MP4Samples {
    private var tableSamples: TableSamples
    private var fragmentSamples: FragmentSamples
    private let fileLength: Int64
    private let allowsTruncation: Bool
    private var pendingSample: MP4Sample?
    private var isFragment = false
    /// When the samples returned so far end, in units of the track's time scale.
    private var end: Int64 = 0
    /// Bytes of all samples so far. Samples do not overlap, so they cannot have more bytes than the file.
    private var total: Int64 = 0

    /// Samples in one run, at most.
    private static let runLimit = 1 << 16

    /// Samples returned so far.
    package private(set) var index = 0
    /// The duration of the samples returned so far, in units of the track's time scale.
    package private(set) var duration: Int64 = 0
    /// The expected offset of a sample that the file no longer holds; nothing comes after it.
    package private(set) var truncatedAt: Int64?

    init(
        _ tableSamples: TableSamples,
        _ fragmentSamples: FragmentSamples,
        fileLength: Int64,
        allowsTruncation: Bool,
        from time: Int64 = 0
    ) {
        end = time
        self.tableSamples = tableSamples
        self.fragmentSamples = fragmentSamples
        self.fileLength = fileLength
        self.allowsTruncation = allowsTruncation
    }

    /// Returns the next sample; nil after the last one.
    ///
    /// - Throws: the errors of the reader; `Malformed` if the tables contradict each other, or a sample is beyond the end of the
    ///   file. If truncation is allowed, the samples end instead, and `truncatedAt` is set.
    package mutating func next() throws -> MP4Sample? {
        if let sample = pendingSample {
            pendingSample = nil
            return handOut(sample)
        }
        guard truncatedAt == nil else { return nil }
        guard let sample = try nextListed() else { return nil }
        guard sample.offset <= fileLength, Int64(sample.size) <= fileLength - sample.offset else {
            let offset = min(sample.offset, fileLength)
            guard allowsTruncation else {
                throw Malformed("file is cut off: sample \(index) lies past its end", at: Int(offset))
            }
            truncatedAt = offset
            return nil
        }
        total += Int64(sample.size)
        guard total <= fileLength else { throw Malformed("samples overlap", at: Int(sample.offset)) }
        return handOut(sample)
    }

    private mutating func nextListed() throws -> MP4Sample? {
        if !isFragment, let sample = try tableSamples.next() { return sample }
        isFragment = true
        return try fragmentSamples.next(from: end)
    }

    /// Reads how the last sample returned by `next` is encrypted. Must be called for each sample of a protected track, in order.
    ///
    /// - Parameters:
    ///   - defaults: the parameters of the sample's description; nil for a clear one.
    ///   - result: gets the parameters of the sample.
    /// - Throws: the errors of the reader; `Malformed` if the parameters are damaged or missing.
    package mutating func readEncryption(_ defaults: TrackEncryption?, into result: inout SampleEncryption) throws {
        if isFragment {
            try fragmentSamples.readEncryption(defaults, into: &result)
        } else {
            try tableSamples.readEncryption(defaults, into: &result)
        }
    }

    /// Skips what `readEncryption` would return, for a walk that only counts; vectors of fixed length are not read.
    package mutating func skipEncryption(_ defaults: TrackEncryption?) throws {
        if !isFragment { try tableSamples.skipEncryption(defaults) }
    }

    /// The position of the next sample among the listed ones. Not valid after `nextRun`, or in fragments.
    package var position: MP4SamplePosition { tableSamples.position }

    private mutating func handOut(_ sample: MP4Sample) -> MP4Sample {
        index += 1
        duration &+= sample.duration
        end = sample.decodeTime &+ sample.duration
        return sample
    }

    /// Returns the next samples that are contiguous in the file; nil after the last one.
    ///
    /// - Parameter limit: maximum size in bytes, unless a single sample is larger.
    /// - Returns: at least one sample.
    /// - Throws: as `next`.
    package mutating func nextRun(limit: Int) throws -> MP4Run? {
        guard let first = try next() else { return nil }
        var run = MP4Run(range: first.range, sizes: [first.size])
        while run.sizes.count < Self.runLimit, let sample = try next() {
            guard sample.offset == run.range.upperBound, run.range.count + sample.size <= limit else {
                pendingSample = sample
                index -= 1
                duration &-= sample.duration
                break
            }
            run.range = run.range.lowerBound..<run.range.upperBound + Int64(sample.size)
            run.sizes.append(sample.size)
        }
        return run
    }
}

extension MP4Samples {
    /// The samples that a movie lists, from a place on, without samples of fragments.
    ///
    /// - Parameters:
    ///   - track: the track.
    ///   - reader: its file.
    ///   - position: a place that a walk through the same track had; nil is the start.
    package init(of track: MP4Track, in reader: any ByteReader, from position: MP4SamplePosition?) {
        var tableSamples = TableSamples(track.tables, track.auxiliary, reader)
        if let position { tableSamples.position = position }
        self.init(tableSamples, FragmentSamples(track, [], reader), fileLength: reader.length, allowsTruncation: false)
    }

    /// The samples of some fragments.
    ///
    /// - Parameters:
    ///   - track: the track.
    ///   - reader: its file.
    ///   - fragments: `moof` boxes, in the order of the file.
    ///   - time: when the first sample is decoded, where its fragment does not say; in units of the track's time scale.
    package init(of track: MP4Track, in reader: any ByteReader, fragments: [MP4Box], from time: Int64) {
        self.init(
            TableSamples(SampleTables(), AuxiliaryInformation(), reader),
            FragmentSamples(track, fragments, reader),
            fileLength: reader.length,
            allowsTruncation: false,
            from: time
        )
    }
}
