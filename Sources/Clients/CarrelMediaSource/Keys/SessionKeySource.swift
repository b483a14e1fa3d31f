// SPDX-License-Identifier: Apache-2.0

package import CarrelMedia

/// A key source of a session, which records the terms of each key in the response that uses it.
package protocol SessionKeySource: Sendable {
    /// Requests a key.
    ///
    /// - Parameters:
    ///   - name: names the key.
    ///   - use: the keys of the response; gets the end of the key, and the reason if the key could not be requested.
    /// - Returns: the answer.
    func key(_ name: ContentKeyName, for use: KeyUse) async -> ContentKeyAnswer

    /// Requests a key that has several names.
    ///
    /// - Parameters:
    ///   - names: the names of the key, the best first.
    ///   - use: the keys of the response.
    /// - Returns: the answer, and the name that it is for.
    func key(anyOf names: [ContentKeyName], for use: KeyUse) async -> (answer: ContentKeyAnswer, name: ContentKeyName?)

    /// Requests a key to decide which tracks are offered: returns `pending` without a wait for its license.
    ///
    /// - Parameter names: the names of the key, the best first.
    /// - Returns: the answer.
    func probe(anyOf names: [ContentKeyName]) async -> ContentKeyAnswer
}

extension SessionKeySource {
    package func key(
        anyOf names: [ContentKeyName],
        for use: KeyUse
    ) async -> (answer: ContentKeyAnswer, name: ContentKeyName?) {
        for name in names {
            let answer = await key(name, for: use)
            guard case .unknown = answer else { return (answer, name) }
        }
        return (.unknown, nil)
    }

    package func probe(anyOf names: [ContentKeyName]) async -> ContentKeyAnswer { await key(anyOf: names, for: KeyUse()).answer }

    /// The source as one response uses it.
    package func keys(for use: KeyUse) -> ResponseKeys { ResponseKeys(self, use) }
}

/// The keys of a session as one response uses them.
package struct ResponseKeys: ContentKeySource {
    private let source: any SessionKeySource
    private let use: KeyUse

    fileprivate init(_ source: any SessionKeySource, _ use: KeyUse) {
        self.source = source
        self.use = use
    }

    package func key(_ name: ContentKeyName) async -> ContentKeyAnswer { await source.key(name, for: use) }

    package func key(anyOf names: [ContentKeyName]) async -> (answer: ContentKeyAnswer, name: ContentKeyName?) {
        await source.key(anyOf: names, for: use)
    }
}
