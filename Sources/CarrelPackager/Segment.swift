/// One segment of a title: which part of the media it holds, and when it is heard.
public struct Segment: Sendable, Hashable {
    /// The media sequence number, from zero.
    public let number: Int
    /// Where its frames are in the media.
    public let byteRange: Range<Int64>
    /// The first of its frames, counted from the title's first.
    public let firstFrame: Int64
    /// Frames.
    public let frameCount: Int
    /// The first of its samples, counted from the title's first.
    public let startSample: Int64
    /// Samples of each channel.
    public let sampleCount: Int
    /// Transport packets of audio in all segments before it, modulo 2^24.
    let packetsBefore: Int
    /// Transport packets of audio in it.
    let packetCount: Int
}
