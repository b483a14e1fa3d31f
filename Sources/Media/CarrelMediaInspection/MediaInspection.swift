// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelBytes
package import CarrelJSON
package import CarrelMP4

/// The contents of a media file, for people and programs: nothing is decrypted, and no key is shown.
package enum MediaInspection {
    /// Looks into a file. Blocks.
    ///
    /// - Parameters:
    ///   - reader: the file.
    ///   - name: the name of the file, for errors.
    ///   - extent: how much of the media is read.
    /// - Returns: its `kind` (`mp4`, `dcf`, `ts`, `hls`, `dash` or `audio`), its `size`, its `protection`, and the facts of its kind.
    /// - Throws: what the reader throws; `unsupported` when it is of no known kind; `Malformed` when it is damaged.
    package static func describe(_ reader: any ByteReader, name: String = "the file", extent: InspectionExtent = .whole) throws
        -> JSON
    {
        let file = try MediaFile(reader)
        switch file.container {
        case .dcf: return try DCFInspection.describe(reader, file)
        case .mp4: return try MP4Inspection.describe(reader, file)
        case .segment: return try MP4Inspection.describeSegment(reader, file)
        case .transportStream: return try TransportStreamInspection.describe(reader, file, extent)
        case .playlist: return try PlaylistInspection.describe(reader, file)
        case .other:
            if let facts = try MPDInspection.describe(reader) { return facts }
            if let facts = try PackedAudioInspection.describe(reader, extent) { return facts }
            throw MediaError(.unsupported, "\(name) is of no kind that Carrel knows")
        }
    }

    /// The facts as lines of text: names and values, with nested facts indented.
    package static func text(_ facts: JSON) -> String { InspectionText(facts).text }
}

extension JSON {
    /// Seconds, to the microsecond.
    static func seconds(_ duration: Duration) -> JSON {
        let (whole, attoseconds) = duration.components
        let microseconds = attoseconds / 1_000_000_000_000
        return microseconds == 0 ? .integer(whole) : .real((Double(whole) * 1e6 + Double(microseconds)) / 1e6)
    }

    /// Units of a timescale as seconds; null without a timescale.
    static func seconds(_ units: Int64, of timescale: Int) -> JSON {
        timescale > 0 ? .real(Double(units) / Double(timescale)) : .null
    }

    /// A number that may be larger than JSON's readers take: the largest of these then.
    static func count(_ number: UInt64) -> JSON { .integer(Int64(clamping: number)) }

    static func texts(_ list: [String]) -> JSON { .array(list.map { .string($0) }) }
}
