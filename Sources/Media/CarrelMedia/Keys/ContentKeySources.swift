// SPDX-License-Identifier: Apache-2.0

/// Combines several key sources: the first that knows a key grants, delays or refuses it. Each source is asked for all names of a key
/// before the next is asked for any.
public struct ContentKeySources: CountedKeySource, LicenseTokenReceiver {
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

    public func key(anyOf names: [ContentKeyName]) async -> (answer: ContentKeyAnswer, name: ContentKeyName?) {
        for source in sources {
            let found = await source.key(anyOf: names)
            guard case .unknown = found.answer else { return found }
        }
        return (.unknown, nil)
    }

    /// Starts a use of each source that counts its uses.
    public func newUse() -> any CountedKeySource {
        ContentKeySources(sources.map { ($0 as? any CountedKeySource)?.newUse() ?? $0 })
    }

    /// Ends the use of each source that counts its uses.
    public func end() async {
        for source in sources { await (source as? any CountedKeySource)?.end() }
    }

    /// Passes a token to each source that takes tokens.
    ///
    /// - Parameter licenseToken: the token.
    public func receive(licenseToken: String) async {
        for source in sources { await (source as? any LicenseTokenReceiver)?.receive(licenseToken: licenseToken) }
    }
}
