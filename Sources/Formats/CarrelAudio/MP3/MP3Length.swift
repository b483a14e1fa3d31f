// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// How long an MP3 file is, by its beginning.
package enum MP3Length {
    /// Frames are looked for in the first bytes: two in a row of one format.
    ///
    /// - Parameters:
    ///   - bytes: of the file from the end of its tag on, some frames of them.
    ///   - byteCount: from there to the end of the sound.
    /// - Returns: seconds: by the count of frames that an encoder put first, or else by the bit rate of the first frame. Nil when there
    ///   is not a frame.
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
