// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The content of `dfLa`, which describes a FLAC track by the metadata blocks of the stream (FLAC in ISOBMFF §3.3.2, RFC 9639
/// §8).
package struct FLACSpecificBox: Sendable, Hashable {
    /// The codec string, which is the type of the sample entry.
    package static let codecString = "fLaC"

    /// Samples of each channel per second.
    package let sampleRate: Int
    /// Channels, 1 to 8.
    package let channels: Int
    /// Bits of a sample, 4 to 32.
    package let bitDepth: Int
    /// Samples of each channel in the shortest and the longest frame but the last.
    package let blockSize: ClosedRange<Int>
    /// The metadata blocks, headers included.
    package let metadata: [UInt8]

    /// Reads the content of the box, version and flags included.
    ///
    /// - Parameter bytes: the content; at most 16 MiB.
    /// - Throws: if it is truncated, or does not begin with stream information.
    package init(_ bytes: RawSpan) throws(Malformed) {
        guard bytes.byteCount <= 1 << 24 else { throw Malformed("dfLa is longer than 16 MiB", at: 1 << 24) }
        var cursor = ByteCursor(bytes)
        guard try cursor.u8("dfLa version") == 0 else { throw Malformed("dfLa version is not 0", at: 0) }
        try cursor.skip(3, "dfLa flags")
        let start = cursor.position
        guard try cursor.u8("metadata block type") & 0x7f == 0, try cursor.u24("metadata block length") == 34 else {
            throw Malformed("dfLa begins without stream information", at: 4)
        }
        let smallest = Int(try cursor.u16("block size"))
        let largest = Int(try cursor.u16("block size"))
        guard smallest >= 16, smallest <= largest else { throw Malformed("block sizes are out of order", at: 8) }
        blockSize = smallest...largest
        try cursor.skip(6, "frame sizes")
        let word = try cursor.u32("sample rate")
        sampleRate = Int(word >> 12)
        guard sampleRate > 0 else { throw Malformed("sample rate is zero", at: 18) }
        channels = Int(word >> 9 & 7) + 1
        bitDepth = Int(word >> 4 & 31) + 1
        try cursor.skip(4 + 16, "stream information")
        while cursor.remaining > 0 {
            try cursor.skip(1, "metadata block type")
            let length = Int(try cursor.u24("metadata block length"))
            try cursor.skip(length, "metadata block")
        }
        metadata = [UInt8](copying: bytes.extracting(start..<bytes.byteCount))
    }
}
