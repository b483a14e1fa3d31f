// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The domain of ``RightsError``.
package enum RightsErrorDomain: ErrorDomain {
    package static let describesCode = false
}

/// Why a device, a token or a license was not accepted, or a right was not granted. Never holds a key, a token or what one contains.
package typealias RightsError = CodedFailure<RightsErrorDomain>

extension ErrorCode where Failure == RightsError {
    /// A message cannot be read, or is not of the kind that is expected.
    package static var malformed: Self { Self("rights.malformed") }
    /// A message is not signed by the required key, or was altered.
    package static var signature: Self { Self("rights.signature") }
    /// A key is of a kind that is not taken, or is not proved to be the sender's.
    package static var key: Self { Self("rights.key") }
    /// A token is forged, for another service, or not readable.
    package static var token: Self { Self("rights.token") }
    /// A token or a message is no longer valid, or not yet.
    package static var expired: Self { Self("rights.expired") }
    /// A text is not a compound URL, or too long; its parts have codes of their own.
    package static var url: Self { Self("rights.url") }
    /// A compound URL has no business token.
    package static var missingToken: Self { Self("rights.url.token") }
    /// A compound URL has no content URL in its fragment, or an unsupported one.
    package static var missingContent: Self { Self("rights.url.content") }
    /// The rights location of a compound URL is not reached by TLS.
    package static var insecureRights: Self { Self("rights.url.tls") }
}
