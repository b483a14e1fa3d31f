// SPDX-License-Identifier: Apache-2.0

/// A source of keys that counts their uses: each session of a proxy starts its own.
public protocol CountedKeySource: ContentKeySource {
    /// Starts a use, which is counted when its first key is requested.
    ///
    /// - Returns: the keys of that use. It ends when they are released.
    func newUse() -> any ContentKeySource
}
