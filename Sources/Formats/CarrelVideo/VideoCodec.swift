// SPDX-License-Identifier: Apache-2.0

/// The coding of a picture stream.
package enum VideoCodec: Sendable, Hashable {
    /// H.264, Advanced Video Coding (ISO/IEC 14496-10).
    case h264
    /// H.265, High Efficiency Video Coding (ISO/IEC 23008-2).
    case h265
}
