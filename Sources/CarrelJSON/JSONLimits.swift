/// How much JSON a reader takes from a stranger.
public struct JSONLimits: Sendable {
    /// Arrays and objects inside one another.
    public let depth: Int
    /// Bytes of text.
    public let byteCount: Int

    /// - Parameters:
    ///   - depth: arrays and objects inside one another, 1...512; the reader's stack grows with it.
    ///   - byteCount: bytes of text; the values take up to forty times as much memory.
    public init(depth: Int = 64, byteCount: Int = 4 << 20) {
        precondition(1...512 ~= depth, "a JSON depth limit is between 1 and 512")
        self.depth = depth
        self.byteCount = byteCount
    }

    /// 64 deep, 4 MiB.
    public static let `default` = JSONLimits()
}
