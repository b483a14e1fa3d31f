// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// A portal's user that this device was joined to.
public struct PlayerLink: Sendable, Equatable {
    /// The portal's id of the user.
    public let user: String
    /// The link's expiry unless it is renewed; nil if it has ended.
    public let expiresAt: Instant?
}
