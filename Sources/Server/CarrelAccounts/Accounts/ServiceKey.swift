// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// A back-office key as it is listed; its text is known only to who created it.
package struct ServiceKey: Sendable, Equatable {
    package let id: String
    package let name: String
    package let role: Role
    package let createdAt: Instant
    package let revokedAt: Instant?
}
