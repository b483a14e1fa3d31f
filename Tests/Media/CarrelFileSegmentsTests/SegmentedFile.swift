// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFileSegments
import CarrelMP4
import CarrelMedia
import CarrelTS
import ProtectedMedia
import Testing

/// A file in segments, as tests want it.
struct SegmentedFile {
    let segments: FileSegments

    init(
        _ reader: any ByteReader & Sendable,
        _ keys: GivenKeys,
        target: Duration = .seconds(1),
        isIndexed: Bool = true,
        takes: (MP4Track) -> Bool = { $0.kind == "vide" || $0.kind == "soun" }
    ) async throws {
        let file = try MP4File(reader, leavesFragmentsToIndex: isIndexed)
        let protection = try await FileProtection(file, from: keys)
        segments = try FileSegments(file, in: reader, protection, target: target, takes: takes)
    }

    func transport(_ index: Int, tracks: Set<UInt32>? = nil) throws -> [UInt8] {
        var sink = BytesSink()
        try segments.write(index, as: .transportStream, tracks: tracks, to: &sink)
        return sink.bytes
    }

    func fragments(_ index: Int, track: UInt32) throws -> [UInt8] {
        var sink = BytesSink()
        try segments.write(index, as: .fragment, tracks: [track], to: &sink)
        return sink.bytes
    }

    /// All segments, concatenated.
    var transport: [UInt8] { get throws { try segments.segments.indices.flatMap { try transport($0) } } }

    /// The initialization of a track with all its segments.
    func fragments(track: UInt32) throws -> [UInt8] {
        try segments.initialization(of: track) + segments.segments.indices.flatMap { try fragments($0, track: track) }
    }

    /// The whole file as a transport stream, without segments.
    static func remux(_ bytes: [UInt8], _ keys: GivenKeys) async throws -> [UInt8] {
        let decryption = try await MediaDecryption(of: BytesReader(bytes), as: .transportStream, keys: keys)
        var sink = BytesSink()
        try decryption.write(to: &sink)
        return sink.bytes
    }

    /// The units of a stream by packet identifier, without faults except in the tables' counters.
    static func units(_ bytes: [UInt8]) throws -> [UInt16: [AccessUnit]] {
        var demuxer = TransportStreamDemuxer()
        try demuxer.consume(bytes.rawSpan)
        try demuxer.finish()
        var units: [UInt16: [AccessUnit]] = [:]
        while let event = demuxer.next() {
            if case .unit(let unit) = event { units[unit.pid, default: []].append(unit) }
            if case .fault(let fault) = event { Issue.record("\(fault)") }
        }
        return units
    }

    /// Checks that units equal another stream's; the time of a frame inside a packet is derived, and may be rounded differently.
    static func compare(_ units: [UInt16: [AccessUnit]], _ expected: [UInt16: [AccessUnit]]) {
        #expect(units.keys.sorted() == expected.keys.sorted())
        for (pid, list) in expected {
            let others = units[pid] ?? []
            #expect(others.count == list.count)
            var differences = 0
            for (unit, other) in zip(list, others) where differences < 3 {
                let tolerance: Int64 = unit.isTimeDerived || other.isTimeDerived ? 1 : 0
                let isSame =
                    unit.data == other.data && abs(unit.presentationTime - other.presentationTime) <= tolerance
                    && abs(unit.decodeTime - other.decodeTime) <= tolerance && unit.isRandomAccess == other.isRandomAccess
                if !isSame {
                    differences += 1
                    Issue.record(
                        "stream \(pid): \(other.presentationTime) \(other.decodeTime) \(other.data.count) bytes instead of \(unit.presentationTime) \(unit.decodeTime) \(unit.data.count) bytes"
                    )
                }
            }
        }
    }
}
