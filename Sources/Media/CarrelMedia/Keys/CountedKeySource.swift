// SPDX-License-Identifier: Apache-2.0

/// A source of keys that counts their uses: each session of a proxy starts its own.
public protocol CountedKeySource: ContentKeySource {
    /// Starts a use, which is counted when its first key is requested.
    ///
    /// - Returns: the keys of that use.
    func newUse() -> any CountedKeySource

    /// Ends the use: its keys may not be used any more, and what it holds at other services is released.
    func end() async
}
