// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The boxes around the samples of a progressive file, whose index names every sample (`ftyp`, `moov`, `mdat`; ISO/IEC 14496-12
/// §8.2).
///
/// It holds the tables, not the samples: 4 bytes per sample of a track with different sizes, and runs of equal durations. The
/// caller writes `beginning`, then the samples in the declared order, then `index`, and overwrites the bytes at
/// `mediaHeaderOffset` with `mediaHeader`. A file whose index comes first is written in two passes, the first of which only
/// declares the samples.
package struct ProgressiveWriter: Sendable {
    /// Units a second of the movie's times.
    package let movieTimescale: UInt32
    private let tracks: [MovieTrack]
    private let brands: [FourCC]
    private var tables: [SampleTableBuilder]
    private var current: (track: Int, entry: Int, bytes: Int)?
    /// Bytes of all samples so far.
    private var mediaLength: Int64 = 0

    /// Bytes of a chunk, at most, unless one sample has more.
    private static let chunkLength = 1 << 20
    /// The header of `mdat`, with its long size.
    private static let mediaHeaderLength = 16

    /// - Parameters:
    ///   - tracks: with distinct IDs; their durations are their samples' durations.
    ///   - movieTimescale: units per second of the movie's times, including edits.
    ///   - brands: the major brand first.
    package init(_ tracks: [MovieTrack], movieTimescale: UInt32 = 1000, brands: [FourCC] = ["isom", "iso6", "mp41"]) {
        self.tracks = tracks
        self.movieTimescale = max(1, movieTimescale)
        self.brands = brands
        tables = tracks.map { _ in SampleTableBuilder() }
    }

    /// Declares the next sample of the file.
    ///
    /// - Parameters:
    ///   - track: the index of the track, from 0.
    ///   - sample: its times, description and size; the offset is ignored.
    ///   - size: the written size of the sample in bytes.
    /// - Returns: false if a number does not fit into the tables.
    package mutating func append(to track: Int, _ sample: MP4Sample, size: Int) -> Bool {
        let continues = current.map { $0.track == track && $0.entry == sample.entry && $0.bytes + size <= Self.chunkLength }
        if continues != true {
            tables[track].beginChunk(at: mediaLength, entry: sample.entry)
            current = (track, sample.entry, 0)
        }
        let fits = tables[track].append(
            size: size,
            duration: sample.duration,
            compositionOffset: sample.compositionOffset,
            isSync: sample.isSync
        )
        current?.bytes += size
        mediaLength += Int64(size)
        return fits
    }

    private var fileType: [UInt8] {
        var writer = BoxWriter()
        writer.box("ftyp") { writer in
            writer.fourCC(brands.first ?? "isom")
            writer.u32(0x200)
            for brand in brands { writer.fourCC(brand) }
        }
        return writer.bytes
    }

    /// The bytes before the samples, if the index comes after them.
    package var beginning: [UInt8] { fileType + mediaHeader }

    /// The offset of `mediaHeader` in such a file.
    package var mediaHeaderOffset: Int64 { Int64(fileType.count) }

    /// The header of `mdat` for the samples named so far.
    package var mediaHeader: [UInt8] {
        var writer = BoxWriter()
        writer.u32(1)
        writer.fourCC("mdat")
        writer.u64(UInt64(Int64(Self.mediaHeaderLength) + mediaLength))
        return writer.bytes
    }

    /// The index of a file in which it comes after the samples.
    package var index: [UInt8] { movie(mediaStart: mediaHeaderOffset + Int64(Self.mediaHeaderLength)) }

    /// The bytes before the samples of a file whose index comes first, after all samples were declared.
    package var beginningWithIndex: [UInt8] {
        let type = fileType
        // the length of the index does not depend on the offsets in it, but on their size
        let length = movie(mediaStart: Int64.max / 4).count
        let isLong = Int64(type.count + length + Self.mediaHeaderLength) + mediaLength > Int64(UInt32.max)
        let index = isLong ? length : movie(mediaStart: 0).count
        return type + movie(mediaStart: Int64(type.count + index + Self.mediaHeaderLength), isLong: isLong) + mediaHeader
    }

    private func movie(mediaStart: Int64, isLong: Bool? = nil) -> [UInt8] {
        let isLong = isLong ?? (mediaStart + mediaLength > Int64(UInt32.max))
        var duration: Int64 = 0
        var described = tracks
        for i in described.indices {
            described[i].duration = tables[i].duration
            let whole = Timescale.convert(
                tables[i].duration,
                times: Int(movieTimescale),
                over: Int(described[i].timescale)
            )
            let presented = described[i].edits.reduce(0) { $0 &+ max(0, $1.duration) }
            duration = max(duration, described[i].edits.isEmpty ? whole : presented)
        }
        var writer = BoxWriter()
        writer.box("moov") { writer in
            let next = (tracks.map(\.id).max() ?? 0) &+ 1
            writer.writeMovieHeader(timescale: movieTimescale, duration: duration, nextTrackID: next)
            for (i, track) in described.enumerated() {
                track.write(to: &writer, movieTimescale: movieTimescale) { writer in
                    tables[i].write(to: &writer, shift: mediaStart, isLong: isLong)
                }
            }
        }
        return writer.bytes
    }
}
