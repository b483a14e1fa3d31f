// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// A failure to write or to decrypt OMA content that is not the fault of a file's bytes.
package struct DCFError: CodedError {
    package typealias Code = ErrorCode<DCFError>

    package let code: Code
    /// A lower-case sentence without a period.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ErrorCode where Failure == DCFError {
    /// A header does not fit into its field.
    package static var header: Self { Self("dcf.header") }
    /// The content has another length than the caller announced.
    package static var length: Self { Self("dcf.length") }
    /// The key has another length than the cipher takes, or there is none.
    package static var key: Self { Self("dcf.key") }
}
