// SPDX-License-Identifier: Apache-2.0

/// A part of a transport stream, in the order in which it is complete.
package enum TransportStreamEvent: Sendable, Hashable {
    /// The streams of the program, at the start and after each change.
    case program(ProgramMap)
    /// A picture, an audio frame or a tag.
    case unit(AccessUnit)
    /// A clock reference in ticks of 27 MHz modulo 300 × 2^33, and the byte of the stream at which its packet starts.
    case clock(pid: UInt16, time: UInt64, offset: Int)
    /// A whole section of a stream of private sections.
    case section(pid: UInt16, bytes: [UInt8])
    /// A breach of the standard.
    case fault(TransportStreamFault)
}
