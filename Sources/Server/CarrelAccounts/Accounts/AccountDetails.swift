// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// Details of an account for staff, without its entitlements.
package struct AccountDetails: Sendable {
    package let account: Account
    package let createdAt: Instant
    /// The device limit; nil if the plans and the configuration set it.
    package let deviceLimit: Int?
    package let hasPassword: Bool
}
