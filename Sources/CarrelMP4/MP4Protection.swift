/// The protection of a track's samples.
package struct MP4Protection: Sendable, Hashable, CustomStringConvertible {
    /// The four characters of the scheme (ISO/IEC 14496-12 §8.12.5), or of the sample entry where the scheme is not said.
    package let scheme: String

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
