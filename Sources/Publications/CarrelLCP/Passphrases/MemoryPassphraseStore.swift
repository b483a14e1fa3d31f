// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// Remembers passphrases until the process ends.
public final class MemoryPassphraseStore: PassphraseStore {
    private let entries = Locked<[(key: UserKey, owner: PassphraseOwner)]>([])

    private let catalogLimit: Int
    private let usedLimit: Int

    /// Creates an empty store.
    public convenience init() {
        self.init(catalogLimit: PassphraseOrder.limit, usedLimit: PassphraseOrder.usedLimit)
    }

    /// Creates a store with lower limits.
    init(catalogLimit: Int, usedLimit: Int) {
        self.catalogLimit = catalogLimit
        self.usedLimit = usedLimit
    }

    public func userKeys(for license: LicenseDocument) async throws(LCPError) -> [UserKey] {
        PassphraseOrder.sorted(entries.withLock { $0 }, for: license)
    }

    public func add(_ key: UserKey, of owner: PassphraseOwner) async throws(LCPError) {
        entries.withLock { entries in
            entries.removeAll { $0.key == key && $0.owner == owner }
            entries.insert((key, owner), at: 0)
            let isOfCatalog = owner.license == nil
            let same = entries.indices.filter { (entries[$0].owner.license == nil) == isOfCatalog }
            let limit = isOfCatalog ? catalogLimit : usedLimit
            if same.count > limit, let oldest = same.last { entries.remove(at: oldest) }
        }
    }
}
