// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelTesting
import Testing

struct `Audio specific config` {
    private func read(_ hex: String) throws -> AudioSpecificConfig {
        let bytes = Hex.decode(hex) ?? []
        return try AudioSpecificConfig(bytes.rawSpan)
    }

    // bytes that encoders and ISO/IEC 14496-3 give for each signalling
    @Test(arguments: [
        ("1210", AACProfile.lc, 44100, 2),
        ("1188", .lc, 48000, 1),
        ("1208", .lc, 44100, 1),
        ("1390", .lc, 22050, 2),
        ("0a10", .main, 44100, 2),
        ("2210", .ltp, 44100, 2),
        ("1230", .lc, 44100, 6),
        ("1238", .lc, 44100, 8),
        // HE-AAC: explicit, backward compatible; HE-AAC v2: explicit, backward compatible
        ("2b920800", .he, 22050, 2),
        ("139056e5a0", .he, 22050, 2),
        ("eb8a0800", .heV2, 22050, 1),
        ("138856e5a54880", .heV2, 22050, 1),
        // the sync extension says there is none
        ("121056e500", .lc, 44100, 2),
        // rate by number: 44,100 as 24 bits
        ("1780562210", .lc, 44100, 2),
    ])
    func `tells what ADTS can carry`(hex: String, profile: AACProfile, rate: Int, channels: Int) throws {
        let config = try read(hex)
        let format = try config.format.get()
        #expect(format == AudioFormat(codec: .aac(profile), sampleRate: rate, channels: channels))
        #expect(config.adts == ADTSTemplate(profile: profile, sampleRate: rate, channels: channels))
        #expect(config.adts != nil)
    }

    @Test func `says how and to what rate bands are replicated`() throws {
        #expect(try read("2b920800").bandReplication == .explicit)
        #expect(try read("2b920800").extensionSampleRate == 44100)
        #expect(try read("139056e5a0").bandReplication == .compatible)
        #expect(try read("eb8a0800").parametricStereo == .explicit)
        #expect(try read("138856e5a54880").parametricStereo == .compatible)
        #expect(try read("1390").bandReplication == .none)
    }

    @Test(
        arguments: [
            ("1214", AudioSpecificConfig.Refusal.shortFrames),
            ("f94840", .objectType(42)),
            ("ba10", .objectType(23)),
            ("1280", .channelConfiguration(0)),
            ("1258", .channelConfiguration(11)),
            ("178005dc10", .sampleRate(3000)),
        ] as [(String, AudioSpecificConfig.Refusal)]
    )
    func `says why ADTS cannot carry it`(hex: String, refusal: AudioSpecificConfig.Refusal) throws {
        let config: AudioSpecificConfig
        if refusal == .channelConfiguration(0) {
            // a program config element: one front pair
            config = try read("1200050400002000")
            #expect(config.channels == 2)
            #expect(config.format == .failure(.programConfig))
            return
        }
        config = try read(hex)
        #expect(config.format == .failure(refusal))
        #expect(config.adts == nil)
    }

    @Test func `is refused when cut off or reserved, never with a trap`() throws {
        for hex in ["", "12", "1690", "2b92", "178056", "12000504"] {
            #expect(throws: Malformed.self, "\(hex)") { try read(hex) }
        }
        var random = SplitMix(seed: 9)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...12, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            _ = try? AudioSpecificConfig(bytes.rawSpan).format
        }
    }
}
