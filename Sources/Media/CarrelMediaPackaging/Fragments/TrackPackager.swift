// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelBytes
import CarrelCrypto
import CarrelMP4

/// Writes one track as fragments, encrypted, segment after segment.
///
/// Memory is one fragment: a fragment ends with its segment, before a sync sample of video, and after 4 MiB.
final class TrackPackager: SegmentedTrack {
    let track: PackagedTrack
    private let options: PackagingOptions
    private let keys: [PackagingKey]
    let cuts: [Int64]
    private let plan: SegmentPlan
    /// The time in the media at which the presentation begins, in units of the track.
    private let origin: Int64
    private let folder: PackageFolder
    private var rendition: PackagedRendition
    private var encrypter: TrackEncrypter?
    private var defaults: TrackEncryption?

    private var fragment: MediaFragment?
    /// The encryption of the fragment's samples; clear ones have no entry.
    private var protection = MediaFragment.Protection()
    private var isProtected = false
    private var media: [UInt8] = []
    private var sequence: UInt32 = 0
    private var sink: PackageFile?
    private var firstSampleLength = 0
    private var firstTime: Int64 = 0

    /// Bytes of a fragment, at most, unless one sample has more.
    private static let fragmentLength = 4 << 20
    /// Half a second: fragments of pictures that are sync samples one and all are not shorter.
    private static let shortest = 2

    init(
        _ track: PackagedTrack,
        name: String,
        keys: [PackagingKey],
        _ plan: SegmentPlan,
        _ options: PackagingOptions,
        _ folder: PackageFolder
    ) {
        self.track = track
        self.options = options
        self.folder = folder
        self.keys = keys
        cuts = plan.cuts(of: track)
        self.plan = plan
        origin = plan.origin(of: track)
        let scheme = keys.isEmpty ? nil : options.scheme
        rendition = PackagedRendition(track: track, name: name, layout: options.layout, scheme: scheme)
        rendition.origin = origin
    }

    /// Writes the track.
    ///
    /// - Parameters:
    ///   - vectors: the source of initialization vectors.
    ///   - progress: gets the sample bytes written; it may throw to end the work.
    /// - Returns: the rendition written.
    /// - Throws: `Malformed`, and read or write errors.
    func write(vectors: inout VectorSequence, progress: (Int) throws -> Void) throws -> PackagedRendition {
        try begin(&vectors)
        try writeSegments(vectors: &vectors, progress: progress)
        try finish()
        return rendition
    }

    private func begin(_ vectors: inout VectorSequence) throws {
        var movie = try track.movieTrack()
        var systems: [ProtectionSystemHeader] = []
        if let scheme = rendition.scheme, let key = keys.first {
            let encrypter = try TrackEncrypter(track.entry, scheme: scheme, key: key, vectors: &vectors)
            self.encrypter = encrypter
            defaults = encrypter.encryption
            rendition.defaultKey = key
            let clear = movie.entries[0]
            let type = FourCC(stringLiteral: scheme.rawValue)
            movie.entries = [
                SampleEntry.protected(clear, handler: movie.handler, scheme: type, encrypter.encryption)
            ]
            if options.clearLead > 0 { movie.entries.append(clear) }
            systems = ProtectionSystemHeader.standard(for: options.rotation > 0 ? keys.map(\.id) : [key.id])
        }
        let start = InitializationSegment(movie, systems: systems, duration: track.end + origin).bytes
        rendition.initializationLength = Int64(start.count)
        let file = try folder.create(rendition.initializationPath)
        try file.write(start.rawSpan)
        switch options.layout {
        case .segments: try file.close()
        case .ranges:
            // the index is written over this when all segments are known
            let length = SegmentIndexBox.length(references: cuts.count)
            rendition.index = Int64(start.count)..<Int64(start.count + length)
            try file.write([UInt8](repeating: 0, count: length).rawSpan)
            sink = file
        }
    }

    private func endsFragment(_ sample: MP4Sample, _ time: Int64, _ size: Int) -> Bool {
        guard let fragment, fragment.count > 0 else { return false }
        if media.count + size > Self.fragmentLength { return true }
        guard track.kind == .video, sample.isSync else { return false }
        return Int64(clamping: fragment.duration) * Int64(Self.shortest) >= track.timescale
    }

    func beginSegment(_ number: Int, at time: Int64, _ vectors: inout VectorSequence) throws {
        try endSegment(at: time)
        if rendition.segments.isEmpty {
            rendition.lead = plan.cuts[...number]
            if number > 0 { try folder.write(rendition.gapPath, SegmentType.bytes + MediaFragment.empty(trackID: 1)) }
        }
        var segment = PackagedSegment(start: time, offset: 0)
        // by the cut, which all tracks share, and not by the frame next to it
        let isLead = options.clearLead > 0 && track.microseconds(cuts[number]) + 1500 < options.clearLead * 1000
        if let encrypter, !isLead {
            if options.rotation > 0 {
                let key = keys[number / options.rotation % keys.count]
                if key.id != encrypter.encryption.keyID { try encrypter.rotate(to: key, vectors: &vectors) }
            }
            let key = keys.first { $0.id == encrypter.encryption.keyID }
            segment.key = key
            segment.encryption = encrypter.encryption
            if let key, !rendition.keys.contains(where: { $0.id == key.id }) { rendition.keys.append(key) }
        }
        if options.layout == .segments {
            let file = try folder.create(rendition.path(ofSegment: rendition.segments.count))
            try file.write(SegmentType.bytes.rawSpan)
            sink = file
        }
        segment.offset = options.layout == .ranges ? sink?.length ?? 0 : 0
        rendition.segments.append(segment)
    }

