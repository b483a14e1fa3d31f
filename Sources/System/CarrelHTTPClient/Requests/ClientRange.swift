// SPDX-License-Identifier: Apache-2.0

/// A range of bytes to request (RFC 9110 §14.1.2).
public enum ClientRange: Sendable, Equatable {
    /// From the first to the last of these, both included.
    case bytes(ClosedRange<Int64>)
    /// From this offset to the end.
    case from(Int64)
    /// The last bytes, this number of them.
    case last(Int64)

    var fieldValue: String {
        switch self {
        case .bytes(let range): "bytes=\(range.lowerBound)-\(range.upperBound)"
        case .from(let first): "bytes=\(first)-"
        case .last(let count): "bytes=-\(count)"
        }
    }
}
