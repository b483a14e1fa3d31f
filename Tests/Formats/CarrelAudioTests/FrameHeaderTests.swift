// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import Testing

// spans cannot go through the macros
private func adts(_ bytes: [UInt8], at offset: Int) -> ADTSHeader? {
    ADTSHeader.parse(bytes.rawSpan, at: offset)
}

private func length(_ format: AudioFormat, _ bytes: [UInt8], at offset: Int) -> Int? {
    format.frameLength(in: bytes.rawSpan, at: offset)
}

struct `MP3 frame header` {
    // ISO/IEC 11172-3 §2.4.2.3 and 13818-3 §2.4.2.3, Layer III, in kbit/s
    static let mpeg1 = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
    static let mpeg2 = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]

    @Test(arguments: [
        (MPEGVersion.mpeg1, UInt32(3), [44100, 48000, 32000], mpeg1),
        (.mpeg2, 2, [22050, 24000, 16000], mpeg2),
        (.mpeg25, 0, [11025, 12000, 8000], mpeg2),
    ])
    func `gives every rate and length of the tables`(version: MPEGVersion, bits: UInt32, rates: [Int], kilobits: [Int]) throws {
        for (rateIndex, rate) in rates.enumerated() {
            for (index, kilobit) in kilobits.enumerated() {
                for pad in [0, 1] {
                    let word = 0xffe3_0000 | bits << 19 | UInt32(index + 1) << 12 | UInt32(rateIndex) << 10 | UInt32(pad) << 9
                    let header = try #require(MP3FrameHeader.parse(word))
                    #expect(header.version == version)
                    #expect(header.sampleRate == rate)
                    #expect(header.bitrate == kilobit * 1000)
                    #expect(header.padded == (pad == 1))
                    #expect(header.samplesPerFrame == (version == .mpeg1 ? 1152 : 576))
                    #expect(header.frameLength == header.samplesPerFrame / 8 * kilobit * 1000 / rate + pad)
                    #expect(header.format == AudioFormat(codec: .mp3(version), sampleRate: rate, channels: 2))
                    #expect(MP3FrameHeader.refusal(word) == nil)
                }
            }
        }
    }

    @Test(
        arguments: [
            (0x7ffb_9064, MP3FrameHeader.Refusal.noSync),
            (0xffeb_9064, .reservedVersion),
            (0xfffd_9064, .otherLayer),
            (0xffff_9064, .otherLayer),
            (0xfff9_9064, .otherLayer),
            (0xfffb_0064, .freeFormat),
            (0xfffb_f064, .reservedBitrate),
            (0xfffb_9c64, .reservedSampleRate),
        ] as [(UInt32, MP3FrameHeader.Refusal)]
    )
    func `refuses what is not a usable Layer III header and says why`(word: UInt32, reason: MP3FrameHeader.Refusal) {
        #expect(MP3FrameHeader.parse(word) == nil)
        #expect(MP3FrameHeader.refusal(word) == reason)
    }

    @Test func `refuses exactly the words it has a reason for`() {
        for high in UInt32(0xff00)...0xffff {
            for low in stride(from: UInt32(0), through: 0xff00, by: 0x0100) {
                let word = high << 16 | low
                #expect((MP3FrameHeader.parse(word) == nil) == (MP3FrameHeader.refusal(word) != nil))
            }
        }
    }

    @Test func `knows mono, CRC and side information`() throws {
        let stereo = try #require(MP3FrameHeader.parse(0xfffb_9064))
        #expect(stereo.channelMode == .jointStereo && stereo.channels == 2 && !stereo.hasCRC && stereo.sideInfoLength == 32)
        let mono = try #require(MP3FrameHeader.parse(0xfff2_90c4))
        #expect(mono.channelMode == .mono && mono.channels == 1 && mono.hasCRC && mono.sideInfoLength == 9)
    }
}

