// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The domain of ``CPIXError``.
package enum CPIXErrorDomain: ErrorDomain {}

/// The reason why a document of the Content Protection Information Exchange Format was refused. Never contains a key.
package typealias CPIXError = CodedFailure<CPIXErrorDomain>

extension ErrorCode where Failure == CPIXError {
    /// The document violates its format.
    package static var malformed: Self { Self("cpix.malformed") }
    /// The document exceeds a limit.
    package static var tooLarge: Self { Self("cpix.too-large") }
    /// The document has a version other than 2.3 and 2.4.
    package static var version: Self { Self("cpix.version") }
    /// A certificate of a recipient is too weak, or is of no accepted kind.
    package static var recipient: Self { Self("cpix.recipient") }
    /// An algorithm is insecure, or is not one of the format.
    package static var algorithm: Self { Self("cpix.algorithm") }
    /// An encrypted key was altered, or has no code that proves that it was not.
    package static var integrity: Self { Self("cpix.integrity") }
    /// The document has no key for the use, or none that this recipient can decrypt.
    package static var missingKey: Self { Self("cpix.missing-key") }
    /// Usage rules do not name exactly one key for a track.
    package static var ambiguous: Self { Self("cpix.ambiguous") }
    /// The request is for a protection system or signaling that Carrel does not write.
    package static var unsupported: Self { Self("cpix.unsupported") }
    /// The version of SPEKE is not supported.
    package static var spekeVersion: Self { Self("speke.version") }
    /// The request violates SPEKE: it lacks a required part, or its encryption contract is invalid.
    package static var contract: Self { Self("speke.contract") }
}
