/// Bounds of what a stream may make the demuxer hold.
enum UnitLimits {
    /// Bytes of the longest access unit.
    static let length = 16 << 20
}
