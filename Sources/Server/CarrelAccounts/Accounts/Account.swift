// SPDX-License-Identifier: Apache-2.0

package import CarrelHome

/// A person, known by name to the shop or library that created the account.
package struct Account: Sendable, Equatable {
    package let id: String
    package let name: String
    /// Whether the operator has suspended the account: no sign-in, no grants.
    package let isSuspended: Bool

    package init(id: String, name: String, isSuspended: Bool = false) {
        self.id = id
        self.name = name
        self.isSuspended = isSuspended
    }

    package static let unknown = ServerError(.notFound, "there is no such account")

    /// Checks a name.
    ///
    /// - Returns: the name.
    /// - Throws: ``ServerError`` `invalid` for a name that no account can have.
    package static func checkedName(_ name: String) throws -> String {
        guard !name.isEmpty, name.utf8.count <= 256, !name.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f })
        else { throw ServerError(.invalid, "an account name has 1 to 256 bytes and no control characters") }
        return name
    }
}
