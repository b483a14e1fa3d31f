// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// A back-office key in lists; only its creator knows its text.
package struct ServiceKey: Sendable, Equatable {
    package let id: String
    package let name: String
    package let role: Role
    package let createdAt: Instant
    package let revokedAt: Instant?
}
