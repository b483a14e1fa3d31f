// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelTS

/// Writes one track as transport stream segments, protected.
///
/// Memory is one access unit and a megabyte of packets, whatever the length of a segment.
final class TransportTrackPackager: SegmentedTrack {
    private static let pid: UInt16 = 0x101
    private static let messagePID: UInt16 = 0x1f0
    /// Bytes of packets that are written together.
    private static let batch = 1 << 20
    /// The start of the presentation, in ticks, with room for earlier decode times.
    static let origin: Int64 = 900_000

    let track: PackagedTrack
    private let options: PackagingOptions
    private let scheme: TransportScheme?
    private let keys: [PackagingKey]
    let cuts: [Int64]
    private let plan: SegmentPlan
    private let folder: PackageFolder
    private var rendition: PackagedRendition
    private var former: UnitFormer
    private let stream: ElementaryStream
    private var muxer: TransportStreamMuxer
    private var packets = PacketBuffer(capacity: 1 << 20)
    private var unit: [UInt8] = []
    private var file: PackageFile?
    private var seal: Cell<SegmentSeal>?
    private var samples: Cell<SampleAES>?
    private var scrambler: Cell<PacketScrambler>?
    private var messageCounter: UInt8 = 0
    private var messageVersion: UInt8 = 0
    private var currentKey: PackagingKey?
    private var parity = KeyParity.even

    /// A place for a value that cannot be copied.
    private final class Cell<Value: ~Copyable> {
        var value: Value
        init(_ value: consuming Value) { self.value = value }
    }

    init(
        _ track: PackagedTrack,
        name: String,
        keys: [PackagingKey],
        _ plan: SegmentPlan,
        _ options: PackagingOptions,
        _ folder: PackageFolder
    ) throws {
        self.track = track
        self.options = options
        self.folder = folder
        scheme = options.transport
        self.keys = keys
        cuts = plan.cuts(of: track)
        self.plan = plan
        rendition = PackagedRendition(track: track, name: name, layout: .segments, scheme: nil)
        rendition.transport = scheme
        rendition.isTransport = true
        let former = try UnitFormer(track, pid: Self.pid)
        self.former = former
        var setup = former.setup
        if scheme == .sampleAES, track.entry.format == "ac-3" {
            setup = AudioSetupInformation(type: .ac3, setup: try Self.firstBytes(track, 10))
        }
        var clear = former.stream
        if track.kind == .audio, let language = track.track.language.flatMap({ StreamDescriptor.language($0) }) {
            clear.descriptors.append(language)
        }
        var streams = [clear]
        if scheme == .sampleAES {
            guard let encrypted = clear.sampleEncrypted(setup: setup) else {
                throw MediaError(
                    .unsupported,
                    "track \(track.track.id): SAMPLE-AES of \(track.entry.format) in transport streams is not defined"
                )
            }
            streams = [encrypted]
        }
        if scheme == .cissa { streams.append(.keyMessages(pid: Self.messagePID)) }
        stream = streams[0]
        muxer = try TransportStreamMuxer(
            streams,
            descriptors: scheme == .cissa ? [.scrambling(PacketCipher.mode)] : [],
            clockLead: Self.clockLead(of: track, plan)
        )
    }

    /// The ticks by which the clock is ahead of decoding: the clocks of all renditions begin at one moment, because players take
    /// the first reference of each stream for that moment.
    private static func clockLead(of track: PackagedTrack, _ plan: SegmentPlan) -> Int64 {
        let lead = Int64(MediaTime.origin)
        let later = (track.microseconds(track.decodeStart) - plan.decodeStart) * 9 / 100
        // the clock of a track that begins late begins with it
        return later <= lead ? lead + later : lead
    }

    private static func firstBytes(_ track: PackagedTrack, _ count: Int) throws -> [UInt8] {
        let reader = try ClearTrackReader(track.track, of: track.source.file, track.source.protection)
        let bytes = try reader.next { _, bytes, range in
            [UInt8](copying: bytes.bytes.extracting(range.lowerBound..<min(range.upperBound, range.lowerBound + count)))
        }
        return bytes ?? []
    }

    private func ticks(_ time: Int64) -> Int64 { MediaTime.ticks(time, timescale: track.timescale) }

    /// Writes the track.
    ///
    /// - Parameters:
    ///   - vectors: the source of initialization vectors.
    ///   - progress: gets the sample bytes written; it may throw to end the work.
    /// - Returns: the rendition written.
    /// - Throws: `Malformed`, and read or write errors.
    func write(vectors: inout VectorSequence, progress: (Int) throws -> Void) throws -> PackagedRendition {
        try writeSegments(vectors: &vectors, progress: progress)
        return rendition
    }

