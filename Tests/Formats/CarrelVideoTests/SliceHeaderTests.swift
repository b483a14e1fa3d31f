// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTesting
import CarrelVideo
import Testing

/// Slices and parameter sets of streams that x264 and x265 make, with all that they can vary.
struct `The header of a slice` {
    private static let forms: [(codec: VideoCodec, options: [String])] = [
        (.h264, ["-c:v", "libx264", "-profile:v", "baseline"]),
        (.h264, ["-c:v", "libx264", "-bf", "3", "-refs", "4", "-weightp", "2", "-x264-params", "weightb=1:b-pyramid=2"]),
        (.h264, ["-c:v", "libx264", "-x264-params", "interlaced=1:cabac=0:slices=4"]),
        (.h264, ["-c:v", "libx264", "-pix_fmt", "yuv444p", "-x264-params", "cqm=jvt:aud=1:repeat-headers=1"]),
        (.h265, ["-c:v", "libx265", "-x265-params", "log-level=none:bframes=4:ref=4:weightp=1:weightb=1"]),
        (.h265, ["-c:v", "libx265", "-x265-params", "log-level=none:slices=3:open-gop=1:sao=0:deblock=1,1"]),
        (.h265, ["-c:v", "libx265", "-pix_fmt", "yuv422p10", "-x265-params", "log-level=none:wpp=1:scaling-list=default"]),
    ]

    private static func stream(_ form: Int, _ directory: TemporaryDirectory) async throws -> [[UInt8]] {
        let path = directory.file("a.bin")
        let format = forms[form].codec == .h264 ? "h264" : "hevc"
        try await checkProcess(
            [
                try requirePeer("ffmpeg"), "-v", "error", "-f", "lavfi", "-i",
                "testsrc2=s=320x192:r=25:d=2,fade=in:0:25", "-g", "20",
            ] + forms[form].options + ["-f", format, path]
        )
        let bytes = try #require(directory.read("a.bin"))
        var found: [[UInt8]] = []
        var units = ByteStreamUnits(bytes.rawSpan)
        while let range = units.next() { found.append(Array(bytes[range])) }
        return found
    }

    @Test(arguments: forms.indices)
    func `is found in every slice, and is a small part of it`(form: Int) async throws {
        let directory = TemporaryDirectory()
        let codec = Self.forms[form].codec
        let units = try await Self.stream(form, directory)
        var reader = try SliceHeaderReader(codec, parameterSets: [])
        var slices = 0
        for unit in units {
            let type = NALUnitType(codec, header: unit[0])
            guard type.isPicture else {
                try reader.read(parameterSet: unit.rawSpan)
                continue
            }
            slices += 1
            let length = try reader.headerLength(of: unit.rawSpan)
            #expect(length > codec.unitHeaderLength && length <= min(unit.count, 300), "\(length) of \(unit.count)")
            // with CABAC the header ends with ones up to the byte's end (cabac_alignment_one_bit), in H.265 with a one and zeros
            if codec == .h265 { #expect(unit[length - 1] != 0) }
        }
        #expect(slices >= 50)
    }

    @Test(arguments: [0, 4])
    func `never traps when units are cut or changed`(form: Int) async throws {
        let directory = TemporaryDirectory()
        let codec = Self.forms[form].codec
        let units = try await Self.stream(form, directory).prefix(12)
        var random = SplitMix(seed: 9)
        for _ in 0..<400 {
            guard var reader = try? SliceHeaderReader(codec, parameterSets: []) else { return }
            for unit in units {
                var unit = Array(unit.prefix(Int.random(in: 1...400, using: &random)))
                for _ in 0..<Int.random(in: 0...4, using: &random) {
                    unit[Int.random(in: 0..<unit.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
                if NALUnitType(codec, header: unit[0]).isPicture {
                    if let length = try? reader.headerLength(of: unit.rawSpan) { #expect(length <= unit.count) }
                } else {
                    try? reader.read(parameterSet: unit.rawSpan)
                }
            }
        }
    }

    @Test func `is not found without its parameter sets`() throws {
        let reader = try SliceHeaderReader(.h264, parameterSets: [])
        let slice: [UInt8] = [0x65, 0x88, 0x84, 0, 1, 2, 3]
        #expect(throws: Malformed.self) { try reader.headerLength(of: slice.rawSpan) }
    }
}
