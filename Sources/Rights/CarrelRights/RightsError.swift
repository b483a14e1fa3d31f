// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The reason why a device, a token or a license was refused, or a right was not granted. Never contains a key or a token.
package struct RightsError: CodedError {
    /// The kinds of this failure.
    package typealias Code = ErrorCode<RightsError>

    /// The kind of failure; errors with the same code are equal.
    package let code: Code
    /// A lower-case sentence without a period.
    package let message: String

    package init(_ code: Code, _ message: String = "") {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}

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
