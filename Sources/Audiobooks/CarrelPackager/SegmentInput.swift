// SPDX-License-Identifier: Apache-2.0

/// A title's media: its elementary stream, whole frames back to back.
package protocol SegmentInput: AnyObject, Sendable {
    /// Appends bytes that start at `offset`, at least one and at most as many as `out` has room for; nothing means the end.
    func read(at offset: Int64, into out: inout OutputRawSpan) throws
}
