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

    /// Returns the answer of the first source that knows a key.
    ///
    /// - Parameter name: the key as named by the file or the playlist.
    /// - Returns: the key with its terms, or the reason for its absence.
    public func key(_ name: ContentKeyName) async -> ContentKeyAnswer { await key(anyOf: [name]).answer }

    /// Asks one source for all names before the next source.
    ///
    /// - Parameter names: names of one key, the most exact first.
    /// - Returns: the answer, and the name that the key was found by.
    public func key(anyOf names: [ContentKeyName]) async -> (answer: ContentKeyAnswer, name: ContentKeyName?) {
        var refusal: (answer: ContentKeyAnswer, name: ContentKeyName?)?
        for source in sources {
            let found = await source.key(anyOf: names)
            switch found.answer {
            case .granted, .pending: return found
            case .refused(let reason):
                // a token that gave no license leaves the key to the other sources
                let failure = await (source as? any LicenseTokenReceiver)?.tokenFailure
                guard failure == reason else { return found }
                refusal = refusal ?? found
            case .unknown: continue
            }
        }
        return refusal ?? (.unknown, nil)
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

    /// Passes a license inside a file to each source that takes tokens.
    ///
    /// - Parameter text: a license or a token.
    public func receive(licenseInFile text: String) async {
        for source in sources { await (source as? any LicenseTokenReceiver)?.receive(licenseInFile: text) }
    }

    /// The first reason of a source why its last token gave no license.
    public var tokenFailure: String? {
        get async {
            for source in sources {
                if let failure = await (source as? any LicenseTokenReceiver)?.tokenFailure { return failure }
            }
            return nil
        }
    }
}
