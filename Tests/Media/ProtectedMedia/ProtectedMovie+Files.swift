// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4

extension ProtectedMovie {
    /// Samples of each chunk or run; descriptions do not change within one.
    package var parts: [Range<Int>] {
        var parts: [Range<Int>] = []
        var at = 0
        while at < samples.count {
            var end = at + 1
            while end < samples.count, end - at < perPart, samples[end].isClear == samples[at].isClear { end += 1 }
            parts.append(at..<end)
            at = end
        }
        return parts
    }

    private func mediaHeader(_ count: Int) -> [UInt8] {
        var writer = BoxWriter()
        writer.u32(hasLongBoxes ? 1 : UInt32(count + 8))
        writer.fourCC("mdat")
        if hasLongBoxes { writer.u64(UInt64(count + 16)) }
        return writer.bytes
    }

    /// A progressive file: the brand, one `mdat` for every two chunks, the movie. Vectors outside `senc` lie before their chunk, or before
    /// the first one.
    package func file() throws -> [UInt8] {
        var writer = BoxWriter()
        writer.box("ftyp") { writer in
            writer.append(Array("isom".utf8))
            writer.u32(0)
        }
        var file = writer.bytes
        let parts = parts
        var offsets = [Int](repeating: 0, count: parts.count)
        var information = [Int](repeating: 0, count: parts.count)
        if self.information == .auxiliary {
            let all = samples.indices.flatMap(entry)
            file += mediaHeader(all.count)
            information = [file.count]
            file += all
        }
        let order = order ?? Array(parts.indices)
        for pair in stride(from: 0, to: order.count, by: 2) {
            var media: [UInt8] = []
            let start = file.count + mediaHeader(0).count
            for number in order[pair..<min(pair + 2, order.count)] {
                if self.information == .auxiliaryOfEach {
                    information[number] = start + media.count
                    media += parts[number].flatMap(entry)
                }
                offsets[number] = start + media.count
                for sample in parts[number] { media += try encrypted(sample) }
            }
            file += mediaHeader(media.count) + media
        }
        var movie = BoxWriter()
        writeMovie(to: &movie, isFragmented: false) { writer in
            writer.fullBox("stts") { writer in
                for value in [1, samples.count, 1024] { writer.u32(UInt32(value)) }
            }
            writer.fullBox("stsc") { writer in
                writer.u32(UInt32(parts.count))
                for (number, part) in parts.enumerated() {
                    for value in [number + 1, part.count, samples[part.lowerBound].isClear ? 2 : 1] { writer.u32(UInt32(value)) }
                }
            }
            writer.fullBox("stsz") { writer in
                writer.u32(0)
                writer.u32(UInt32(samples.count))
                for sample in samples { writer.u32(UInt32(sample.clear.count)) }
            }
            writer.fullBox("co64") { writer in
                writer.u32(UInt32(parts.count))
                for offset in offsets { writer.u64(UInt64(offset)) }
            }
            writeGroups(to: &writer)
            writeRuns(of: samples.indices, base: 0, to: &writer)
            writeInformation(of: samples.indices, offsets: information, to: &writer)
        }
        return file + movie.bytes
    }

    /// A fragmented file; each fragment has some runs of samples of one description.
    package func fragments() throws -> [UInt8] {
        var writer = BoxWriter()
        writer.box("ftyp") { writer in
            writer.append(Array("iso6".utf8))
            writer.u32(0)
        }
        writeMovie(to: &writer, isFragmented: true) { writer in
            for type in ["stts", "stsc", "stco"] as [FourCC] { writer.fullBox(type) { $0.u32(0) } }
            writer.fullBox("stsz") { $0.zeros(8) }
            if !describesInFragments { writeGroups(to: &writer) }
        }
        var file = writer.bytes
        var runs = parts[...]
        while let first = runs.first {
            let isClear = samples[first.lowerBound].isClear
            let own = runs.prefix { samples[$0.lowerBound].isClear == isClear }.prefix(partsPerFragment)
            runs = runs.dropFirst(own.count)
            file += try fragment(Array(own), at: file.count)
        }
        return file
    }

    private func fragment(_ runs: [Range<Int>], at start: Int) throws -> [UInt8] {
        let isClear = samples[runs[0].lowerBound].isClear
        let split = splitsTracks ? runs.map { [$0] } : [runs]
        var media: [UInt8] = []
        var data: [Int] = []
        var vectors: [[Int]] = []
        for group in split {
            var offsets: [Int] = []
            if informationInMedia, information == .auxiliary {
                offsets = [media.count]
                media += group.flatMap { $0.flatMap(entry) }
            }
            for run in group {
                if informationInMedia, information == .auxiliaryOfEach {
                    offsets.append(media.count)
                    media += run.flatMap(entry)
                }
                data.append(media.count)
                for sample in run { media += try encrypted(sample) }
            }
            vectors.append(offsets)
        }
        // its length does not depend on the offsets in it
        let length = header(split, isClear, base: 0, mediaStart: 0, data, vectors).count
        let header = mediaHeader(media.count)
        let base = countsFromMovie ? start : 0
        let mediaStart = length + header.count + base
        return self.header(split, isClear, base: start, mediaStart: mediaStart, data, vectors) + header + media
    }

    /// The `moof` box; if vectors are not in the media, they are in a `free` box after the runs.
    private func header(
        _ split: [[Range<Int>]],
        _ isClear: Bool,
        base: Int,
        mediaStart: Int,
        _ data: [Int],
        _ vectors: [[Int]]
    ) -> [UInt8] {
        var writer = BoxWriter()
        var data = data[...]
        writer.box("moof") { writer in
            writer.fullBox("mfhd") { $0.u32(1) }
            for (runs, vectors) in zip(split, vectors) {
                writer.box("traf") { writer in
                    let numbers = runs[0].lowerBound..<runs[runs.count - 1].upperBound
                    writer.fullBox("tfhd", flags: (countsFromMovie ? 1 : 0x2_0000) | 2) { writer in
                        writer.u32(1)
                        // the start of the file, so that offsets count from there
                        if countsFromMovie { writer.u64(0) }
                        writer.u32(isClear ? 2 : 1)
                    }
                    if hasTime { writer.fullBox("tfdt") { $0.u32(UInt32(numbers.lowerBound * 1024)) } }
                    for run in runs {
                        writer.fullBox("trun", version: 1, flags: 0xa05) { writer in
                            writer.u32(UInt32(run.count))
                            writer.u32(UInt32(mediaStart + (data.popFirst() ?? 0)))
                            writer.u32(0x0200_0000)
                            for sample in run {
                                writer.u32(UInt32(samples[sample].clear.count))
                                writer.u32(UInt32(bitPattern: -Int32(sample)))
                            }
                        }
                    }
                    guard !isClear else { return }
                    if describesInFragments { writeGroups(to: &writer) }
                    writeRuns(of: numbers, base: describesInFragments ? 0x1_0000 : 0, to: &writer)
                    var offsets = vectors.map { mediaStart + $0 }
                    if !informationInMedia, information == .auxiliary || information == .auxiliaryOfEach {
                        offsets = []
                        writer.box("free") { writer in
                            for run in runs {
                                if information == .auxiliaryOfEach || offsets.isEmpty {
                                    offsets.append(writer.bytes.count + (countsFromMovie ? base : 0))
                                }
                                writer.append(run.flatMap(entry))
                            }
                        }
                    }
                    writeInformation(of: numbers, offsets: offsets, to: &writer)
                }
            }
        }
        return writer.bytes
    }
}
