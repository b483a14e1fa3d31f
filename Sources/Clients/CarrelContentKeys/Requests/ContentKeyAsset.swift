// SPDX-License-Identifier: Apache-2.0

/// An asset: a stream whose keys a session requests.
public struct ContentKeyAsset: Sendable, Identifiable {
    /// Its id; of a saved item, the item's.
    public let id: String
    /// The keys that it needs, if they are known. The session reports once that all of them are available.
    public var keys: [ContentKeyIdentifier]
    /// Whether the keys are stored for use without a network.
    public var isSaved: Bool

    /// Creates an asset.
    ///
    /// - Parameters:
    ///   - id: its id, unique in the session; of a saved item, the item's.
    ///   - keys: the keys that it needs, if they are known.
    ///   - isSaved: whether the keys are stored for use without a network.
    public init(id: String, keys: [ContentKeyIdentifier] = [], isSaved: Bool = false) {
        self.id = id
        self.keys = keys
        self.isSaved = isSaved
    }
}
