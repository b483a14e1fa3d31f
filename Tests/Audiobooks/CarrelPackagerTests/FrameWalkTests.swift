// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
@testable import CarrelPackager
import Testing

struct `Frame walk` {
    static let formats: [AudioFormat] = {
        var all: [AudioFormat?] = []
        for (version, rates) in [
            (MPEGVersion.mpeg1, [44100, 48000, 32000]), (.mpeg2, [22050, 24000, 16000]), (.mpeg25, [11025, 12000, 8000]),
        ] {
            for rate in rates {
                for channels in 1...2 { all.append(AudioFormat(codec: .mp3(version), sampleRate: rate, channels: channels)) }
            }
        }
        for (profile, rate, channels) in [(AACProfile.lc, 44100, 2), (.he, 22050, 1), (.heV2, 24000, 1), (.main, 96000, 6)] {
            all.append(AudioFormat(codec: .aac(profile), sampleRate: rate, channels: channels))
        }
        return all.compactMap(\.self)
    }()

    @Test(arguments: formats)
    func `agrees with the format about every header`(format: AudioFormat) {
        #expect(Self.formats.count == 22)
        let walk = FrameWalk(format)
        var found = 0
        var bytes: [UInt8] = [0xff, 0xf0, 0, 0, 0x1f, 0xe0, 0xfc, 0, 0]
        for second in 0xe0...0xff as ClosedRange<UInt8> {
            for third in 0...255 as ClosedRange<UInt8> {
                for fourth in stride(from: 0, through: 255, by: 13) {
                    (bytes[1], bytes[2], bytes[3]) = (second, third, UInt8(fourth))
                    let length = format.frameLength(in: bytes.rawSpan, at: 0)
                    #expect(walk.frameLength(in: bytes.rawSpan, at: 0) == length)
                    if length != nil { found += 1 }
                }
            }
        }
        #expect(found > 0)
    }

    @Test func `reads lengths, block counts and ends of ADTS as the format does`() throws {
        let format = try #require(AudioFormat(codec: .aac(.lc), sampleRate: 44100, channels: 2))
        let walk = FrameWalk(format)
        for length in [0, 1, 93, 8184] {
            let header = try #require(format.adts?.header(payloadLength: length))
            var bytes = header.indices.map { header[$0] }
            #expect(walk.frameLength(in: bytes.rawSpan, at: 0) == length + 7, "seven bytes are there")
            for count in 0..<7 { #expect(walk.frameLength(in: bytes.rawSpan.extracting(0..<count), at: 0) == nil) }
            bytes += [0, 0]
            #expect(walk.frameLength(in: bytes.rawSpan, at: 0) == length + 7)
            bytes[6] |= 1
            #expect(walk.frameLength(in: bytes.rawSpan, at: 0) == nil, "two blocks")
        }
    }
}
