// SPDX-License-Identifier: Apache-2.0

/// Limits on the memory that a stream may make the demuxer use.
enum UnitLimits {
    /// Bytes of the longest access unit.
    static let length = 16 << 20
    /// Bytes of the access units that all streams have begun.
    static let total = 64 << 20
}
