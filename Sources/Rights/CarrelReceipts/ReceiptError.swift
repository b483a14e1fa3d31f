// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The reason why signed data of a store are refused. Never contains the data.
package struct ReceiptError: CodedError {
    /// The kinds of this failure.
    package typealias Code = ErrorCode<ReceiptError>

    /// The kind of failure.
    package let code: Code
    /// A lower-case sentence without a period.
    package let message: String
    /// The environment of the receipt, if it is the wrong one of a store that has several.
    package let environment: StoreEnvironment?

    package init(_ code: Code, _ message: String, environment: StoreEnvironment? = nil) {
        self.code = code
        self.message = message
        self.environment = environment
    }

    package var description: String { message }
}

extension ErrorCode where Failure == ReceiptError {
    /// It is not signed data of a store, or lacks required members.
    package static var malformed: Self { Self("receipt.malformed") }
    /// Its signature leads to no trusted root, or it was altered.
    package static var untrusted: Self { Self("receipt.untrusted") }
    /// It is of another app.
    package static var bundle: Self { Self("receipt.bundle") }
    /// It is from an environment that is not accepted, such as a sandbox.
    package static var environment: Self { Self("receipt.environment") }
    /// The store product is not mapped to a plan or product.
    package static var unmapped: Self { Self("receipt.unmapped") }
    /// Another account has the purchase.
    package static var taken: Self { Self("receipt.taken") }
}
