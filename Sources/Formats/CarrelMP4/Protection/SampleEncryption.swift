// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto

/// How one sample is encrypted. One value is filled for sample after sample, so that none is allocated.
package struct SampleEncryption: Sendable {
    /// A part of a sample (ISO/IEC 23001-7 §7.2).
    package struct Subsample: Sendable, Hashable {
        /// Clear bytes.
        package var clear: Int
        /// Number of protected bytes after them.
        package var protected: Int

        package init(clear: Int, protected: Int) {
            self.clear = clear
            self.protected = protected
        }
    }

    /// Whether it is.
    package internal(set) var isProtected = false
    /// The key; nil for a clear sample.
    package internal(set) var keyID: KeyID?
    /// Its initialization vector, or the constant one.
    package internal(set) var iv = AESBlock(high: 0, low: 0)
    /// Which blocks of a protected range are encrypted.
    package internal(set) var pattern = BlockPattern.whole
    /// Its subsamples; empty if the whole sample is protected.
    package internal(set) var subsamples: [Subsample] = []

    /// A clear sample.
    package init() {}

    /// An encrypted sample.
    package init(keyID: KeyID? = nil, iv: AESBlock, pattern: BlockPattern = .whole, subsamples: [Subsample] = []) {
        isProtected = true
        self.keyID = keyID
        self.iv = iv
        self.pattern = pattern
        self.subsamples = subsamples
    }
}
