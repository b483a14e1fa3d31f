// SPDX-License-Identifier: Apache-2.0

/// Numbers of an MPEG-2 transport stream (ISO/IEC 13818-1) as Carrel lays it out: one program with one audio stream.
public enum TransportStream {
    /// Bytes of one packet (§2.4.3.2).
    @inlinable
    public static var packetLength: Int { 188 }
    /// Bytes of the two tables at the start of every segment.
    @inlinable
    public static var tablesLength: Int { 2 * packetLength }

    /// The packet identifier of the program association table (§2.4.4.3).
    static let associationPID: UInt16 = 0x0000
    /// The packet identifier of the program map table.
    static let mapPID: UInt16 = 0x1000
    /// The packet identifier of the audio stream; its packets carry the clock too.
    static let audioPID: UInt16 = 0x0100
}
