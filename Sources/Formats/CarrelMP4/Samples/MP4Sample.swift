// SPDX-License-Identifier: Apache-2.0

/// One access unit of a track: its location, and its decode and presentation times.
package struct MP4Sample: Sendable, Hashable {
    /// Its offset in the file.
    package var offset: Int64
    /// Bytes.
    package var size: Int
    /// How long it lasts, in units of the track's time scale.
    package var duration: Int64
    /// When it is decoded, in units of the track's time scale.
    package var decodeTime: Int64
    /// The time from its decoding to its presentation, in units of the track's time scale; may be negative.
    package var compositionOffset: Int64
    /// Whether decoding can begin with it.
    package var isSync: Bool
    /// Which of the track's descriptions is its, from 0.
    package var entry: Int

    package init(
        offset: Int64,
        size: Int,
        duration: Int64,
        decodeTime: Int64 = 0,
        compositionOffset: Int64 = 0,
        isSync: Bool = true,
        entry: Int = 0
    ) {
        self.offset = offset
        self.size = size
        self.duration = duration
        self.decodeTime = decodeTime
        self.compositionOffset = compositionOffset
        self.isSync = isSync
        self.entry = entry
    }

    /// Its bytes in the file.
    package var range: Range<Int64> { offset..<offset + Int64(size) }
}

/// Samples with contiguous bytes in the file.
package struct MP4Run: Sendable, Hashable {
    /// All their bytes.
    package var range: Range<Int64>
    /// The size of each, in order.
    package var sizes: [Int]

    package init(range: Range<Int64>, sizes: [Int]) {
        self.range = range
        self.sizes = sizes
    }
}
