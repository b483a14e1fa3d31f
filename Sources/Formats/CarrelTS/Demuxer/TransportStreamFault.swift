// SPDX-License-Identifier: Apache-2.0

/// A violation of the standard in a transport stream, with its offset; reading continues after it.
package struct TransportStreamFault: Sendable, Hashable {
    /// The kinds of faults.
    package enum Kind: Sendable, Hashable {
        /// Bytes between packets, passed over.
        case lostSync(bytes: Int)
        /// A packet with the transport error indicator, or whose adaptation field exceeds it.
        case damagedPacket
        /// A continuity counter that does not follow: packets are missing.
        case discontinuity
        /// A section whose length, checksum or content is wrong.
        case damagedSection
        /// A PES header that cannot be read.
        case damagedHeader
        /// A PES packet shorter than its declared length.
        case shortPacket
        /// Bytes that are not a frame, passed over.
        case lostFrameSync
        /// A frame or tag cut off at the end.
        case truncatedUnit
        /// An access unit of more than 16 MiB, dropped.
        case longUnit
        /// A unit before the first timestamp of its stream, dropped.
        case untimedUnit
        /// A scrambled payload, passed over; 2 is the even key, 3 the odd key.
        case scrambled(control: UInt8)
    }

    /// The kind of fault.
    package var kind: Kind
    /// The packet identifier; nil if no packet is found.
    package var pid: UInt16?
    /// The byte of the stream at which the packet starts.
    package var offset: Int
}
