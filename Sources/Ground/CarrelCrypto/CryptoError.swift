// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The domain of ``CryptoError``.
package enum CryptoErrorDomain: ErrorDomain {
    package static let describesCode = false
}

/// Why a cryptographic operation did not happen. Never holds keys, plain text or anything derived from them.
package typealias CryptoError = CodedFailure<CryptoErrorDomain>

extension ErrorCode where Failure == CryptoError {
    /// The last block does not end in PKCS#7 padding: the wrong key, or altered cipher text.
    package static var padding: Self { Self("crypto.padding") }
    /// The input has an invalid length.
    package static var length: Self { Self("crypto.length") }
    /// A key has a length the algorithm does not have.
    package static var keyLength: Self { Self("crypto.key-length") }
    /// An initialization vector has a length the algorithm does not have.
    package static var ivLength: Self { Self("crypto.iv-length") }
    /// The integrity check failed: the wrong key, or altered bytes.
    package static var integrity: Self { Self("crypto.integrity") }
    /// A key cannot be read, is of no accepted kind, or is not a point of its curve.
    package static var key: Self { Self("crypto.key") }
    /// A certificate cannot be read.
    package static var certificate: Self { Self("crypto.certificate") }
    /// A certification request cannot be read, or is not signed with its own key.
    package static var request: Self { Self("crypto.request") }
    /// A certificate does not lead to a trusted one, or not at that time.
    package static var untrusted: Self { Self("crypto.untrusted") }
    /// A signed message cannot be read.
    package static var message: Self { Self("crypto.message") }
    /// OpenSSL refused, for want of memory or of the algorithm.
    package static var refused: Self { Self("crypto.refused") }
}
