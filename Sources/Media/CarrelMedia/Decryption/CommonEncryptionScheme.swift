// SPDX-License-Identifier: Apache-2.0

package import CarrelMP4

/// The schemes of Common Encryption (ISO/IEC 23001-7 §10) and of PIFF 1.1.
package enum CommonEncryptionScheme: String, Sendable, Hashable, CaseIterable {
    /// AES-CTR over whole samples or subsamples.
    case cenc
    /// AES-CTR with a pattern.
    case cens
    /// AES-CBC over whole samples or subsamples.
    case cbc1
    /// AES-CBC with a pattern; each subsample starts again.
    case cbcs

    /// The scheme of a track.
    ///
    /// - Parameters:
    ///   - protection: the track's.
    ///   - encryption: its parameters.
    package init?(_ protection: MP4Protection, _ encryption: TrackEncryption) {
        if let scheme = Self(rawValue: protection.scheme) {
            self = scheme
        } else if protection.scheme == "piff" {
            self = encryption.piffAlgorithm == 2 ? .cbc1 : .cenc
        } else {
            return nil
        }
    }

    /// Whether it has AES in counter mode.
    package var isCounter: Bool { self == .cenc || self == .cens }
}
