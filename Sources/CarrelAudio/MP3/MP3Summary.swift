/// What an MP3 file turned out to hold.
public struct MP3Summary: Sendable, Hashable {
    /// Bytes between the frames that nothing explains.
    public struct Junk: Sendable, Hashable {
        /// How many, over the whole file.
        public var byteCount: Int64 = 0
        /// Where the first of them lies in the file.
        public var firstOffset: Int64?

        public init(byteCount: Int64 = 0, firstOffset: Int64? = nil) {
            self.byteCount = byteCount
            self.firstOffset = firstOffset
        }
    }

    /// Where the frames begin to be of another format.
    public struct Change: Sendable, Hashable {
        public let offset: Int64
        public let format: AudioFormat
    }

    /// What all frames passed on have in common.
    public let format: AudioFormat
    /// Frames passed on.
    public let frameCount: Int64
    /// Bytes of those frames.
    public let byteCount: Int64
    /// Whether the frames have different bit rates.
    public let isVariableBitrate: Bool
    /// Samples the encoder says it put before the sound (LAME extension); a decoder adds 529 of its own.
    public let encoderDelay: Int?
    /// Samples the encoder says it put after the sound; 529 fewer remain after a decoder's own delay.
    public let encoderPadding: Int?
    /// Frames that Xing, Info or VBRI frames promise, in all.
    public let declaredFrames: Int64?
    /// Offset of a frame (or tag) that the end of the file cuts off; it is not passed on.
    public let truncatedAt: Int64?
    /// What lay between frames and was left out. Zeros alone do not count.
    public let junk: Junk
    /// Where the format changes, if it does. Nothing from there on was read: such a file needs transcoding.
    public let inconsistency: Change?
    /// Tags found, in file order; at most 64.
    public let tags: [MP3Tag]

    /// Samples of each channel in all frames passed on.
    public var sampleCount: Int64 { frameCount * Int64(format.samplesPerFrame) }

    /// Samples to drop from the start of what a decoder gives.
    public var leadingSamples: Int { encoderDelay.map { $0 + MP3Summary.decoderDelay } ?? 0 }

    /// Samples to drop from the end of what a decoder gives.
    public var trailingSamples: Int { max(0, (encoderPadding ?? 0) - MP3Summary.decoderDelay) }

    /// Declared frames that are not there, when they are too many for a difference in counting: the file was cut or has a hole.
    public var missingFrames: Int64 {
        guard inconsistency == nil, let declaredFrames, declaredFrames - frameCount > 1 else { return 0 }
        return declaredFrames - frameCount
    }

    /// Whether sound is missing: frames that were promised are not there, or, where nothing was promised, the last frame is cut.
    ///
    /// A file that holds all its promised frames and then some bytes of another is whole; encoders leave such ends.
    public var isCutOff: Bool { missingFrames > 0 || (truncatedAt != nil && declaredFrames == nil) }

    /// Bits per second on average.
    public var averageBitrate: Int {
        sampleCount == 0 ? 0 : Int(Double(byteCount) * 8 * Double(format.sampleRate) / Double(sampleCount))
    }

    /// Samples a Layer III decoder lags behind its input.
    static let decoderDelay = 529
}
