// SPDX-License-Identifier: Apache-2.0

/// The protection of a track's samples (`sinf`, ISO/IEC 14496-12 §8.12).
package struct MP4Protection: Sendable, Hashable, CustomStringConvertible {
    /// The four characters of the scheme (§8.12.5), or of the sample entry if no scheme is declared.
    package let scheme: String
    /// The original sample entry format (`frma`), if declared.
    package let originalFormat: FourCC?
    /// The boxes of the scheme's own information (`schi`), verbatim; empty if there are none.
    package let schemeInformation: [UInt8]

    package init(scheme: String, originalFormat: FourCC? = nil, schemeInformation: [UInt8] = []) {
        self.scheme = scheme
        self.originalFormat = originalFormat
        self.schemeInformation = schemeInformation
    }

    /// The technology's name for people.
    package var description: String {
        switch scheme {
        case "itun", "drms", "drmi": "Apple FairPlay"
        case "aavd", "adrm": "Audible"
        case "cenc", "cens", "cbc1", "cbcs": "Common Encryption (\(scheme))"
        case "piff": "PIFF encryption"
        case "iAEC": "ISMACryp"
        case "odkm": "OMA DRM"
        case "ACBC", "ACGK", "MGSV": "Marlin"
        case "adkm": "Adobe Access"
        default: "protection scheme \(scheme)"
        }
    }
}
