// SPDX-License-Identifier: Apache-2.0

/// A length that was declared and not counted: good for a progress bar, not for arithmetic on positions.
public struct LengthHint: Sendable, Hashable {
    /// The declared length in bytes.
    public let byteCount: Int64

    /// Creates a hint.
    ///
    /// - Parameter byteCount: the declared length in bytes, not negative.
    public init(_ byteCount: Int64) {
        self.byteCount = byteCount
    }
}
