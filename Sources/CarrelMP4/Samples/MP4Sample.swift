/// One access unit of a track: where its bytes are and how long it lasts.
public struct MP4Sample: Sendable, Hashable {
    /// Where it lies in the file.
    public var offset: Int64
    /// Bytes.
    public var size: Int
    /// How long it lasts, in units of the track's time scale.
    public var duration: Int64

    public init(offset: Int64, size: Int, duration: Int64) {
        self.offset = offset
        self.size = size
        self.duration = duration
    }

    /// Its bytes in the file.
    public var range: Range<Int64> { offset..<offset + Int64(size) }
}

/// Samples whose bytes follow each other in the file.
public struct MP4Run: Sendable, Hashable {
    /// All their bytes.
    public var range: Range<Int64>
    /// The size of each, in order.
    public var sizes: [Int]

    public init(range: Range<Int64>, sizes: [Int]) {
        self.range = range
        self.sizes = sizes
    }
}
