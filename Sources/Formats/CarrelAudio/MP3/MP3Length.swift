// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// How long an MP3 file is, by its beginning.
package enum MP3Length {
    /// Searches the first bytes for two consecutive frames of one format.
    ///
    /// - Parameters:
    ///   - bytes: the bytes of the file after its tag, a few frames of them.
    ///   - byteCount: the byte count from there to the end of the audio.
    /// - Returns: seconds, from the encoder's frame count if there is one, otherwise from the bit rate of the first frame; nil if
    ///   there is no frame.
    package static func duration(_ bytes: RawSpan, byteCount: Int64) -> Double? {
        for start in 0..<max(0, bytes.byteCount - 3) {
            guard let header = MP3FrameHeader.parse(bytes.u32(at: start)) else { continue }
            let next = start + header.frameLength
            guard next + 4 <= bytes.byteCount, let second = MP3FrameHeader.parse(bytes.u32(at: next)),
                (header.word ^ second.word) & MP3FrameHeader.fixedMask == 0
            else { continue }
            if let frames = MP3InfoFrame.parse(bytes, at: start, header)?.frames, frames > 0 {
                return Double(frames * Int64(header.samplesPerFrame)) / Double(header.sampleRate)
            }
            return Double(max(0, byteCount - Int64(start))) * 8 / Double(header.bitrate)
        }
        return nil
    }
}
