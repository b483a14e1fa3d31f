// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelFileSegments
import CarrelMP4
import CarrelMedia
import CarrelMediaInspection
import ProtectedMedia

/// Counts what is written, and keeps nothing.
private struct NoSink: MediaSink {
    var count: Int64 = 0

    mutating func write(_ bytes: RawSpan) { count += Int64(bytes.byteCount) }
    mutating func overwrite(_ bytes: RawSpan, at offset: Int64) {
        precondition(offset >= 0 && offset + Int64(bytes.byteCount) <= count, "bytes are written over that are not there")
    }
}

/// Every way in which a file is read.
enum MediaWork: String, CaseIterable, Codable, Sendable {
    case samples, inspection, copy, transport, segments, fragments, fragmentTransport

    /// - Throws: what the way does.
    func run(_ file: HostileFile) async throws {
        var keys = GivenKeys()
        keys.add(Secret([UInt8](repeating: 3, count: 16)), for: nil)
        var sink = NoSink()
        switch self {
        case .samples: try Self.walk(try MP4File(file))
        case .inspection: _ = try MediaInspection.describe(file)
        case .copy, .transport:
            let decryption = try await MediaDecryption(of: file, as: self == .copy ? .same : .transportStream, keys: keys)
            try decryption.write(to: &sink)
        case .segments:
            let movie = try MP4File(file, leavesFragmentsToIndex: true)
            let protection = try await FileProtection(movie, from: keys)
            let segmented = try FileSegments(movie, in: file, protection, target: .seconds(1)) {
                $0.kind == "vide" || $0.kind == "soun"
            }
            for index in [0, segmented.segments.count - 1] {
                try segmented.write(index, as: .transportStream, to: &sink)
            }
        case .fragments:
            var fragments = ClearFragments()
            var at: Int64 = 0
            while true {
                while let event = try fragments.next() {
                    switch event {
                    case .movie, .fragment: try await fragments.resolveKeys(from: keys)
                    default: break
                    }
                }
                guard at < min(file.length, 1 << 25) else { break }
                let piece = file.read(at..<min(file.length, at + 65_536))
                fragments.append(piece.rawSpan)
                at += Int64(piece.count)
                if at == file.length { fragments.end() }
            }
        case .fragmentTransport:
            var remux = SegmentRemux([SegmentRemux.Stream()])
            var at: Int64 = 0
            while at < min(file.length, 1 << 25) {
                let piece = file.read(at..<min(file.length, at + 65_536))
                remux.append(piece.rawSpan)
                at += Int64(piece.count)
                if at == file.length { remux.end() }
                try await remux.write(to: &sink, keys: keys)
            }
        }
    }

    static func walk(_ file: MP4File) throws {
        for track in file.tracks {
            var samples = file.samples(of: track)
            var encryption = SampleEncryption()
            while let sample = try samples.next() {
                precondition(sample.offset >= 0 && sample.range.upperBound <= file.reader.length, "a sample outside the file")
                guard sample.entry < track.entries.count else { continue }
                try samples.readEncryption(track.entries[sample.entry].encryption, into: &encryption)
            }
        }
    }
}
