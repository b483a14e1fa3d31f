// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelMP4

/// The protection of a track of an OMA PDCF (`odkm`, OMA DRM Content Format 2.0).
package struct PDCFProtection: Sendable, Hashable {
    /// The track's headers, with its content id.
    package let headers: DCFHeaders
    /// The header in front of each sample.
    package let sampleHeader: SampleHeader

    /// Reads the boxes of the scheme's information (`schi`).
    ///
    /// - Parameters:
    ///   - schemeInformation: the boxes.
    ///   - base: their offset in the file, for errors.
    /// - Throws: `Malformed` with the fault and its place.
    package init(_ schemeInformation: RawSpan, base: Int = 0) throws(Malformed) {
        var headers: DCFHeaders?
        var format: SampleHeader?
        try MemoryBoxList.forEach(in: schemeInformation, base: base) { type, _, content, at throws(Malformed) in
            guard type == "odkm" else { return }
            guard content.byteCount >= 4 else { throw Malformed("box odkm is cut off", at: at) }
            try MemoryBoxList.forEach(in: content.extracting(droppingFirst: 4), base: at + 4) {
                type,
                _,
                content,
                at throws(Malformed) in
                switch type {
                case "ohdr": headers = try DCFHeaders(content, base: at)
                case "odaf": format = try SampleHeader(content, at: at)
                default: break
                }
            }
        }
        guard let headers, let format else { throw Malformed("track has no OMA headers", at: base) }
        guard headers.cipher == .none || format.ivLength == 16 else {
            throw Malformed("initialization vector has \(format.ivLength) bytes instead of 16", at: base)
        }
        self.headers = headers
        sampleHeader = format
    }
}
