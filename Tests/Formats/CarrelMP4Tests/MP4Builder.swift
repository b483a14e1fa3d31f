// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Makes small MP4 files, box by box.
struct MP4Builder {
    /// Sizes of the samples; their bytes are numbers.
    var sizes = [10, 20, 30, 40, 50]
    var samplesPerChunk = 2
    var longOffsets = false
    /// 32 for `stsz`, else `stz2` with this many bits.
    var sizeBits = 32
    var constantSize = 0
    var duration = 1024
    var timescale = 44100
    var config: [UInt8] = [0x12, 0x10]
    /// The sample entry, when it is not `mp4a` with `config`.
    var entry: [UInt8]?
    var userData: [UInt8] = []
    var edits: [UInt8] = []
    var brand = "M4A "
    var moreTracks: [UInt8] = []
    var chapterTrack: UInt32?

    static func box(_ type: String, _ parts: [UInt8]...) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt32(8 + parts.reduce(0) { $0 + $1.count }))
        bytes += type.unicodeScalars.map { UInt8($0.value) }
        for part in parts { bytes += part }
        return bytes
    }

    static func words(_ words: Int...) -> [UInt8] {
        var bytes: [UInt8] = []
        for word in words { bytes.append(bigEndian: UInt32(truncatingIfNeeded: word)) }
        return bytes
    }

    static func esds(_ config: [UInt8], objectType: UInt8 = 0x40) -> [UInt8] {
        let specific = [5, UInt8(config.count)] + config
        let decoder = [4, UInt8(13 + specific.count), objectType, 0x15] + [UInt8](repeating: 0, count: 11) + specific
        let stream: [UInt8] = [3, 0x80, 0x80, 0x80, UInt8(3 + decoder.count), 0, 1, 0] + decoder
        return box("esds", words(0), stream)
    }

    static func entry(_ type: String, _ children: [UInt8]) -> [UInt8] {
        box(type, [UInt8](repeating: 0, count: 6), [0, 1], words(0, 0), [0, 2, 0, 16], words(0), words(44100 << 16), children)
    }

    static func protection(original: String, scheme: String) -> [UInt8] {
        box(
            "sinf",
            box("frma", original.unicodeScalars.map { UInt8($0.value) }),
            box("schm", words(0), scheme.unicodeScalars.map { UInt8($0.value) }, words(0x10000))
        )
    }

    static func item(_ type: String, kind: Int = 1, _ value: [UInt8]) -> [UInt8] { box(type, box("data", words(kind, 0), value)) }

    static func freeForm(_ name: String, _ value: String) -> [UInt8] {
        box(
            "----",
            box("mean", words(0), Array("com.apple.iTunes".utf8)),
            box("name", words(0), Array(name.utf8)),
            box("data", words(1, 0), Array(value.utf8))
        )
    }

    static func metadata(_ items: [UInt8]) -> [UInt8] {
        box("meta", words(0), box("hdlr", words(0, 0), Array("mdirappl".utf8), words(0, 0), [0]), box("ilst", items))
    }

    static func handler(_ kind: String) -> [UInt8] {
        box("hdlr", words(0, 0), kind.unicodeScalars.map { UInt8($0.value) }, words(0, 0, 0), [0])
    }

    /// A track whose chunks are at these offsets.
    func track(id: Int = 1, kind: String = "soun", offsets: [Int], references: [UInt8] = []) -> [UInt8] {
        typealias B = MP4Builder
        let entry = entry ?? B.entry("mp4a", B.esds(config))
        var sizeTable: [UInt8]
        if constantSize > 0 {
            sizeTable = B.box("stsz", B.words(0, constantSize, sizes.count))
        } else if sizeBits == 32 {
            sizeTable = B.words(0, 0, sizes.count)
            for size in sizes { sizeTable += B.words(size) }
            sizeTable = B.box("stsz", sizeTable)
        } else {
            var bits: [UInt8] = []
            for size in sizes {
                switch sizeBits {
                case 16: bits.append(bigEndian: UInt16(size))
                case 8: bits.append(UInt8(size))
                default: bits.append(UInt8(size & 15))
                }
            }
            if sizeBits == 4 {
                bits = stride(from: 0, to: bits.count, by: 2).map { bits[$0] << 4 | ($0 + 1 < bits.count ? bits[$0 + 1] : 0) }
            }
            sizeTable = B.box("stz2", B.words(0, sizeBits, sizes.count), bits)
        }
        var chunkRuns = B.words(0, 1, 1, samplesPerChunk, 1)
        let rest = sizes.count % samplesPerChunk
        if rest != 0, offsets.count > 1 { chunkRuns = B.words(0, 2, 1, samplesPerChunk, 1, offsets.count, rest, 1) }
        var chunks = B.words(0, offsets.count)
        for offset in offsets { chunks += longOffsets ? B.words(0, offset) : B.words(offset) }
        let table = B.box(
            "stbl",
            B.box("stsd", B.words(0, 1), entry),
            B.box("stts", B.words(0, 1, sizes.count, duration)),
            B.box("stsc", chunkRuns),
            sizeTable,
            B.box(longOffsets ? "co64" : "stco", chunks)
        )
        let media = B.box(
            "mdia",
            B.box("mdhd", B.words(0, 0, 0, timescale, sizes.count * duration), [0x55, 0xc4, 0, 0]),
            B.handler(kind),
            B.box("minf", table)
        )
        return B.box(
            "trak",
            B.box("tkhd", B.words(1, 0, 0, id, 0, 0)),
            edits.isEmpty ? [] : B.box("edts", B.box("elst", edits)),
            references,
            media
        )
    }

    /// The bytes of the samples, with four bytes of gap between chunks, and where each chunk is within them.
    private var media: (bytes: [UInt8], offsets: [Int]) {
        var bytes: [UInt8] = []
        var offsets: [Int] = []
        for (i, size) in sizes.enumerated() {
            if i % samplesPerChunk == 0 {
                if i > 0 { bytes += [0xde, 0xad, 0xbe, 0xef] }
                offsets.append(bytes.count)
            }
            bytes += (0..<size).map { UInt8(truncatingIfNeeded: i * 16 + $0) }
        }
        return (bytes, offsets)
    }

    /// The whole file: brand, media, movie.
    func file() -> [UInt8] {
        typealias B = MP4Builder
        let (bytes, offsets) = media
        let brand = B.box("ftyp", Array(brand.utf8), B.words(0), Array("isom".utf8))
        let start = brand.count + 8
        let references = chapterTrack.map { B.box("tref", B.box("chap", B.words(Int($0)))) } ?? []
        let movie = B.box(
            "moov",
            B.box("mvhd", B.words(0, 0, 0, 1000, 0)),
            track(offsets: offsets.map { $0 + start }, references: references),
            moreTracks,
            userData.isEmpty ? [] : B.box("udta", userData)
        )
        return brand + B.box("mdat", bytes) + movie
    }

    /// The bytes of each sample in `file()`.
    var samples: [[UInt8]] {
        sizes.enumerated().map { i, size in (0..<size).map { UInt8(truncatingIfNeeded: i * 16 + $0) } }
    }
}
