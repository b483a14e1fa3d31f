// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The domain of ``PlaylistError``.
package enum PlaylistErrorDomain: ErrorDomain {
    package static let describesCode = false
}

/// Why a playlist cannot be written: a value that its syntax has no place for.
package typealias PlaylistError = CodedFailure<PlaylistErrorDomain>

extension ErrorCode where Failure == PlaylistError {
    /// A quoted string holds a quotation mark, a line break or another control character (RFC 8216 §4.2).
    package static var quotedString: Self { Self("hls.quoted-string") }
    /// A URI is empty, holds white space or control characters, or begins like a tag (§4.1).
    package static var uri: Self { Self("hls.uri") }
    /// The playlist contradicts itself.
    package static var contradiction: Self { Self("hls.contradiction") }
}
