// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTesting
import CarrelVideo
import Testing

struct `Decoder configuration records` {
    @Test(
        arguments: [
            ("src/video.mp4", "avc1.64000c", 320, 180), ("src/video.frag.mp4", "avc1.64000c", 320, 180),
            ("src/av-h264-aac.mp4", "avc1.64000c", 320, 180), ("src/av.frag.mp4", "avc1.64000c", 320, 180),
            ("ext/media3/sample_fragmented.mp4", "avc1.64001f", 1080, 720),
            ("ext/shaka-player/clear-encrypted/clear-v-init.mp4", "avc1.42c01e", 256, 110),
            ("ext/shaka-player/dash-clearkey/video-H264-288-400k_init.mp4", "avc1.640015", 512, 288),
            ("ext/shaka-player/hls-sample-aes/video.mp4", "avc1.4d400c", 180, 144),
            ("dash/number-clear/v-init.mp4", "avc1.64000c", 320, 180),
        ]
    )
    func `reads avcC of other writers and writes it back byte for byte`(
        file: String,
        codec: String,
        width: Int,
        height: Int
    ) throws {
        for bytes in MediaBoxes.contents("avcC", in: try Fixtures.bytes("media/\(file)")) {
            let record = try AVCDecoderConfigurationRecord(bytes.rawSpan)
            #expect(record.bytes == bytes)
            #expect(record.codecString() == codec)
            #expect(record.lengthSize == 4)
            let unit = try #require(record.sequenceParameterSets.first)
            let set = try AVCSequenceParameterSet(unit.rawSpan)
            #expect(set.size == PictureSize(width: width, height: height))
            #expect(set.profile == record.profile && set.level == record.level && set.constraints == record.constraints)
            let made = try AVCDecoderConfigurationRecord(
                sequenceParameterSets: record.sequenceParameterSets,
                pictureParameterSets: record.pictureParameterSets
            )
            #expect(made.codecString() == codec)
            // one writer leaves the extensions out; dash-clearkey's writer declares monochrome in them, and 4:2:0 in the set
            #expect(made == record || record.extensions.isEmpty || file.contains("dash-clearkey"))
        }
    }

    @Test(arguments: ["src/av-hevc-aac.mp4", "src/video-hevc.frag.mp4"])
    func `reads hvcC of another writer and writes it back byte for byte`(file: String) throws {
        let boxes = MediaBoxes.contents("hvcC", in: try Fixtures.bytes("media/\(file)"))
        #expect(!boxes.isEmpty)
        for bytes in boxes {
            let record = try HEVCDecoderConfigurationRecord(bytes.rawSpan)
            #expect(record.bytes == bytes)
            #expect(record.codecString() == "hvc1.1.6.L60.90")
            #expect(record.codecString(format: "hev1") == "hev1.1.6.L60.90")
            let unit = try #require(record.sequenceParameterSets.first)
            let set = try HEVCSequenceParameterSet(unit.rawSpan)
            #expect(set.size == PictureSize(width: 320, height: 180))
            #expect(set.profile == record.profile)
            let made = try HEVCDecoderConfigurationRecord(
                videoParameterSets: record.arrays.filter { $0.type == 32 }.flatMap(\.units),
                sequenceParameterSets: record.sequenceParameterSets,
                pictureParameterSets: record.arrays.filter { $0.type == 34 }.flatMap(\.units)
            )
            #expect(made.byteStream == record.byteStream)
            #expect(made.chromaFormat == record.chromaFormat && made.lumaBitDepth == record.lumaBitDepth)
            #expect(made.temporalLayers == record.temporalLayers && made.isTemporallyNested == record.isTemporallyNested)
            #expect(try HEVCDecoderConfigurationRecord(made.bytes.rawSpan) == made)
        }
    }

    // ISO/IEC 14496-15 annex E gives the form; the second is Main 10, high tier
    @Test(
        arguments: [
            (
                HEVCProfile(
                    space: 0,
                    isHighTier: false,
                    number: 1,
                    compatibility: 0x6000_0000,
                    constraints: 0xb0 << 40,
                    level: 93
                ), "1.6.L93.B0"
            ),
            (
                HEVCProfile(
                    space: 0,
                    isHighTier: true,
                    number: 2,
                    compatibility: 0x2000_0000,
                    constraints: 0xb0 << 40,
                    level: 153
                ), "2.4.H153.B0"
            ),
            (
                HEVCProfile(space: 1, isHighTier: false, number: 2, compatibility: 0x2000_0000, constraints: 0, level: 93),
                "A2.4.L93"
            ),
            (
                HEVCProfile(
                    space: 0,
                    isHighTier: false,
                    number: 4,
                    compatibility: 0x0800_0000,
                    constraints: 0x9d_0800_0000_00,
                    level: 120
                ), "4.10.L120.9D.8"
            ),
        ]
    )
    func `names an H.265 stream`(profile: HEVCProfile, suffix: String) {
        #expect(profile.codecSuffix == suffix)
    }

    @Test(arguments: [("src/video.mp4", "avcC"), ("src/av-hevc-aac.mp4", "hvcC")])
    func `refuses a record cut anywhere, and survives any changed byte`(file: String, type: String) throws {
        let bytes = try #require(MediaBoxes.contents(type, in: try Fixtures.bytes("media/\(file)")).first)
        func read(_ bytes: [UInt8]) throws {
            if type == "avcC" {
                let record = try AVCDecoderConfigurationRecord(bytes.rawSpan)
                for set in record.sequenceParameterSets { _ = try? AVCSequenceParameterSet(set.rawSpan) }
                #expect(try AVCDecoderConfigurationRecord(record.bytes.rawSpan) == record)
            } else {
                let record = try HEVCDecoderConfigurationRecord(bytes.rawSpan)
                for set in record.sequenceParameterSets { _ = try? HEVCSequenceParameterSet(set.rawSpan) }
                #expect(try HEVCDecoderConfigurationRecord(record.bytes.rawSpan) == record)
            }
        }
        // the four bytes of high profiles at the end of avcC are optional
        for length in 0..<bytes.count - (type == "avcC" ? 4 : 0) {
            #expect(throws: Malformed.self, "cut at \(length)") { try read(Array(bytes.prefix(length))) }
        }
        var random = SplitMix(seed: 1)
        for i in bytes.indices {
            for _ in 0..<4 {
                var changed = bytes
                changed[i] = UInt8.random(in: 0...255, using: &random)
                try? read(changed)
            }
        }
    }

    @Test func `refuses what no record can be made of`() {
        #expect(throws: Malformed.self) { try AVCDecoderConfigurationRecord(sequenceParameterSets: [], pictureParameterSets: []) }
        #expect(throws: Malformed.self) {
            try AVCDecoderConfigurationRecord(sequenceParameterSets: [[0x68, 1, 2]], pictureParameterSets: [])
        }
        #expect(throws: Malformed("NAL unit lengths of 3 bytes are not allowed", at: 4)) {
            let bytes: [UInt8] = [1, 100, 0, 12, 0xfe, 0xe0, 0]
            _ = try AVCDecoderConfigurationRecord(bytes.rawSpan)
        }
    }
}
