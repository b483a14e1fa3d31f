// SPDX-License-Identifier: Apache-2.0

/// Writes the ADTS header of each frame of one stream: seven bytes, no CRC, one raw data block.
package struct ADTSTemplate: Sendable, Hashable {
    /// The first four bytes, with a length of zero.
    let word: UInt32

    /// Creates a template; returns nil if ADTS does not support the rate or channel count.
    ///
    /// - Parameters:
    ///   - profile: HE profiles are written as their Low Complexity core, so band replication is implicit.
    ///   - sampleRate: the core's samples per second.
    ///   - channels: the core's channels: 1 to 6, or 8 for 7.1.
    package init?(profile: AACProfile, sampleRate: Int, channels: Int) {
        guard let index = ADTSHeader.sampleRates.firstIndex(of: sampleRate) else { return nil }
        guard (1...6).contains(channels) || channels == 8 else { return nil }
        let configuration = UInt32(channels == 8 ? 7 : channels)
        word = 0xfff1_0000 | UInt32(profile.adtsProfile) << 14 | UInt32(index) << 10 | configuration << 6
    }

    /// The header of a frame with this much raw data, or nil if the frame would be longer than 8,191 bytes.
    package func header(payloadLength: Int) -> [7 of UInt8]? {
        guard payloadLength >= 0, payloadLength <= ADTSHeader.maximumFrameLength - 7 else { return nil }
        let length = UInt32(payloadLength + 7)
        let first = word | length >> 11
        // buffer fullness all ones: variable bit rate
        return [
            UInt8(first >> 24), UInt8(first >> 16 & 255), UInt8(first >> 8 & 255), UInt8(first & 255),
            UInt8(length >> 3 & 255), UInt8(length & 7) << 5 | 0x1f, 0xfc,
        ]
    }

    /// Appends that header; false, and nothing appended, when the frame would be too long.
    package func append(payloadLength: Int, to out: inout [UInt8]) -> Bool {
        guard let header = header(payloadLength: payloadLength) else { return false }
        for i in header.indices { out.append(header[i]) }
        return true
    }
}
