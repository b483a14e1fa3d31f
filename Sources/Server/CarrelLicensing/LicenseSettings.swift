// SPDX-License-Identifier: Apache-2.0

/// The operator's settings of licenses.
package struct LicenseSettings: Sendable {
    /// How often a stream is renewed, and how long it may be late.
    package var interval = Duration.seconds(300)
    package var grace = Duration.seconds(60)
    /// Whether the streams of an order are counted for the order, as its listeners are, and not for its account.
    package var countsOrders = false
    /// Whether the keys of audiobooks rotate, which licenses of orders state.
    package var rotatesKeys = false

    package init() {}
}
