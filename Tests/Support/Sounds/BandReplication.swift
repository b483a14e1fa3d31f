// SPDX-License-Identifier: Apache-2.0

/// HE-AAC (ISO/IEC 14496-3, subpart 4) for tests. No encoder in Debian writes it, so it is made from AAC-LC: each frame gets the
/// smallest extension that replicates bands, the same in all of them.
///
/// The decoded audio has twice the sample rate, with low bands repeated between 7.2 and 14.5 kHz, at a constant level.
package enum BandReplication {
    /// Adds the extension to frames.
    ///
    /// - Parameter frames: ADTS frames of 22,050 Hz and two channels, with one channel pair and nothing after it.
    /// - Returns: the same frames, longer.
    package static func added(toFrames frames: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        var start = 0
        while start + 7 <= frames.count {
            let length = Int(frames[start + 3] & 3) << 11 | Int(frames[start + 4]) << 3 | Int(frames[start + 5]) >> 5
            let block = frames[start + 7..<start + length]
            out += ADTSFrame.header(like: Array(frames[start..<start + 7]), payload: 0)
            let header = out.count - 7
            out += added(toBlock: Array(block))
            out.replaceSubrange(
                header..<header + 7,
                with: ADTSFrame.header(like: Array(out[header..<header + 7]), payload: out.count - header - 7)
            )
            start += length
        }
        return out
    }

    /// A raw data block ends with the three ones of its end element and zeros to the next byte (table 4.3).
    private static func added(toBlock block: [UInt8]) -> [UInt8] {
        var bits = BitWriter()
        var count = block.count * 8
        while count > 0, block[(count - 1) / 8] >> (7 - (count - 1) % 8) & 1 == 0 { count -= 1 }
        for place in 0..<count - 3 { bits.append(Int(block[place / 8] >> (7 - place % 8) & 1), 1) }
        let data = extensionPayload
        bits.append(6, 3)  // a fill element
        bits.append(data.count, 4)
        for byte in data { bits.append(Int(byte), 8) }
        bits.append(7, 3)  // the end
        return bits.bytes
    }

    /// `sbr_extension_data()` of a channel pair without coupling (tables 4.57 to 4.70), 14 bytes.
    private static let extensionPayload: [UInt8] = {
        var bits = BitWriter()
        bits.append(13, 4)  // EXT_SBR_DATA
        bits.append(1, 1)  // with a header
        bits.append(1, 1)  // steps of 3 dB, but 1.5 dB where there is one envelope
        bits.append(11, 4)  // from band 21
        bits.append(14, 4)  // to twice that
        bits.append(0, 3 + 2)
        bits.append(1, 1)  // with the first extra header
        bits.append(0, 1)
        bits.append(0, 2)  // frequencies are scaled linearly
        bits.append(1, 1)  // in bands of two: ten of them
        bits.append(0, 2)  // one noise floor
        bits.append(0, 2)  // no extra data, no coupling
        for _ in 0..<2 { bits.append(1, 5) }  // FIXFIX, one envelope, fine resolution
        bits.append(0, 4)  // differences in frequency
        bits.append(0, 4)  // no inverse filtering
        for _ in 0..<2 {
            bits.append(40, 7)  // the loudness of the first band
            bits.append(0, 9 * 2)  // and of the others: no difference is two zeros
        }
        for _ in 0..<2 { bits.append(12, 5) }  // little noise
        bits.append(0, 3)  // no harmonics, nothing else
        return bits.bytes
    }()

    /// Says in an MP4 file that the sound has band replication: object type 5 in front (§1.6.5.3).
    ///
    /// - Parameters:
    ///   - file: as ffmpeg writes it, with the movie at the end.
    ///   - channels: 1 or 2.
    /// - Returns: the file with four bytes of configuration instead of two.
    package static func signalled(inMP4 file: [UInt8], channels: Int) -> [UInt8] {
        MP4Patch.configured(file, [0x2b, channels == 1 ? 0x8a : 0x92, 0x08, 0x00])
    }
}
