// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelMP4

/// Files that cost little to make and much to read, if a reader trusts them.
package struct HostileFile: ByteReader, Sendable {
    /// Bytes at the start of the file; a pattern follows.
    package var head: [UInt8]
    /// Repeats up to the end.
    package var pattern: [UInt8]
    package var length: Int64

    package init(_ head: [UInt8], pattern: [UInt8] = [UInt8](repeating: 0, count: 65_536), length: Int64? = nil) {
        self.head = head
        self.pattern = pattern
        self.length = length ?? Int64(head.count)
    }

    package func read(_ range: Range<Int64>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        var at = Int(range.lowerBound)
        let end = Int(range.upperBound)
        if at < head.count {
            bytes += head[at..<min(end, head.count)]
            at += bytes.count
        }
        while at < end {
            let start = (at - head.count) % pattern.count
            let count = min(end - at, pattern.count - start)
            bytes += pattern[start..<start + count]
            at += count
        }
        return bytes
    }

    package static let brand: [UInt8] = box("ftyp", Array("isom".utf8) + [0, 0, 0, 0])

    package static func box(_ type: FourCC, _ content: [UInt8] = []) -> [UInt8] {
        var writer = BoxWriter()
        writer.box(type) { $0.append(content) }
        return writer.bytes
    }

    package static func words(_ words: Int...) -> [UInt8] {
        var writer = BoxWriter()
        for word in words { writer.u32(UInt32(truncatingIfNeeded: word)) }
        return writer.bytes
    }

    /// The header of a box whose content is not made.
    package static func header(_ type: FourCC, _ content: Int) -> [UInt8] {
        var writer = BoxWriter()
        writer.u32(content + 8 > UInt32.max ? 1 : UInt32(content + 8))
        writer.fourCC(type)
        if content + 8 > UInt32.max { writer.u64(UInt64(content + 16)) }
        return writer.bytes
    }

    /// Boxes each of which holds the next, up to a number of bytes.
    package static func nested(_ types: [FourCC], _ count: Int) -> [UInt8] {
        var writer = BoxWriter()
        for level in 0..<count {
            writer.u32(UInt32((count - level) * 8))
            writer.fourCC(types[level % types.count])
        }
        return writer.bytes
    }

    package static func repeated(_ bytes: [UInt8], _ count: Int) -> [UInt8] { Array(repeatElement(bytes, count: count).joined()) }

    /// A movie whose tables are `tables`, and what follows in the movie.
    package static func movie(_ movie: ProtectedMovie = small, isFragmented: Bool = false, more: [UInt8] = [], tables: [UInt8])
        -> [UInt8]
    {
        var writer = BoxWriter()
        movie.writeMovie(to: &writer, isFragmented: isFragmented) { $0.append(tables) }
        guard !more.isEmpty else { return writer.bytes }
        return box("moov", Array(writer.bytes.dropFirst(8)) + more)
    }

    /// A movie without samples, for fragments.
    package static let empty: [UInt8] =
        box("stts", words(0, 0)) + box("stsc", words(0, 0)) + box("stco", words(0, 0)) + box("stsz", words(0, 0, 0))

    package static var small: ProtectedMovie {
        var movie = ProtectedMovie()
        movie.samples = ProtectedMovie.samples(1, hasParts: true)
        return movie
    }

    package static func fragment(_ parts: [UInt8]) -> [UInt8] { box("moof", box("mfhd", words(0, 1)) + parts) }

    package static func part(_ runs: [UInt8], size: Int = 1) -> [UInt8] {
        box("traf", box("tfhd", words(0x2_0010, 1, size)) + runs)
    }

    /// The readers, by name.
    package static let all: [String: @Sendable () throws -> HostileFile] = {
        var all: [String: @Sendable () throws -> HostileFile] = [:]
        for type in ["stts", "ctts", "stss", "stsc", "stco", "co64", "stsz", "stz2", "senc", "saiz", "saio", "sbgp"] {
            all["\(type) of 2^32 entries"] = {
                let head =
                    type == "stsz" || type == "stz2"
                    ? words(0, type == "stsz" ? 0 : 8) : type == "sbgp" ? words(0) + Array("seig".utf8) : words(0)
                let count = type == "saiz" ? [0] + words(-1) : words(-1)
                return HostileFile(brand + movie(tables: box(FourCC(stringLiteral: type), head + count + words(0, 0, 0))))
            }
        }
        all["samples of one byte, 2^32 of them"] = {
            let tables = box("stts", words(0, 1, -1, 1)) + box("stsc", words(0, 1, 1, -1, 1)) + box("stco", words(0, 1, 16))
            return HostileFile(brand + movie(tables: tables + box("stsz", words(0, 1, -1))))
        }
        all["auxiliary information of one size, 2^32 of them"] = {
            var made = small
            made.information = .nowhere
            var file = try made.file()
            let more = box("saiz", words(0) + [8] + words(-1)) + box("saio", words(0, 1, 0x7fff_ffff))
            let table = file.indices.last { file[$0...].starts(with: Array("co64".utf8)) } ?? 0
            file.insert(contentsOf: more, at: table - 4)
            return HostileFile(grown(file, by: more.count, before: table))
        }
        all["groups without end"] = {
            var made = small
            made.information = .nowhere
            var file = try made.file()
            let more = box("sbgp", words(0) + Array("seig".utf8) + words(100_000) + repeated(words(-1, 0), 100_000))
            let table = file.indices.last { file[$0...].starts(with: Array("co64".utf8)) } ?? 0
            file.insert(contentsOf: more, at: table - 4)
            return HostileFile(grown(file, by: more.count, before: table))
        }
        all["empty groups, a million of them"] = {
            let runs = words(0) + Array("seig".utf8) + words(1_000_000)
            let group = header("sbgp", runs.count + 8_000_000) + runs
            return HostileFile(brand + movie(tables: empty + group + [UInt8](repeating: 0, count: 8_000_000)))
        }
        all["65,536 keys in a fragment"] = {
            var groups = BoxWriter()
            for number in 0..<65_536 {
                groups.u24(1)
                groups.u8(8)
                for _ in 0..<4 { groups.u32(UInt32(number)) }
            }
            let described = box("sgpd", words(0x100_0000) + Array("seig".utf8) + words(20, 65_536) + groups.bytes)
            return HostileFile(
                brand + movie(isFragmented: true, tables: empty) + fragment(part(described + box("trun", words(0, 1))))
            )
        }
        for types in [
            ["moov"], ["moov", "trak"], ["moof"], ["moof", "traf"], ["moov", "udta", "meta"],
            ["moov", "trak", "mdia", "minf", "stbl"],
        ] {
            all["\(types.joined(separator: " in ")), 100,000 deep"] = {
                let deep = nested(types.map { FourCC(stringLiteral: $0) }, 100_000)
                return HostileFile(brand + (types[0] == "moov" ? deep : movie(isFragmented: true, tables: empty) + deep))
            }
        }
        all["containers inside a protected movie, 100,000 deep"] = {
            HostileFile(
                try small.fragments() + movie(isFragmented: true, more: nested(["trak", "mdia"], 100_000), tables: empty)
            )
        }
        all["containers inside a fragment, 100,000 deep"] = {
            HostileFile(try small.fragments() + fragment(nested(["moof", "traf"], 100_000)))
        }
        for type in ["free", "pssh", "moof", "uuid", "sidx"] {
            let many = type == "free" ? 1_000_000 : 250_000
            all["\(many) boxes \(type)"] = {
                HostileFile(try small.fragments() + repeated(box(FourCC(stringLiteral: type)), many))
            }
            all["a hundred thousand boxes \(type)"] = {
                HostileFile(try small.fragments() + repeated(box(FourCC(stringLiteral: type)), 100_000))
            }
            all["\(many) boxes \(type) in a movie"] = {
                HostileFile(brand + movie(more: repeated(box(FourCC(stringLiteral: type)), many), tables: empty))
            }
            all["\(many) boxes \(type) in a fragment"] = {
                HostileFile(
                    brand + movie(isFragmented: true, tables: empty)
                        + fragment(repeated(box(FourCC(stringLiteral: type)), many))
                )
            }
        }
        all["runs that end past any file"] = {
            let runs = repeated(box("trun", words(0, -1)), 1000)
            return HostileFile(brand + movie(isFragmented: true, tables: empty) + fragment(part(runs, size: 1 << 23)))
        }
        all["a run of 2^32 samples"] = {
            HostileFile(brand + movie(isFragmented: true, tables: empty) + fragment(part(box("trun", words(0, -1)), size: 1)))
        }
        all["16,000 runs"] = {
            let runs = repeated(box("trun", words(0, 1)), 16_000)
            return HostileFile(
                brand + movie(isFragmented: true, tables: empty) + fragment(part(runs)) + header("mdat", 16_000)
                    + [UInt8](repeating: 0, count: 16_000)
            )
        }
        all["1000 parts of 400 runs"] = {
            let runs = repeated(box("trun", words(0, 1)), 400)
            return HostileFile(
                brand + movie(isFragmented: true, tables: empty) + fragment(repeated(part(runs), 1000)) + header("mdat", 400_000)
                    + [UInt8](repeating: 0, count: 400_000)
            )
        }
        all["a fragment longer than any"] = {
            HostileFile(brand + movie(isFragmented: true, tables: empty) + header("moof", 1 << 40), length: 1 << 24)
        }
        all["a fragment of 8 MiB"] = {
            let fragment = fragment(
                box("free", [UInt8](repeating: 0, count: (8 << 20) - 100)) + box("traf", [0, 0, 0, 1, 0, 0, 0, 0])
            )
            return HostileFile(brand + movie(isFragmented: true, tables: empty) + fragment)
        }
        all["a movie of 8 MiB"] = {
            let more = box("free", [UInt8](repeating: 0, count: (8 << 20) - 2000)) + box("trak", [0, 0, 0, 1, 0, 0, 0, 0])
            return HostileFile(brand + movie(isFragmented: true, more: more, tables: empty))
        }
        all["a movie longer than any"] = { HostileFile(brand + header("moov", 1 << 40), length: 1 << 24) }
        all["a movie of 1 GiB of headers of protection systems"] = {
            let system = header("pssh", (1 << 20) - 8) + words(0) + [UInt8](repeating: 7, count: 16) + words((1 << 20) - 32)
            let pattern = system + [UInt8](repeating: 0, count: (1 << 20) - system.count)
            return HostileFile(brand + header("moov", 1 << 30), pattern: pattern, length: Int64(brand.count) + 8 + 1 << 30)
        }
        all["a movie of 900 MiB of descriptions"] = {
            let entry = header("enca", (1 << 20) - 100)
            let table = header("stsd", 16 + (1 << 20) - 100) + words(0, 1) + entry
            var track = table + [UInt8](repeating: 0, count: 8 + (1 << 20) - 92 + 16 - table.count)
            for type in ["stbl", "minf", "mdia", "trak"] as [FourCC] { track = header(type, track.count) + track }
            return HostileFile(
                brand + header("moov", track.count * 900),
                pattern: track,
                length: Int64(brand.count + 8 + track.count * 900)
            )
        }
        for count in [150, 1000] {
            all["\(count) protected tracks"] = {
                var made = small
                made.samples = ProtectedMovie.samples(1, hasParts: false, [1])
                let whole = try made.file()
                let start = whole.indices.first { whole[$0...].starts(with: Array("trak".utf8)) } ?? 0
                let tracks = (0..<count).flatMap { number in
                    var track = Array(whole[(start - 4)...])
                    track.replaceSubrange(28..<32, with: words(number + 1))
                    return track
                }
                let end = whole.indices.first { whole[$0...].starts(with: Array("moov".utf8)) } ?? 0
                return HostileFile(
                    Array(whole[..<(end - 4)])
                        + box("moov", box("mvhd", words(0, 0, 0, 1000) + [UInt8](repeating: 0, count: 84)) + tracks)
                )
            }
        }
        all["a system with 65,000 keys"] = {
            var keys = BoxWriter()
            for number in 0..<65_000 { for _ in 0..<4 { keys.u32(UInt32(number)) } }
            let system = words(1 << 24) + [UInt8](repeating: 7, count: 16) + words(65_000) + keys.bytes + words(0)
            return HostileFile(brand + movie(more: box("pssh", system), tables: empty))
        }
        all["parts that each describe 65,536 groups"] = {
            let head = words(0x100_0000) + Array("seig".utf8) + words(20, 65_536)
            let described = box("sgpd", head + [UInt8](repeating: 0, count: 65_536 * 20))
            let parts = repeated(part(described + box("trun", words(0, 1))), 5)
            return HostileFile(brand + movie(isFragmented: true, tables: empty) + fragment(parts))
        }
        all["fragments without a movie, with 100 MiB of protection systems"] = {
            let data = (1 << 20) - 64
            let head = words(0) + [UInt8](repeating: 7, count: 16) + words(data)
            let system = header("pssh", head.count + data) + head + [UInt8](repeating: 0, count: data)
            let pattern = header("moof", system.count) + system
            return HostileFile(brand, pattern: pattern, length: Int64(brand.count + 100 * pattern.count))
        }
        all["the longest sample in a fragment"] = {
            let size = FragmentReader.sampleLimit
            var made = small
            made.defaults.ivSize = 0
            made.defaults.constantIV = [UInt8](repeating: 1, count: 16)
            let head = brand + movie(made, isFragmented: true, tables: empty)
            let length = fragment(part(box("trun", words(1, 1, 0)), size: size)).count
            let media = fragment(part(box("trun", words(1, 1, length + 8)), size: size)) + header("mdat", size)
            return HostileFile(head + media, length: Int64(head.count + media.count + size))
        }
        all["a sample of 1 GiB"] = {
            var made = small
            made.information = .nowhere
            made.samples = [ProtectedMovie.Sample(clear: [1])]
            var writer = BoxWriter()
            made.writeMovie(to: &writer, isFragmented: false) { writer in
                writer.append(
                    box("stts", words(0, 1, 1, 1)) + box("stsc", words(0, 1, 1, 1, 1)) + box("stsz", words(0, 0, 1, 1 << 30))
                )
                writer.append(box("stco", words(0, 1, 4096)))
            }
            return HostileFile(brand + writer.bytes + header("mdat", 1 << 31), length: 1 << 31)
        }
        return all
    }()

    /// A file whose movie has grown in front of a table: the sizes of the boxes around it follow.
    private static func grown(_ file: [UInt8], by count: Int, before table: Int) -> [UInt8] {
        var file = file
        for type in ["moov", "trak", "mdia", "minf", "stbl"] {
            guard let at = file.indices.first(where: { file[$0...].starts(with: Array(type.utf8)) }) else { continue }
            let size = Int(file.rawSpan.u32(at: at - 4)) + count
            file.replaceSubrange(at - 4..<at, with: words(size))
        }
        return file
    }
}
