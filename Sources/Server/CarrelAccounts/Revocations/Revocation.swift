// SPDX-License-Identifier: Apache-2.0

/// The credentials to revoke.
package enum Revocation: Sendable, Equatable {
    /// All that an account was given.
    case account(String)
    /// All credentials for one product.
    case product(String)
    case all

    /// Maximum lifetime of credentials; older revocations of accounts can be deleted.
    package static let longestLife = Duration.seconds(31 * 24 * 3600)

    /// A revocation and its number.
    package typealias Numbered = (revocation: Revocation, serial: UInt32)

    /// The first of the two columns that name it in the database.
    package var kind: String {
        switch self {
        case .account: "account"
        case .product: "product"
        case .all: "all"
        }
    }

    /// The id of the account or product.
    package var subject: String {
        switch self {
        case .account(let id), .product(let id): id
        case .all: ""
        }
    }

    /// Nil for a kind that this version does not know.
    init?(kind: String, subject: String) {
        switch kind {
        case "account": self = .account(subject)
        case "product": self = .product(subject)
        case "all": self = .all
        default: return nil
        }
    }
}
