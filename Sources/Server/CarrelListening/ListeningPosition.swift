// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// A place in a title.
package struct ListeningPosition: Sendable, Equatable {
    package let orderID: String
    /// The end of the interval, not later than its arrival allows.
    package let lastUpdated: Instant
    package let seconds: Int64
    /// The same place to the millisecond, where the client told it.
    package let milliseconds: Int64?
    package let deviceID: String?
    package let deviceName: String?

    /// The most exact figure there is.
    package var exactMilliseconds: Int64 { milliseconds ?? seconds * 1000 }
}
