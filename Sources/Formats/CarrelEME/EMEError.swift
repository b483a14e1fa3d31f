// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The domain of ``EMEError``.
package enum EMEErrorDomain: ErrorDomain {
    package static let describesCode = false
}

/// Why a message of ClearKey cannot be read. Never holds its content.
package typealias EMEError = CodedFailure<EMEErrorDomain>

extension ErrorCode where Failure == EMEError {
    /// The bytes are not the message that is expected.
    package static var malformed: Self { Self("eme.malformed") }
    /// The message names more keys than a bound allows.
    package static var tooManyKeys: Self { Self("eme.too-many-keys") }
}
