// SPDX-License-Identifier: Apache-2.0

/// Combines several key sources: the first that knows a key grants, delays or refuses it.
public struct ContentKeySources: ContentKeySource {
    private let sources: [any ContentKeySource]

    /// Creates a combined source.
    ///
    /// - Parameter sources: the sources in the order in which they are tried.
    public init(_ sources: [any ContentKeySource]) {
        self.sources = sources
    }

    public func key(_ name: ContentKeyName) async -> ContentKeyAnswer {
        for source in sources {
            let answer = await source.key(name)
            guard case .unknown = answer else { return answer }
        }
        return .unknown
    }
}
