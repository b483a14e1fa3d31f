// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// A license in the store of a device.
public struct StoredLicense: Sendable, Equatable {
    /// The license ID, assigned by the service.
    public let id: String
    /// The ids that it is found by: the content's own, then `urn:marlin:kid:…` of each key.
    public let contentIDs: [String]
    /// The license as the service signed it: a JWS, with keys that only this player's vault opens.
    public let data: String
    /// When it ends, by its terms and its first play; nil for never.
    public let expiresAt: Instant?
    /// The license with the highest priority for a content is used.
    public let priority: Int
    /// When it came into the store.
    public let addedAt: Instant
    /// The app's own text; empty for none.
    public let tag: String
    /// When it was first played.
    public let firstPlayedAt: Instant?
    /// The play count, and the number of plays reported to the service.
    public let plays: Int
    /// The number of plays reported to the service.
    public let reportedPlays: Int
}

/// A returned license, removed here, that the service has not been notified of.
struct PendingRelease: Sendable, Equatable {
    let license: String
    let sequence: Int
    let contentID: String
    let plays: Int
}
