// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The domain of ``DCFError``.
package enum DCFErrorDomain: ErrorDomain {}

/// A failure to write or to decrypt OMA content that is not the fault of a file's bytes.
package typealias DCFError = CodedFailure<DCFErrorDomain>

extension ErrorCode where Failure == DCFError {
    /// A header does not fit into its field.
    package static var header: Self { Self("dcf.header") }
    /// The content has another length than the caller announced.
    package static var length: Self { Self("dcf.length") }
    /// The key has another length than the cipher takes, or there is none.
    package static var key: Self { Self("dcf.key") }
    /// The ciphertext differs from its tags: it was changed, moved or cut off, or the key is another.
    package static var integrity: Self { Self("dcf.integrity") }
}
