// SPDX-License-Identifier: Apache-2.0

/// The data of an account that password sign-in needs.
package struct SignInRecord: Sendable {
    package let account: Account
    /// The PHC string of its password; nil when it has none.
    package let password: String?
    package let deviceLimit: Int?
}
