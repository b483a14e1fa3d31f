// SPDX-License-Identifier: Apache-2.0

/// The key that a packet is scrambled with (ETSI EN 300 468 table 140, `transport_scrambling_control`).
package enum KeyParity: UInt8, Sendable, Hashable, CaseIterable {
    /// The even key.
    case even = 2
    /// The odd key.
    case odd = 3

    /// The other one.
    package var next: KeyParity { self == .even ? .odd : .even }
}
