// SPDX-License-Identifier: Apache-2.0

/// The queue of ``Database/search(_:)``, which each database has one of.
package enum SearchQueue {
    /// Searches that wait at most.
    package static let limit = 64
}