    func add(
        _ sample: MP4Sample,
        _ time: Int64,
        _ bytes: borrowing MutableRawSpan,
        _ range: Range<Int>,
        _ vectors: inout VectorSequence
    ) throws {
        if endsFragment(sample, time, range.count) { try flush() }
        if fragment == nil { try beginFragment(sample, time) }
        let start = media.count
        media.append(copying: bytes.bytes.extracting(range))
        let fits = fragment?.append(
            size: range.count,
            duration: sample.duration,
            compositionOffset: sample.compositionOffset,
            isSync: sample.isSync
        )
        guard fits == true else { throw Malformed("a sample's numbers are out of range", at: Int(sample.offset)) }
        if fragment?.count == 1 { firstSampleLength = range.count }
        guard isProtected, let encrypter else { return }
        var held: [UInt8] = []
        swap(&held, &media)
        defer { swap(&held, &media) }
        var elements = held.mutableSpan
        var mutable = unsafe elements.mutableBytes
        do throws(Malformed) {
            try encrypter.encrypt(&mutable, in: start..<start + range.count, vectors: &vectors, into: &protection)
        } catch {
            throw Malformed(error.what, at: Int(sample.offset) + error.offset)
        }
    }

    private func beginFragment(_ sample: MP4Sample, _ time: Int64) throws {
        guard let decodeTime = UInt64(exactly: sample.decodeTime + origin) else {
            throw Malformed("a sample is decoded before the beginning", at: Int(sample.offset))
        }
        sequence += 1
        let encryption = rendition.segments.last?.encryption
        let isClear = encrypter != nil && encryption == nil
        isProtected = encryption != nil
        if let encryption, let encrypter {
            protection.restart()
            protection.hasSubsamples = encrypter.hasSubsamples
            protection.group = encryption == defaults ? nil : encryption
        }
        fragment = MediaFragment(sequenceNumber: sequence, trackID: 1, decodeTime: decodeTime, entry: isClear ? 1 : 0)
        firstTime = time
    }

    /// Writes the fragment.
    private func flush() throws {
        if isProtected { fragment?.protection = protection }
        guard let written = fragment, written.count > 0, let sink, let last = rendition.segments.indices.last else { return }
        let header = written.header
        if track.kind == .video, written.startsWithSync {
            rendition.segments[last].pictures.append(
                PackagedSegment.Picture(
                    time: firstTime,
                    offset: sink.length - rendition.segments[last].offset,
                    length: Int64(header.count + firstSampleLength)
                )
            )
        }
        var held: [UInt8] = []
        swap(&held, &media)
        try sink.write(header.rawSpan)
        try sink.write(held.rawSpan)
        held.removeAll(keepingCapacity: true)
        media = held
        fragment = nil
    }

    func endSegment(at time: Int64) throws {
        try flush()
        guard let last = rendition.segments.indices.last else { return }
        rendition.segments[last].duration = max(0, time - rendition.segments[last].start)
        rendition.segments[last].length = (sink?.length ?? 0) - rendition.segments[last].offset
        if options.layout == .segments { try sink?.close() }
    }

    /// Writes the index of a track in one file.
    private func finish() throws {
        guard options.layout == .ranges, let sink else { return }
        var references: [SegmentIndexBox.Reference] = []
        for segment in rendition.segments {
            // media that a player drops before the presentation are not counted, as in a manifest's timeline
            let units = max(0, segment.start + segment.duration) - max(0, segment.start)
            guard let size = UInt32(exactly: segment.length), size < 1 << 31, let duration = UInt32(exactly: units) else {
                throw MediaError(.unsupported, "\(track.source.name): a segment is too long for an index")
            }
            references.append(SegmentIndexBox.Reference(size: size, duration: duration, accessType: rendition.accessType))
        }
        let used = SegmentIndexBox.length(references: references.count)
        let room = rendition.index.count - used
        var index = SegmentIndexBox(
            trackID: 1,
            timescale: UInt32(clamping: track.timescale),
            earliestTime: UInt64(clamping: max(0, rendition.segments.first?.start ?? 0) + origin),
            references: references
        )
        index.firstOffset = UInt64(room)
        var writer = BoxWriter()
        index.write(to: &writer)
        if room > 0 { writer.box("free") { $0.zeros(room - 8) } }
        try sink.overwrite(writer.bytes.rawSpan, at: rendition.index.lowerBound)
        rendition.index = rendition.index.lowerBound..<rendition.index.lowerBound + Int64(used)
        try sink.close()
    }
}

extension ProtectionSystemHeader {
    /// The headers that name the keys: for the common system, and for ClearKey.
    static func standard(for ids: [KeyID]) -> [ProtectionSystemHeader] {
        [ProtectionSystemHeader(system: common, keyIDs: ids), ProtectionSystemHeader(system: clearKey, keyIDs: ids)]
    }
}
