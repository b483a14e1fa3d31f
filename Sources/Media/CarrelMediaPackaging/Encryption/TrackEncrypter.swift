// SPDX-License-Identifier: Apache-2.0

package import CarrelMedia
package import CarrelBytes
package import CarrelCrypto
package import CarrelMP4

/// Encrypts the samples of one track in place, key after key.
///
/// The schemes `cenc`, `cens` and `cbc1` have one initialization vector per sample. `cbcs` has one for a track under a key, as
/// the scheme requires (ISO/IEC 23001-7 §10.4.1: "constant IVs shall be used") and players expect; tracks and key periods never
/// share one. Video in `cbcs` and `cens` has the pattern 1:9, audio is fully encrypted.
package final class TrackEncrypter {
    /// The scheme.
    package let scheme: CommonEncryptionScheme
    /// The parameters of samples under the present key.
    package private(set) var encryption: TrackEncryption
    /// Whether samples are in parts.
    package var hasSubsamples: Bool { layout.hasSubsamples }
    private var layout: SampleLayout
    private var key: PackagingKey
    private var cipher: SampleCipher
    private var parameters: SampleEncryption

    /// - Parameters:
    ///   - entry: the description of the samples.
    ///   - scheme: the scheme.
    ///   - key: the first key.
    ///   - vectors: the source of initialization vectors.
    /// - Throws: `unsupported`, `Malformed`, `CryptoError`.
    package init(
        _ entry: SampleEntry,
        scheme: CommonEncryptionScheme,
        key: PackagingKey,
        vectors: inout VectorSequence
    ) throws {
        self.scheme = scheme
        layout = try SampleLayout(entry, scheme: scheme)
        self.key = key
        encryption = Self.encryption(scheme, key, isPicture: layout.isPicture, &vectors)
        parameters = SampleEncryption(encryption, iv: encryption.constantIV ?? AESBlock(high: 0, low: 0))
        cipher = try SampleCipher(scheme, key: key.key, encrypts: true)
    }

    /// Goes on with another key.
    package func rotate(to key: PackagingKey, vectors: inout VectorSequence) throws(CryptoError) {
        cipher = try SampleCipher(scheme, key: key.key, encrypts: true)
        self.key = key
        encryption = Self.encryption(scheme, key, isPicture: layout.isPicture, &vectors)
        parameters = SampleEncryption(encryption, iv: encryption.constantIV ?? AESBlock(high: 0, low: 0))
    }

    private static func encryption(
        _ scheme: CommonEncryptionScheme,
        _ key: PackagingKey,
        isPicture: Bool,
        _ vectors: inout VectorSequence
    ) -> TrackEncryption {
        let pattern = isPicture ? BlockPattern(crypt: 1, skip: 9) : .whole
        switch scheme {
        case .cenc: return TrackEncryption(keyID: key.id, ivSize: 8)
        case .cens:
            // ffmpeg refuses parts without a pattern; 1:0 is every block
            let whole = BlockPattern(crypt: 1, skip: 0)
            return TrackEncryption(keyID: key.id, ivSize: 8, pattern: isPicture ? pattern : whole)
        case .cbc1: return TrackEncryption(keyID: key.id, ivSize: 16)
        case .cbcs:
            let iv = vectors.next(for: key.key, isLong: true)
            return TrackEncryption(keyID: key.id, ivSize: 0, constantIV: iv, pattern: pattern)
        }
    }

    /// Encrypts a sample.
    ///
    /// - Parameters:
    ///   - bytes: the buffer with the sample.
    ///   - range: the range of the sample. Traps if it is not within `bytes`.
    ///   - vectors: the source of initialization vectors.
    ///   - protection: gets the entry of the sample.
    /// - Throws: `Malformed` with the offset in the sample.
    package func encrypt(
        _ bytes: inout MutableRawSpan,
        in range: Range<Int>,
        vectors: inout VectorSequence,
        into protection: inout MediaFragment.Protection
    ) throws(Malformed) {
        parameters.restart(
            iv: encryption.constantIV ?? vectors.next(for: key.key, isLong: encryption.ivSize == 16)
        )
        try readParts(of: bytes, in: range)
        try cipher.apply(to: &bytes, in: range, parameters)
        guard encryption.ivSize > 0 || hasSubsamples else { return }
        guard protection.append(parameters, ivSize: encryption.ivSize) else {
            throw Malformed("sample has too many parts to be encrypted", at: 0)
        }
    }

    private func readParts(of bytes: borrowing MutableRawSpan, in range: Range<Int>) throws(Malformed) {
        try layout.read(bytes.bytes.extracting(range), into: &parameters)
    }
}
