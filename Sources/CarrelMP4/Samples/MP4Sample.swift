/// One access unit of a track: where its bytes are and how long it lasts.
package struct MP4Sample: Sendable, Hashable {
    /// Its offset in the file.
    package var offset: Int64
    /// Bytes.
    package var size: Int
    /// How long it lasts, in units of the track's time scale.
    package var duration: Int64

    package init(offset: Int64, size: Int, duration: Int64) {
        self.offset = offset
        self.size = size
        self.duration = duration
    }

    /// Its bytes in the file.
    package var range: Range<Int64> { offset..<offset + Int64(size) }
}

/// Samples whose bytes follow each other in the file.
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
