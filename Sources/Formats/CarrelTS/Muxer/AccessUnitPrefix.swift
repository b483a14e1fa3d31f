// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelVideo

/// The units that a picture needs in front of it in a transport stream: a delimiter, and at each random access point the parameter
/// sets (HTTP Live Streaming, authoring specification §1.10, §3.2).
package struct AccessUnitPrefix: Sendable, Hashable {
    private let delimiterLength: Int
    private let delimiter: [UInt8]
    private let all: [UInt8]
    /// Bytes that make the beginning of a delimiter.
    private let marker: [UInt8]

    /// Makes the prefixes of a stream.
    ///
    /// - Parameters:
    ///   - codec: the codec.
    ///   - parameterSets: a byte stream, for example from a decoder configuration record.
    package init(_ codec: VideoCodec, parameterSets: [UInt8]) {
        delimiter = codec.delimiter
        delimiterLength = delimiter.count
        marker = Array(delimiter.prefix(4 + codec.unitHeaderLength))
        all = delimiter + parameterSets
    }

    /// The prefix of one picture, and the bytes of the picture itself that it replaces.
    ///
    /// - Parameters:
    ///   - kinds: the kinds of units in the picture.
    ///   - body: the picture as a byte stream.
    /// - Returns: bytes to write first, and bytes of the picture not to write: its own delimiter.
    package func prefix(of kinds: NALUnitSet, body: RawSpan) -> (prefix: [UInt8], skip: Int) {
        let needsSets = kinds.contains(.randomAccess) && !kinds.isSuperset(of: [.sequenceParameterSet, .pictureParameterSet])
        guard kinds.contains(.delimiter) else { return (needsSets ? all : delimiter, 0) }
        // a delimiter that is not the first unit is left in place
        for i in marker.indices where i >= body.byteCount || body.u8(at: i) != marker[i] {
            return (needsSets ? all : [], 0)
        }
        guard needsSets else { return ([], 0) }
        return (all, min(delimiterLength, body.byteCount))
    }
}
