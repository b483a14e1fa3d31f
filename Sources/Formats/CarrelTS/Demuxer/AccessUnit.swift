// SPDX-License-Identifier: Apache-2.0

/// A picture, an audio frame or a tag, taken out of a transport stream.
package struct AccessUnit: Sendable, Hashable {
    /// The packet identifier of its stream.
    package var pid: UInt16
    /// The presentation time in 90 kHz ticks, without wrapping at 33 bits.
    package var presentationTime: Int64
    /// The decoding time in 90 kHz ticks.
    package var decodeTime: Int64
    /// Whether decoding can start here.
    package var isRandomAccess: Bool
    /// Whether packets are missing from it.
    package var isDamaged: Bool
    /// Whether the stream had no time for it, and its time was derived from the previous unit.
    package var isTimeDerived: Bool
    /// Samples of each channel in an audio frame; 0 of other units.
    package var samples: Int
    /// Samples per second of an audio frame; 0 of other units.
    package var sampleRate: Int
    /// A byte stream of NAL units, a frame with its header, or a tag.
    package var data: [UInt8]

    /// Creates a unit.
    ///
    /// - Parameters:
    ///   - pid: the packet identifier of its stream.
    ///   - presentationTime: in 90 kHz ticks.
    ///   - decodeTime: in 90 kHz ticks; nil if equal to the presentation time.
    ///   - isRandomAccess: whether decoding can start here.
    ///   - isDamaged: whether packets of it are missing.
    ///   - isTimeDerived: whether its time was derived from the previous unit.
    ///   - samples: samples per channel in an audio frame.
    ///   - sampleRate: samples per second of an audio frame.
    ///   - data: the bytes.
    package init(
        pid: UInt16,
        presentationTime: Int64,
        decodeTime: Int64? = nil,
        isRandomAccess: Bool,
        isDamaged: Bool = false,
        isTimeDerived: Bool = false,
        samples: Int = 0,
        sampleRate: Int = 0,
        data: [UInt8]
    ) {
        self.pid = pid
        self.presentationTime = presentationTime
        self.decodeTime = decodeTime ?? presentationTime
        self.isRandomAccess = isRandomAccess
        self.isDamaged = isDamaged
        self.isTimeDerived = isTimeDerived
        self.samples = samples
        self.sampleRate = sampleRate
        self.data = data
    }
}
