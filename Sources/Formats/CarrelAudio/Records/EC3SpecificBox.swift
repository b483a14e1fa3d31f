// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The content of `dec3`, which describes an E-AC-3 track (ETSI TS 102 366 §F.6).
package struct EC3SpecificBox: Sendable, Hashable {
    /// One independent substream, with the number of those that depend on it.
    package struct Substream: Sendable, Hashable {
        /// `fscod`.
        package var rateCode: UInt8
        /// `bsid`.
        package var identification: UInt8
        /// Whether it is an associated service, mixed by the decoder.
        package var isAssociated: Bool
        /// `bsmod`.
        package var mode: UInt8
        /// `acmod`.
        package var channelMode: UInt8
        /// Whether there is a low-frequency channel.
        package var hasLowFrequency: Bool
        /// Substreams that depend on this one, at most 15.
        package var dependents: UInt8
        /// `chan_loc`: the channels of the dependent substreams; 0 without one.
        package var dependentChannels: UInt16

        /// Describes a substream by one of its frames.
        package init(_ frame: AC3SyncFrame) {
            rateCode = frame.rateCode
            identification = frame.identification
            isAssociated = false
            mode = frame.mode
            channelMode = frame.channelMode
            hasLowFrequency = frame.hasLowFrequency
            dependents = 0
            dependentChannels = 0
        }

        init(_ bits: inout BitCursor) throws(Malformed) {
            rateCode = UInt8(try bits.bits(2, "sample rate"))
            identification = UInt8(try bits.bits(5, "identification"))
            _ = try bits.flag("reserved bit")
            isAssociated = try bits.flag("associated service")
            mode = UInt8(try bits.bits(3, "mode"))
            channelMode = UInt8(try bits.bits(3, "channels"))
            hasLowFrequency = try bits.flag("low-frequency channel")
            _ = try bits.bits(3, "reserved bits")
            dependents = UInt8(try bits.bits(4, "dependent substreams"))
            dependentChannels = dependents > 0 ? UInt16(try bits.bits(9, "channel location")) : 0
            if dependents == 0 { _ = try bits.flag("reserved bit") }
        }
    }

    /// The codec string (RFC 6381 §3.3).
    package static let codecString = "ec-3"

    /// The bit rate in kbit/s, at most 8191.
    package var dataRate: Int
    /// One to eight independent substreams.
    package var substreams: [Substream]
    /// Bytes after the substreams: the extension that signals object audio.
    package var extensions: [UInt8]

    /// Describes a stream by the frames of one time: an independent one, and those that depend on it.
    ///
    /// Returns nil if there is none, or they do not fit into the record.
    package init?(_ frames: [AC3SyncFrame]) {
        substreams = []
        extensions = []
        var bitRate = 0
        for frame in frames {
            bitRate += frame.bitRate
            if frame.substream != .dependent {
                substreams.append(Substream(frame))
            } else if let last = substreams.indices.last {
                substreams[last].dependents += 1
                guard substreams[last].dependents <= 15 else { return nil }
            }
        }
        dataRate = min(bitRate / 1000, 8191)
        guard (1...8).contains(substreams.count) else { return nil }
    }

    /// Reads the content of the box.
    ///
    /// - Parameter bytes: the content; at most 64 bytes after the substreams are kept.
    /// - Throws: if it is truncated.
    package init(_ bytes: RawSpan) throws(Malformed) {
        var bits = BitCursor(bytes)
        dataRate = try bits.bits(13, "data rate")
        let count = try bits.bits(3, "independent substreams") + 1
        substreams = []
        for _ in 0..<count { substreams.append(try Substream(&bits)) }
        extensions = []
        while bits.remaining >= 8, extensions.count < 64 { extensions.append(UInt8(try bits.bits(8, "extension"))) }
    }

    /// The content of the box.
    package var bytes: [UInt8] {
        var out: [UInt8] = []
        out.append(bigEndian: UInt16(truncatingIfNeeded: dataRate & 0x1fff) << 3 | UInt16((substreams.count - 1) & 7))
        for substream in substreams {
            let lowFrequency: UInt16 = substream.hasLowFrequency ? 1 : 0
            let service: UInt16 = substream.isAssociated ? 1 << 7 : 0
            let first = UInt16(substream.rateCode & 3) << 14 | UInt16(substream.identification & 31) << 9 | service
            out.append(bigEndian: first | UInt16(substream.mode & 7) << 4 | UInt16(substream.channelMode & 7) << 1 | lowFrequency)
            let dependents = UInt16(substream.dependents & 15)
            if dependents > 0 {
                out.append(bigEndian: dependents << 9 | substream.dependentChannels & 0x1ff)
            } else {
                out.append(0)
            }
        }
        return out + extensions
    }
}
