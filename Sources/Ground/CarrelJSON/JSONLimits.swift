// SPDX-License-Identifier: Apache-2.0

/// Limits on the JSON that a reader accepts from untrusted sources.
public struct JSONLimits: Sendable {
    /// Arrays and objects inside one another.
    public let depth: Int
    /// Bytes of text.
    public let byteCount: Int
    /// Values in all, arrays and objects among them.
    public let values: Int

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - depth: arrays and objects inside one another, 1...512; the reader's stack grows with it.
    ///   - byteCount: bytes of text; without a limit on their number, the values take up to forty times as much memory.
    ///   - values: in all, arrays and objects among them; each takes up to 200 bytes in addition to its text.
    public init(depth: Int = 64, byteCount: Int = 4 << 20, values: Int = .max) {
        precondition(1...512 ~= depth, "a JSON depth limit is between 1 and 512")
        self.depth = depth
        self.byteCount = byteCount
        self.values = values
    }

    /// 64 deep, 4 MiB.
    public static let `default` = JSONLimits()
}
