// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTesting
import CarrelVideo
import Testing

/// The samples of a file with one track, concatenated.
private func mediaData(_ file: String) throws -> [UInt8] {
    try #require(MediaBoxes.contents("mdat", in: try Fixtures.bytes("media/src/\(file)")).max { $0.count < $1.count })
}

private func units(_ bytes: [UInt8]) -> [Range<Int>] {
    var found: [Range<Int>] = []
    var units = ByteStreamUnits(bytes.rawSpan)
    while let unit = units.next() { found.append(unit) }
    return found
}

struct `NAL units` {
    @Test func `are found after start codes of three and four bytes, without zero bytes around them`() {
        let none: [[UInt8]] = [[], [0], [0, 0], [0, 0, 1], [0, 0, 0, 1], [1, 2, 3], [0, 0, 2, 0, 1]]
        for bytes in none { #expect(units(bytes) == []) }
        #expect(units([0, 0, 1, 9]) == [3..<4])
        #expect(units([0, 0, 0, 1, 9, 0xf0, 0, 0, 0, 1, 0x65, 0, 3, 0, 0, 1, 0x41]) == [4..<6, 10..<13, 16..<17])
        #expect(units([7, 0, 0, 1, 0, 0, 0, 0, 1, 5, 0, 0]) == [9..<10])
    }

    @Test func `are found at every offset, as a search byte by byte finds them`() {
        var random = SplitMix(seed: 2)
        for length in 0..<200 {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...3, using: &random) }
            var expected: [Int] = []
            if length >= 3 { expected = (0...length - 3).filter { bytes[$0] == 0 && bytes[$0 + 1] == 0 && bytes[$0 + 2] == 1 } }
            var found: [Int] = []
            var from = 0
            while let code = StartCode.first(in: bytes.rawSpan, from: from) {
                found.append(code)
                from = code + 1
            }
            #expect(found == expected)
        }
    }

    @Test func `lose and regain emulation prevention bytes`() {
        let pairs: [([UInt8], [UInt8])] = [
            ([], []), ([0x65, 0, 0, 0, 0, 0], [0x65, 0, 0, 3, 0, 0, 3, 0, 3]), ([0x65, 0, 0, 1], [0x65, 0, 0, 3, 1]),
            ([0x65, 0, 0, 3], [0x65, 0, 0, 3, 3]), ([0x65, 0, 0, 4], [0x65, 0, 0, 4]), ([0x65, 0, 1, 0], [0x65, 0, 1, 0, 3]),
            ([0x65, 0, 0, 2, 0, 0, 0, 7], [0x65, 0, 0, 3, 2, 0, 0, 3, 0, 7]),
        ]
        for (plain, escaped) in pairs {
            var made: [UInt8] = []
            EmulationPrevention.append(insertedInto: plain.rawSpan, to: &made)
            #expect(made == escaped)
        }
        var random = SplitMix(seed: 3)
        for length in 0..<300 {
            let plain = (0..<length).map { _ in UInt8.random(in: 0...4, using: &random) } + [0x80]
            var escaped: [UInt8] = []
            EmulationPrevention.append(insertedInto: plain.rawSpan, to: &escaped)
            let codes = StartCode.first(in: escaped.rawSpan, from: 0)
            #expect(codes == nil)
            var back: [UInt8] = []
            EmulationPrevention.append(removedFrom: escaped.rawSpan, to: &back)
            #expect(back == plain)
        }
    }

    @Test(arguments: [("video.mp4", VideoCodec.h264), ("video.frag.mp4", .h264), ("video-hevc.frag.mp4", .h265)])
    func `of an MP4 become a byte stream in place and lengths again`(file: String, codec: VideoCodec) throws {
        let sample = try mediaData(file)
        var stream = sample
        var span = stream.mutableSpan
        var bytes = unsafe span.mutableBytes
        let kinds = try LengthPrefixedUnits.makeByteStream(&bytes, in: 0..<sample.count, codec: codec)
        #expect(kinds.isSuperset(of: [.picture, .randomAccess]))
        #expect(try LengthPrefixedUnits.kinds(in: sample.rawSpan, codec: codec, lengthSize: 4) == kinds)
        var copied: [UInt8] = []
        try LengthPrefixedUnits.append(sample.rawSpan, lengthSize: 4, codec: codec, asByteStreamTo: &copied)
        #expect(copied == stream)
        var back: [UInt8] = []
        try LengthPrefixedUnits.append(byteStream: stream.rawSpan, codec: codec, to: &back)
        #expect(back == sample)
    }

    @Test(arguments: [1, 2, 3, 4])
    func `have lengths of one to four bytes`(size: Int) throws {
        let units: [[UInt8]] = [[9, 0xf0], [], [0x67] + [UInt8](repeating: 7, count: 200), [0x65, 1, 2]]
        var sample: [UInt8] = []
        for unit in units { sample += [UInt8](repeating: 0, count: size - 1) + [UInt8(unit.count)] + unit }
        var stream: [UInt8] = []
        let kinds = try LengthPrefixedUnits.append(sample.rawSpan, lengthSize: size, codec: .h264, asByteStreamTo: &stream)
        #expect(kinds == [.delimiter, .sequenceParameterSet, .picture, .randomAccess])
        #expect(stream == ByteStreamUnits.join(units.filter { !$0.isEmpty }))
        var left: [UInt8] = []
        try LengthPrefixedUnits.append(
            byteStream: stream.rawSpan,
            codec: .h264,
            leavingOut: [.delimiter, .sequenceParameterSet],
            to: &left
        )
        #expect(left == [0, 0, 0, 3, 0x65, 1, 2])
        for cut in 1..<sample.count {
            let part = Array(sample.prefix(cut))
            let isWhole = [size + 2, 2 * size + 2, 3 * size + 203].contains(cut)
            let kinds = try? LengthPrefixedUnits.kinds(in: part.rawSpan, codec: .h264, lengthSize: size)
            #expect((kinds != nil) == isWhole)
        }
    }

    @Test func `that leave their sample are refused with the byte of their length`() {
        var bytes: [UInt8] = [0xaa, 0, 0, 0, 1, 0x41, 0, 0, 0, 5, 0x41, 0, 0, 0, 0xbb]
        func convert(_ range: Range<Int>) throws(Malformed) {
            var span = bytes.mutableSpan
            var raw = unsafe span.mutableBytes
            try LengthPrefixedUnits.makeByteStream(&raw, in: range, codec: .h264)
        }
        #expect(throws: Malformed("NAL unit leaves its sample", at: 6)) { try convert(1..<14) }
        #expect(throws: Malformed("NAL unit length is cut off", at: 6)) { try convert(1..<8) }
        #expect(throws: Malformed("NAL unit leaves its sample", at: 5)) {
            _ = try LengthPrefixedUnits.kinds(in: bytes.rawSpan.extracting(1..<14), codec: .h264, lengthSize: 4)
        }
        #expect(throws: Malformed("byte stream begins without a start code", at: 0)) {
            var out: [UInt8] = []
            try LengthPrefixedUnits.append(byteStream: bytes.rawSpan, codec: .h264, to: &out)
        }
    }

    @Test func `have types by the table of their codec`() {
        let delimiters = [VideoCodec.h264, .h265].map { NALUnitType($0, header: $0.delimiter[4]) }
        #expect(delimiters.allSatisfy { $0.isDelimiter && $0.opensAccessUnit && !$0.isPicture })
        // IDR_W_RADL, CRA_NUT, BLA_W_LP, TRAIL_R of H.265; IDR and non-IDR of H.264
        let headers: [(VideoCodec, UInt8, Bool)] = [
            (.h265, 19 << 1, true), (.h265, 21 << 1, true), (.h265, 16 << 1, true), (.h265, 1 << 1, false),
            (.h264, 0x65, true), (.h264, 0x41, false),
        ]
        for (codec, header, isSync) in headers {
            let type = NALUnitType(codec, header: header)
            #expect(type.isPicture && type.isRandomAccess == isSync)
        }
        #expect(NALUnitType(.h265, header: 32 << 1).isVideoParameterSet)
        #expect((32...34).allSatisfy { NALUnitType(.h265, header: $0 << 1).isParameterSet })
        #expect([7, 8, 13].allSatisfy { NALUnitType(.h264, header: 0x60 | $0).isParameterSet })
    }
}
