// SPDX-License-Identifier: Apache-2.0

/// Remembers passphrases, by their digests only, so that a user types each of them once.
public protocol PassphraseStore: Sendable {
    /// The keys to try for a license: its own, then keys of the same user at the same provider, then all others.
    ///
    /// - Parameter license: the license to unlock.
    /// - Returns: each key once; at most 1,000 of them.
    /// - Throws: `lcp.store`.
    func userKeys(for license: LicenseDocument) async throws(LCPError) -> [UserKey]

    /// Stores a key unless it is already known.
    ///
    /// - Parameters:
    ///   - key: the key of a passphrase.
    ///   - owner: the owner of the licenses that it opens, as far as known.
    /// - Throws: `lcp.store`.
    func add(_ key: UserKey, of owner: PassphraseOwner) async throws(LCPError)

    /// Stores keys of the same owner. ``LCPStore`` stores all of them or none; the default implementation adds them one by one,
    /// and may fail after some.
    ///
    /// - Parameters:
    ///   - keys: the keys of passphrases.
    ///   - owner: the owner of the licenses that they open, if known.
    /// - Throws: `lcp.store`.
    func add(_ keys: [UserKey], of owner: PassphraseOwner) async throws(LCPError)
}

extension PassphraseStore {
    public func add(_ keys: [UserKey], of owner: PassphraseOwner) async throws(LCPError) {
        for key in keys { try await add(key, of: owner) }
    }
}

/// Whose licenses a passphrase opens.
public struct PassphraseOwner: Sendable, Hashable {
    /// A license that the key opened; nil for a key from a catalog.
    public let license: String?
    /// The provider that issued the license; nil if it is not known.
    public let provider: String?
    /// Names the user at the provider.
    public let user: String?

    /// Creates an owner; each part may be unknown.
    ///
    /// - Parameters:
    ///   - license: the id of a license that the passphrase opened.
    ///   - provider: the provider of the license.
    ///   - user: the user's id at the provider.
    public init(license: String? = nil, provider: String? = nil, user: String? = nil) {
        self.license = license
        self.provider = provider
        self.user = user
    }

    init(_ license: LicenseDocument) {
        self.init(license: license.id, provider: license.provider, user: license.user.id)
    }
}

/// In which order known passphrases are tried.
enum PassphraseOrder {
    /// The maximum number of keys tried for one license, and of stored keys from catalogs; the oldest are deleted.
    static let limit = 1000
    /// The maximum number of stored keys that opened a license.
    static let usedLimit = 10_000

    /// - Parameters:
    ///   - entries: keys and their owners, the newest first.
    ///   - license: the license to unlock.
    /// - Returns: each key once.
    static func sorted(_ entries: [(key: UserKey, owner: PassphraseOwner)], for license: LicenseDocument) -> [UserKey] {
        let target = PassphraseOwner(license)
        func rank(_ owner: PassphraseOwner) -> Int {
            if owner.license == target.license, owner.provider == nil || owner.provider == target.provider { return 0 }
            guard owner.provider == target.provider else { return 3 }
            return owner.user != nil && owner.user == target.user ? 1 : 2
        }
        var keys: [UserKey] = []
        for level in 0...3 {
            for entry in entries where rank(entry.owner) == level && keys.count < limit {
                if !keys.contains(entry.key) { keys.append(entry.key) }
            }
        }
        return keys
    }
}
