// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The domain of ``JOSEError``.
package enum JOSEErrorDomain: ErrorDomain {
    package static let describesCode = false
}

/// Why a signed object is not to be trusted. Never holds its content.
package typealias JOSEError = CodedFailure<JOSEErrorDomain>

extension ErrorCode where Failure == JOSEError {
    /// The text is no signed object in the compact form, or too long.
    package static var malformed: Self { Self("jose.malformed") }
    /// It is signed in a way that is not accepted, or not signed.
    package static var algorithm: Self { Self("jose.algorithm") }
    /// No key is known that could have signed it.
    package static var key: Self { Self("jose.key") }
    /// The signature is not of this text and this key.
    package static var signature: Self { Self("jose.signature") }
    /// Its certificates do not lead to a trusted one.
    package static var certificate: Self { Self("jose.certificate") }
}
