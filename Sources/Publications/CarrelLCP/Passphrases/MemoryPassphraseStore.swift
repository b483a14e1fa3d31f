// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// Remembers passphrases until the process ends.
public final class MemoryPassphraseStore: PassphraseStore {
    private let known = Locked<[(key: UserKey, owner: PassphraseOwner)]>([])

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
        PassphraseOrder.sorted(known.withLock { $0 }, for: license)
    }

    public func add(_ key: UserKey, of owner: PassphraseOwner) async throws(LCPError) {
        known.withLock { known in
            known.removeAll { $0.key == key && $0.owner == owner }
            known.insert((key, owner), at: 0)
            let isOfCatalog = owner.license == nil
            let same = known.indices.filter { (known[$0].owner.license == nil) == isOfCatalog }
            let limit = isOfCatalog ? catalogLimit : usedLimit
            if same.count > limit, let oldest = same.last { known.remove(at: oldest) }
        }
    }
}
