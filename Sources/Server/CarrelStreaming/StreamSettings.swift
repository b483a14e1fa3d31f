// SPDX-License-Identifier: Apache-2.0

package import CarrelOrders

/// Settings of streaming.
package struct StreamSettings: Sendable {
    package var access = AccessMode.orderURL
    /// Maximum number of concurrent streams per account (`session`) or per order (`order-url`); 0 = unlimited.
    package var concurrency = 3
    /// The consequence of exceeding the limit.
    package var mode = Leases.Mode.blockNewDevice
    /// Segments under one key; 0 means one key for the whole title.
    package var keyRotation = 0
    /// The least life of a ticket in milliseconds; a title's tickets live at least twice its duration.
    package var ticketLife: Int64 = 24 * 3_600_000
    /// Public base URL, such as `https://audio.example.org`; nil: the request's host.
    package var publicURL: String?

    package init() {}
}
