import CarrelThreads

/// Remembers passphrases until the process ends.
public final class MemoryPassphraseStore: PassphraseStore {
    private let known = Locked<[(key: UserKey, owner: PassphraseOwner)]>([])

    public init() {}

    public func userKeys(for license: LicenseDocument) async throws(LCPError) -> [UserKey] {
        PassphraseOrder.sorted(known.withLock { $0 }, for: license)
    }

    public func add(_ key: UserKey, of owner: PassphraseOwner) async throws(LCPError) {
        known.withLock { known in
            known.removeAll { $0.key == key && $0.owner == owner }
            known.insert((key, owner), at: 0)
            if known.count > PassphraseOrder.limit { known.removeLast() }
        }
    }
}
