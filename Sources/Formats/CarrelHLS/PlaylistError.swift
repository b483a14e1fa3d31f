// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// Why a playlist cannot be written: a value that its syntax has no place for.
package struct PlaylistError: CodedError {
    /// The kinds of this failure.
    package typealias Code = ErrorCode<PlaylistError>

    /// The kind of failure.
    package let code: Code
    /// A lower-case sentence without a period.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}

extension ErrorCode where Failure == PlaylistError {
    /// A quoted string holds a quotation mark, a line break or another control character (RFC 8216 §4.2).
    package static var quotedString: Self { Self("hls.quoted-string") }
    /// A URI is empty, holds white space or control characters, or begins like a tag (§4.1).
    package static var uri: Self { Self("hls.uri") }
    /// The playlist contradicts itself.
    package static var contradiction: Self { Self("hls.contradiction") }
}
