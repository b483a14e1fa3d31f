// SPDX-License-Identifier: Apache-2.0

/// The content of a scanned MP3 file.
package struct MP3Summary: Sendable, Hashable {
    /// Bytes between the frames that nothing explains.
    package struct Junk: Sendable, Hashable {
        /// How many, over the whole file.
        package var byteCount: Int64 = 0
        /// The file offset of the first of them.
        package var firstOffset: Int64?

        package init(byteCount: Int64 = 0, firstOffset: Int64? = nil) {
            self.byteCount = byteCount
            self.firstOffset = firstOffset
        }
    }

    /// The offset at which the format of the frames changes.
    package struct Change: Sendable, Hashable {
        package let offset: Int64
        package let format: AudioFormat
    }

    /// The format shared by all frames passed on.
    package let format: AudioFormat
    /// Frames passed on.
    package let frameCount: Int64
    /// Bytes of those frames.
    package let byteCount: Int64
    /// Whether the frames have different bit rates.
    package let isVariableBitrate: Bool
    /// Number of samples that the encoder declares to precede the audio (LAME extension); a decoder adds 529.
    package let encoderDelay: Int?
    /// Number of samples that the encoder declares to follow the audio; 529 fewer remain after a decoder's own delay.
    package let encoderPadding: Int?
    /// Frames that Xing, Info or VBRI frames promise, in all.
    package let declaredFrames: Int64?
    /// Offset of a frame (or tag) that the end of the file cuts off; it is not passed on.
    package let truncatedAt: Int64?
    /// Bytes between frames that were dropped. Zeros alone do not count.
    package let junk: Junk
    /// The change of format, if there is one. Nothing after it was read: such a file needs transcoding.
    package let inconsistency: Change?
    /// Tags found, in file order; at most 64.
    package let tags: [MP3Tag]

    /// Samples of each channel in all frames passed on.
    package var sampleCount: Int64 { frameCount * Int64(format.samplesPerFrame) }

    /// Number of samples to drop from the start of the decoder's output.
    package var leadingSamples: Int { encoderDelay.map { $0 + MP3Summary.decoderDelay } ?? 0 }

    /// Number of samples to drop from the end of the decoder's output.
    package var trailingSamples: Int { max(0, (encoderPadding ?? 0) - MP3Summary.decoderDelay) }

    /// Declared frames that are not there, when they are too many for a difference in counting: the file was cut or has a hole.
    package var missingFrames: Int64 {
        guard inconsistency == nil, let declaredFrames, declaredFrames - frameCount > 1 else { return 0 }
        return declaredFrames - frameCount
    }

    /// Whether audio is missing: declared frames are absent or, without a declaration, the last frame is truncated.
    ///
    /// A file with all its declared frames and some bytes of another is complete; encoders leave such ends.
    package var isCutOff: Bool { missingFrames > 0 || (truncatedAt != nil && declaredFrames == nil) }

    /// Bits per second on average.
    package var averageBitrate: Int {
        sampleCount == 0 ? 0 : Int(Double(byteCount) * 8 * Double(format.sampleRate) / Double(sampleCount))
    }

    /// Delay of a Layer III decoder in samples.
    static let decoderDelay = 529
}
