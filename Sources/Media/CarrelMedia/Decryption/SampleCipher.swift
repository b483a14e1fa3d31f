// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
package import CarrelMP4

/// Common Encryption with one key, in place, sample after sample (ISO/IEC 23001-7 §9, §10).
///
/// No call allocates.
package struct SampleCipher: ~Copyable, Sendable {
    /// The scheme.
    package let scheme: CommonEncryptionScheme
    private var cipher: AESStream

    /// Expands a key.
    ///
    /// - Parameters:
    ///   - scheme: the scheme of the track.
    ///   - key: 16 bytes.
    ///   - encrypts: whether samples are encrypted, not decrypted.
    /// - Throws: `crypto.key-length`, `crypto.refused`.
    package init(_ scheme: CommonEncryptionScheme, key: Secret, encrypts: Bool = false) throws(CryptoError) {
        guard key.count == 16 else { throw CryptoError(.keyLength, "a content key of Common Encryption has 16 bytes") }
        cipher = try AESStream(scheme.isCounter ? .counter : encrypts ? .chainedEncrypt : .chainedDecrypt, key: key)
        self.scheme = scheme
    }

    /// Decrypts one sample, or encrypts it.
    ///
    /// - Parameters:
    ///   - bytes: the buffer with the sample.
    ///   - range: the range of the sample. Traps if it is not within `bytes`.
    ///   - parameters: how it is encrypted; a clear sample is unchanged.
    /// - Throws: `Malformed` if its subsamples are longer than the sample, with the offset in the sample.
    package mutating func apply(to bytes: inout MutableRawSpan, in range: Range<Int>, _ parameters: SampleEncryption)
        throws(Malformed)
    {
        guard parameters.isProtected else { return }
        cipher.start(parameters.iv)
        guard !parameters.subsamples.isEmpty else {
            apply(to: &bytes, in: range, parameters.pattern)
            return
        }
        var at = range.lowerBound
        for part in parameters.subsamples {
            guard part.clear <= range.upperBound - at, part.protected <= range.upperBound - at - part.clear else {
                throw Malformed("subsamples are longer than their sample", at: at - range.lowerBound)
            }
            at += part.clear
            let end = at + part.protected
            if scheme == .cbcs { cipher.start(parameters.iv) }
            apply(to: &bytes, in: at..<end, parameters.pattern)
            at = end
        }
    }

    private mutating func apply(to bytes: inout MutableRawSpan, in range: Range<Int>, _ pattern: BlockPattern) {
        switch scheme {
        case .cenc, .cbc1: cipher.apply(to: &bytes, in: range)
        // without a pattern, which audio never has, the final partial block is encrypted too
        case .cens where pattern == .whole: cipher.apply(to: &bytes, in: range)
        case .cens, .cbcs: cipher.apply(to: &bytes, in: range, pattern: pattern)
        }
    }
}
