// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelMP4

/// The protection of a track by ISMACryp (`iAEC`, ISMA Encryption and Authentication 1.1 §9, §10).
package struct ISMACrypProtection: Sendable, Hashable {
    /// The address of the key management system (`iKMS`).
    package let keyManagement: String
    /// The header in front of each sample (`iSFM`).
    package let sampleHeader: SampleHeader
    /// The first eight bytes of each counter block (`iSLT`); 0 if the track has no salt.
    package let salt: UInt64

    /// Reads the boxes of the scheme's information (`schi`).
    ///
    /// - Parameters:
    ///   - schemeInformation: the boxes.
    ///   - base: their offset in the file, for errors.
    /// - Throws: `Malformed` with the fault and its place.
    package init(_ schemeInformation: RawSpan, base: Int = 0) throws(Malformed) {
        var address = ""
        var format: SampleHeader?
        var salt: UInt64 = 0
        try MemoryBoxList.forEach(in: schemeInformation, base: base) { type, _, content, at throws(Malformed) in
            switch type {
            case "iKMS": address = try Self.address(content, at)
            case "iSFM": format = try SampleHeader(content, at: at)
            case "iSLT":
                guard content.byteCount == 8 else { throw Malformed("salt does not have 8 bytes", at: at) }
                salt = content.u64(at: 0)
            default: break
            }
        }
        guard let format else { throw Malformed("track has no box iSFM", at: base) }
        guard (1...8).contains(format.ivLength) else {
            throw Malformed("byte offset has \(format.ivLength) bytes instead of 1 to 8", at: base)
        }
        keyManagement = address
        sampleHeader = format
        self.salt = salt
    }

    private static func address(_ content: RawSpan, _ at: Int) throws(Malformed) -> String {
        guard content.byteCount >= 4 else { throw Malformed("box iKMS is cut off", at: at) }
        // version 1 has an id and a version before the address
        let start = content.u8(at: 0) == 0 ? 4 : 12
        guard content.byteCount >= start else { throw Malformed("box iKMS is cut off", at: at) }
        let text = [UInt8](copying: content.extracting(droppingFirst: start)).prefix { $0 != 0 }
        return String(decoding: text, as: UTF8.self)
    }
}
