// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// A running server.
package struct Node: Sendable, Equatable {
    /// Its own from one start to the next.
    package let id: String
    /// Its machine and its home, for people.
    package let name: String
    package let seenAt: Instant
    /// The versions of the master key that it holds.
    package let masterVersions: [Int64]

    /// A node that was not seen for longer is not counted.
    package static let recent = Duration.seconds(60)
}
