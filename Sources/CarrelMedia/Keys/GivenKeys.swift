package import CarrelCrypto

/// Keys that a caller passes in.
package struct GivenKeys: ContentKeySource {
    private var keys: [ContentKeyName: Secret] = [:]
    /// The key of everything that no other names.
    private var fallback: Secret?

    package init() {}

    /// Adds a key.
    ///
    /// - Parameters:
    ///   - key: 16 bytes, or 32.
    ///   - name: what it is for; nil for everything that no other names.
    package mutating func add(_ key: Secret, for name: ContentKeyName?) {
        if let name { keys[name] = key } else { fallback = key }
    }

    package func key(_ name: ContentKeyName) async -> ContentKeyAnswer {
        if let key = keys[name] { return .granted(ContentKeyGrant(key: key)) }
        // the last name that is asked for, so that a key by name goes before it
        if case .track = name, let fallback { return .granted(ContentKeyGrant(key: fallback)) }
        if case .address = name, let fallback { return .granted(ContentKeyGrant(key: fallback)) }
        return .unknown
    }
}