    func beginSegment(_ number: Int, at time: Int64, _ vectors: inout VectorSequence) throws {
        try endSegment(at: time)
        if rendition.segments.isEmpty {
            rendition.lead = plan.cuts[...number]
            if number > 0 { try writeGap() }
        }
        var segment = PackagedSegment(start: time, offset: 0)
        seal = nil
        samples = nil
        let isLead = options.clearLead > 0 && track.microseconds(cuts[number]) + 1500 < options.clearLead * 1000
        if let scheme, !isLead, !keys.isEmpty {
            let key = keys[options.rotation > 0 ? number / options.rotation % keys.count : 0]
            segment.key = key
            if !rendition.keys.contains(where: { $0.id == key.id }) { rendition.keys.append(key) }
            switch scheme {
            case .aes128:
                let iv = vectors.next(for: key.key, isLong: true)
                segment.iv = iv
                seal = Cell(try SegmentSeal(key: key.key, iv: iv))
            case .sampleAES:
                let iv = vectors.next(for: key.key, isLong: true)
                segment.iv = iv
                samples = Cell(try SampleAES(.encrypt, key: key.key, iv: iv))
            case .cissa: try scramble(with: key)
            }
        }
        file = try folder.create(rendition.path(ofSegment: rendition.segments.count))
        rendition.segments.append(segment)
        muxer.beginSegment(into: &packets)
        if scheme == .cissa, segment.key != nil { try writeMessage(at: time) }
    }

    /// A segment with tables alone.
    private func writeGap() throws {
        var tables = PacketBuffer(capacity: 1 << 12)
        muxer.beginSegment(into: &tables)
        let file = try folder.create(rendition.gapPath)
        try file.write(tables.bytes)
        try file.close()
    }

    private func scramble(with key: PackagingKey) throws {
        if let currentKey {
            guard currentKey.id != key.id else { return }
            parity = parity.next
            messageVersion = (messageVersion + 1) & 31
        }
        currentKey = key
        scrambler = Cell(try PacketScrambler(pids: [Self.pid], key: key.key, parity: parity))
    }

    /// The message that names the key of the segment.
    private func writeMessage(at time: Int64) throws(Malformed) {
        guard let currentKey else { return }
        let message = try KeyMessage(
            contentID: options.contentID ?? "\(currentKey.id)",
            evenKeyID: parity == .even ? currentKey.id.bytes : nil,
            oddKeyID: parity == .odd ? currentKey.id.bytes : nil,
            current: parity
        )
        let section = message.section(program: 1, version: messageVersion)
        let bytes = section.packets(pid: Self.messagePID, counter: &messageCounter)
        packets.append(bytes.rawSpan)
    }

    func add(
        _ sample: MP4Sample,
        _ time: Int64,
        _ bytes: borrowing MutableRawSpan,
        _ range: Range<Int>,
        _ vectors: inout VectorSequence
    ) throws {
        guard !range.isEmpty else { return }
        unit.removeAll(keepingCapacity: true)
        do throws(Malformed) {
            try former.append(bytes.bytes.extracting(range), to: &unit)
            if let samples { try samples.value.apply(to: &unit, coding: stream.clear.coding) }
        } catch {
            throw Malformed(error.what, at: Int(sample.offset) + error.offset)
        }
        let presented = Self.origin + ticks(time)
        let decoded = Self.origin + ticks(sample.decodeTime)
        var held: [UInt8] = []
        swap(&held, &unit)
        defer { swap(&held, &unit) }
        try muxer.write(
            0,
            prefix: RawSpan(),
            body: held.rawSpan,
            presentationTime: presented,
            decodeTime: track.kind == .video ? min(decoded, presented) : presented,
            isSync: sample.isSync,
            into: &packets
        )
        if packets.count >= Self.batch { try flush() }
    }

    /// Writes the packets so far.
    private func flush() throws {
        guard let file, packets.count > 0 else { return }
        try Self.write(&packets, rendition.segments.last?.key == nil ? nil : scrambler, seal, file)
    }

    private static func write(
        _ packets: inout PacketBuffer,
        _ scrambler: Cell<PacketScrambler>?,
        _ seal: Cell<SegmentSeal>?,
        _ file: PackageFile
    ) throws {
        if let scrambler {
            let count = packets.count
            var bytes = packets.mutableBytes
            try scrambler.value.scramble(&bytes, in: 0..<count)
        }
        if let seal {
            try file.write(seal.value.update(packets.bytes).rawSpan)
        } else {
            try file.write(packets.bytes)
        }
        packets.removeAll()
    }

    func endSegment(at time: Int64) throws {
        guard let file, let last = rendition.segments.indices.last else { return }
        muxer.endSegment(into: &packets)
        try flush()
        if let seal { try file.write(seal.value.finish().rawSpan) }
        try file.close()
        self.file = nil
        rendition.segments[last].duration = max(0, time - rendition.segments[last].start)
        rendition.segments[last].length = file.length
    }
}
