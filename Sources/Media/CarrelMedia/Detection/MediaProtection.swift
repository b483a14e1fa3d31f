// SPDX-License-Identifier: Apache-2.0

/// A protection of a file's content.
@nonexhaustive
public enum MediaProtection: Sendable, Hashable, CustomStringConvertible {
    /// OMA DCF, encrypted as a whole.
    case dcf(DCFCipherName)
    /// OMA PDCF, encrypted sample by sample.
    case pdcf(DCFCipherName)
    /// PIFF 1.1, before Common Encryption.
    case piff
    /// Common Encryption, by its scheme: `cenc`, `cens`, `cbc1`, `cbcs`.
    case commonEncryption(String)
    /// Scrambled packets of a transport stream (ISO/IEC 13818-1 §2.4.3.3).
    case scrambledTransportStream
    /// Encrypted samples inside a transport stream (MPEG-2 Stream Encryption Format for HLS).
    case sampleAES
    /// Segments of an HLS playlist, by the method of its key lines: `AES-128`, `SAMPLE-AES`, …
    case hls(String)
    /// Marlin IPMP, with content keys or under a group key.
    case marlin(isGrouped: Bool)
    /// ISMACryp.
    case isma
    /// Apple FairPlay of the iTunes Store.
    case fairPlay
    /// Audible.
    case audible
    /// Another scheme, by its four characters.
    case other(String)

    /// The cipher of OMA content.
    public enum DCFCipherName: String, Sendable, Hashable {
        /// None.
        case none = "not encrypted"
        /// AES-128 in CBC mode.
        case cbc = "AES-128-CBC"
        /// AES-128 in counter mode.
        case counter = "AES-128-CTR"
    }

    /// Whether Carrel can decrypt it with the right keys.
    public var isSupported: Bool {
        switch self {
        case .dcf, .pdcf, .piff, .commonEncryption, .scrambledTransportStream, .sampleAES, .marlin, .isma: true
        case .hls(let method): ["AES-128", "AES-256", "AES-256-CTR", "SAMPLE-AES", "SAMPLE-AES-CTR"].contains(method)
        case .fairPlay, .audible, .other: false
        }
    }

    /// The technology's name for people.
    public var description: String {
        switch self {
        case .dcf(let cipher): "OMA DCF (\(cipher.rawValue))"
        case .pdcf(let cipher): "OMA PDCF (\(cipher.rawValue))"
        case .piff: "PIFF encryption"
        case .commonEncryption(let scheme): "Common Encryption (\(scheme))"
        case .scrambledTransportStream: "scrambled transport stream"
        case .sampleAES: "SAMPLE-AES"
        case .hls(let method): "HLS \(method)"
        case .marlin(let isGrouped): isGrouped ? "Marlin IPMP (ACGK)" : "Marlin IPMP (ACBC)"
        case .isma: "ISMACryp"
        case .fairPlay: "Apple FairPlay"
        case .audible: "Audible"
        case .other(let scheme): "protection scheme \(scheme)"
        }
    }
}