struct `ADTS header` {
    @Test(arguments: [AACProfile.main, .lc, .ssr, .ltp], [7350, 22050, 44100, 96000])
    func `reads back what the template writes`(profile: AACProfile, rate: Int) throws {
        for channels in [1, 2, 3, 4, 5, 6, 8] {
            let template = try #require(ADTSTemplate(profile: profile, sampleRate: rate, channels: channels))
            for payload in [0, 1, 248, 2041, 8184] {
                var bytes: [UInt8] = [0xaa]
                #expect(template.append(payloadLength: payload, to: &bytes))
                #expect(bytes.count == 8)
                let header = try #require(adts(bytes, at: 1))
                #expect(header.profile == profile)
                #expect(header.sampleRate == rate)
                #expect(header.channels == channels)
                #expect(header.frameLength == payload + 7)
                #expect(header.headerLength == 7)
                #expect(header.blocks == 1)
                let format = try #require(AudioFormat(codec: .aac(profile), sampleRate: rate, channels: channels))
                #expect(header.format == format)
                #expect(length(format, bytes, at: 1) == payload + 7)
                #expect(length(format, bytes, at: 0) == nil)
                #expect(length(format, bytes, at: 2) == nil)
            }
        }
    }

    // written by hand from ISO/IEC 13818-7 table 8: LC, 44.1 kHz, two channels, 248 bytes of data
    @Test func `has the bytes of the standard`() throws {
        var bytes: [UInt8] = []
        let template = try #require(ADTSTemplate(profile: .lc, sampleRate: 44100, channels: 2))
        #expect(template.append(payloadLength: 248, to: &bytes))
        #expect(Hex.encode(bytes) == "fff150801ffffc")
    }

    @Test func `refuses what it cannot say`() throws {
        #expect(ADTSTemplate(profile: .lc, sampleRate: 44000, channels: 2) == nil)
        #expect(ADTSTemplate(profile: .lc, sampleRate: 44100, channels: 7) == nil)
        #expect(ADTSTemplate(profile: .lc, sampleRate: 44100, channels: 0) == nil)
        let template = try #require(ADTSTemplate(profile: .lc, sampleRate: 44100, channels: 2))
        #expect(template.header(payloadLength: 8185) == nil)
        #expect(template.header(payloadLength: -1) == nil)
    }

    @Test(arguments: ["fff15080ffff", "fff150800 0dffc", "fff174801ffffc", "fff550801ffffc", "ffe150801ffffc"])
    func `refuses what is not one`(hex: String) {
        let bytes = Hex.decode(hex.filter { $0 != " " }) ?? []
        #expect(adts(bytes, at: 0) == nil)
    }
}

struct `Audio format` {
    @Test func `names codecs as RFC 6381 does`() throws {
        #expect(AudioFormat(codec: .mp3(.mpeg1), sampleRate: 44100, channels: 2)?.codecString == "mp4a.40.34")
        #expect(AudioFormat(codec: .mp3(.mpeg2), sampleRate: 22050, channels: 1)?.codecString == "mp4a.40.34")
        #expect(AudioFormat(codec: .aac(.lc), sampleRate: 44100, channels: 2)?.codecString == "mp4a.40.2")
        #expect(AudioFormat(codec: .aac(.he), sampleRate: 22050, channels: 2)?.codecString == "mp4a.40.5")
        let v2 = try #require(AudioFormat(codec: .aac(.heV2), sampleRate: 22050, channels: 1))
        #expect(v2.codecString == "mp4a.40.29")
        #expect(v2.outputChannels == 2)
    }

    @Test func `exists only where its codec has the rate and channels`() {
        #expect(AudioFormat(codec: .mp3(.mpeg1), sampleRate: 22050, channels: 2) == nil)
        #expect(AudioFormat(codec: .mp3(.mpeg2), sampleRate: 44100, channels: 2) == nil)
        #expect(AudioFormat(codec: .mp3(.mpeg1), sampleRate: 44100, channels: 3) == nil)
        #expect(AudioFormat(codec: .mp3(.mpeg1), sampleRate: 0, channels: 1) == nil)
        #expect(AudioFormat(codec: .aac(.lc), sampleRate: 44101, channels: 2) == nil)
    }

    @Test func `takes no frame of another stream`() throws {
        let format = try #require(AudioFormat(codec: .mp3(.mpeg1), sampleRate: 44100, channels: 2))
        let same: [UInt8] = [0xff, 0xfb, 0x50, 0x64]
        #expect(length(format, same, at: 0) == 208)
        #expect(length(format, same, at: 1) == nil)
        #expect(length(format, same, at: -1) == nil)
        for other: [UInt8] in [[0xff, 0xfb, 0x54, 0x64], [0xff, 0xf3, 0x50, 0x64], [0xff, 0xfb, 0x00, 0x64], [0, 0, 0, 0]] {
            #expect(length(format, other, at: 0) == nil)
        }
    }
}
