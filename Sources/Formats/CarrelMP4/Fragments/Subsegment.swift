// SPDX-License-Identifier: Apache-2.0

/// A stretch of the file that begins with the header of a fragment.
package struct Subsegment: Sendable, Hashable {
    /// Its bytes.
    package var range: Range<Int64>
    /// When it begins, in units of the index.
    package var time: Int64
    /// How long it lasts, in units of the index.
    package var duration: Int64
    /// Whether it begins with a sync sample.
    package var startsWithSync: Bool
}
