// SPDX-License-Identifier: Apache-2.0

/// The two engines the product runs on.
package enum DatabaseEngine: String, Sendable, CaseIterable {
    case sqlite
    case postgresql
}
