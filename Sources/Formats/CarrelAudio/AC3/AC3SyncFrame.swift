// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The header of an AC-3 or E-AC-3 syncframe (ETSI TS 102 366 §4.3, §E.1.2).
package struct AC3SyncFrame: Sendable, Hashable {
    /// How an E-AC-3 frame belongs to its program (table E.1.1).
    package enum Substream: UInt8, Sendable, Hashable {
        /// A program, or the part of it that stands alone.
        case independent
        /// More channels of the independent frame before it.
        case dependent
        /// An independent frame converted from AC-3.
        case transcoded
    }

    /// Number of bytes that `parse` reads.
    package static let headerLength = 8

    /// `bsid`: 8 is AC-3, 16 E-AC-3.
    package let identification: UInt8
    /// `bsmod`: what the program is; 0, the main program, in E-AC-3.
    package let mode: UInt8
    /// `acmod`: the full-bandwidth channels (table 4.3).
    package let channelMode: UInt8
    /// Whether there is a low-frequency channel.
    package let hasLowFrequency: Bool
    /// `fscod`: 0 is 48 kHz, 1 is 44.1 kHz, 2 is 32 kHz, 3 half of a rate.
    package let rateCode: UInt8
    /// Samples of each channel per second.
    package let sampleRate: Int
    /// `bit_rate_code`, the upper five bits of `frmsizecod`; 0 in E-AC-3.
    package let bitRateCode: UInt8
    /// Bytes of the frame, header included.
    package let frameLength: Int
    /// Samples of each channel in the frame: 1536, or less in E-AC-3.
    package let samplesPerFrame: Int
    /// How the frame belongs to its program; independent in AC-3.
    package let substream: Substream
    /// The number of the substream, 0 to 7; 0 in AC-3.
    package let substreamNumber: UInt8

    /// Whether this is E-AC-3.
    package var isEnhanced: Bool { identification > 10 }

    /// Channels, the low-frequency one included.
    package var channels: Int { Int([2, 1, 2, 3, 3, 4, 4, 5][Int(channelMode & 7)]) + (hasLowFrequency ? 1 : 0) }

    /// Bits per second, if every frame is as long as this one.
    package var bitRate: Int { frameLength * 8 * sampleRate / samplesPerFrame }

    /// Reads the header at `offset`; nil if its eight bytes exceed the span or are not the header of a known syncframe.
    package static func parse(_ span: RawSpan, at offset: Int) -> AC3SyncFrame? {
        guard offset >= 0, span.byteCount - offset >= headerLength, span.u16(at: offset) == 0x0b77 else { return nil }
        // the identification is at the same place in both
        let identification = span.u8(at: offset + 5) >> 3
        let header = span.extracting(offset..<offset + headerLength)
        var bits = BitCursor(header)
        if identification <= 10 { return try? AC3SyncFrame(basic: &bits, identification) }
        return identification <= 16 ? try? AC3SyncFrame(enhanced: &bits, identification) : nil
    }

    /// Bit rates by code, in kbit/s (table 4.13).
    private static let rates = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640]
    private static let sampleRates = [48000, 44100, 32000]

    private init(basic bits: inout BitCursor, _ identification: UInt8) throws(Malformed) {
        _ = try bits.bits(32, "sync word and checksum")
        let rate = try bits.bits(2, "sample rate")
        let size = try bits.bits(6, "frame size")
        guard rate < 3, size / 2 < Self.rates.count else { throw Malformed("sample rate or frame size is reserved", at: 4) }
        _ = try bits.bits(5, "identification")
        mode = UInt8(try bits.bits(3, "mode"))
        channelMode = UInt8(try bits.bits(3, "channels"))
        if channelMode & 1 != 0, channelMode != 1 { _ = try bits.bits(2, "centre mix") }
        if channelMode & 4 != 0 { _ = try bits.bits(2, "surround mix") }
        if channelMode == 2 { _ = try bits.bits(2, "surround mode") }
        hasLowFrequency = try bits.flag("low-frequency channel")
        self.identification = identification
        rateCode = UInt8(rate)
        // identifications 9 and 10 are half and a quarter of the rate
        sampleRate = Self.sampleRates[rate] >> max(0, Int(identification) - 8)
        bitRateCode = UInt8(size / 2)
        let kilobits = Self.rates[size / 2]
        switch rate {
        case 0: frameLength = kilobits * 4
        case 1: frameLength = (kilobits * 1000 * 1536 / 44100 / 16 + size % 2) * 2
        default: frameLength = kilobits * 6
        }
        samplesPerFrame = 1536
        substream = .independent
        substreamNumber = 0
    }

    private init(enhanced bits: inout BitCursor, _ identification: UInt8) throws(Malformed) {
        _ = try bits.bits(16, "sync word")
        guard let substream = Substream(rawValue: UInt8(try bits.bits(2, "stream type"))) else {
            throw Malformed("stream type is reserved", at: 2)
        }
        self.substream = substream
        substreamNumber = UInt8(try bits.bits(3, "substream"))
        frameLength = (try bits.bits(11, "frame size") + 1) * 2
        let rate = try bits.bits(2, "sample rate")
        let second = try bits.bits(2, "blocks")
        if rate == 3 {
            guard second < 3 else { throw Malformed("sample rate is reserved", at: 4) }
            sampleRate = Self.sampleRates[second] / 2
            samplesPerFrame = 1536
        } else {
            sampleRate = Self.sampleRates[rate]
            samplesPerFrame = [256, 512, 768, 1536][second]
        }
        rateCode = UInt8(rate)
        channelMode = UInt8(try bits.bits(3, "channels"))
        hasLowFrequency = try bits.flag("low-frequency channel")
        self.identification = identification
        mode = 0
        bitRateCode = 0
        guard frameLength >= Self.headerLength else { throw Malformed("frame is shorter than its header", at: 2) }
    }
}
