// SPDX-License-Identifier: Apache-2.0

/// One segment of a title: its range of the media, and its time.
package struct Segment: Sendable, Hashable {
    /// The media sequence number, from zero.
    package let number: Int
    /// The range of its frames in the media.
    package let byteRange: Range<Int64>
    /// The first of its frames, counted from the title's first.
    package let firstFrame: Int64
    /// Frames.
    package let frameCount: Int
    /// The first of its samples, counted from the title's first.
    package let startSample: Int64
    /// Samples of each channel.
    package let sampleCount: Int
    /// Transport packets of audio in all segments before it, modulo 2^24.
    let packetsBefore: Int
    /// Transport packets of audio in it.
    let packetCount: Int
}
