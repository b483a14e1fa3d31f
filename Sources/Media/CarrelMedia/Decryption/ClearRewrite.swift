// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelMP4

/// Writes a clear MP4 file from a file whose samples shrink when decrypted: OMA PDCF, ISMACryp, Marlin.
///
/// Audio, video and text keep their times, edits and languages; tracks that only describe the protection are dropped. The index
/// comes after the samples.
package struct ClearRewrite {
    /// Interleaving interval: a track may be this far ahead of the others, so that its samples are adjacent.
    private static let chunkSeconds = 0.5
    /// Handlers of tracks that describe other tracks (ISO/IEC 14496-1 §7.2).
    private static let descriptions: Set<String> = ["odsm", "sdsm", "ipsm", "m7sm", "ocsm", "mjsm", "hint"]

    private let readers: [ClearTrackReader]
    private var writer: ProgressiveWriter

    /// - Parameters:
    ///   - file: the file.
    ///   - protection: its protection, with its keys.
    /// - Throws: `missingKey`, `wrongKey`, `unsupported`; `Malformed` if a track is damaged.
    package init(_ file: MP4File, _ protection: FileProtection) throws {
        let tracks = file.tracks.filter { !Self.descriptions.contains($0.kind) && !$0.entries.isEmpty }
        guard !tracks.isEmpty else { throw MediaError(.unsupported, "the file has no track to write") }
        readers = try tracks.map { try ClearTrackReader($0, of: file, protection) }
        let timescale = UInt32(clamping: tracks[0].movieTimescale)
        writer = ProgressiveWriter(try tracks.map { try MovieTrack($0) }, movieTimescale: timescale)
    }

    /// Writes the file.
    ///
    /// - Parameters:
    ///   - sink: gets the file.
    ///   - progress: gets the bytes of samples read so far; it may throw to end the work.
    /// - Throws: the errors of the reader and the sink; `Malformed`, `wrongKey`.
    package mutating func write(to sink: inout some MediaSink, progress: (Int64) throws -> Void) throws {
        let beginning = writer.beginning
        try sink.write(beginning.rawSpan)
        var byteCount: Int64 = 0
        var reportedCount: Int64 = 0
        while let next = earliest() {
            let end = time(next) + Self.chunkSeconds
            while readers[next].sample != nil, time(next) < end {
                let result = try readers[next].next { sample, bytes, range in
                    try sink.write(bytes.bytes.extracting(range))
                    byteCount += Int64(sample.size)
                    return (sample, range.count)
                }
                guard let (sample, size) = result else { break }
                guard writer.append(to: next, sample, size: size) else {
                    throw Malformed("sample does not fit into an index", at: Int(clamping: sample.offset))
                }
            }
            if byteCount - reportedCount >= 1 << 20 {
                try progress(byteCount)
                reportedCount = byteCount
            }
        }
        let index = writer.index
        try sink.write(index.rawSpan)
        let header = writer.mediaHeader
        try sink.overwrite(header.rawSpan, at: writer.mediaHeaderOffset)
    }

    /// The track whose next sample is decoded first.
    private func earliest() -> Int? {
        readers.indices.filter { readers[$0].sample != nil }.min { time($0) < time($1) }
    }

    /// When a track's next sample is decoded, in seconds.
    private func time(_ i: Int) -> Double {
        guard let sample = readers[i].sample else { return .infinity }
        return Double(sample.decodeTime) / Double(max(1, readers[i].track.timescale))
    }
}
