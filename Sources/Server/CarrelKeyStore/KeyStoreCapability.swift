// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelHTTP
package import CarrelHome
package import CarrelStore
package import CarrelWebAPI

/// The key store: keys of content for packagers, tokens and licenses.
package struct KeyStoreCapability: Capability {
    package let keys: ContentKeys
    private let callers: RequestAuthenticator

    package init(_ context: ServiceContext, _ accounts: AccountsCapability) {
        keys = ContentKeys(database: context.database, clock: context.clock, master: context.master)
        callers = accounts.callers
    }

    package static let tables: [String: PersonalData.Treatment] = ["content_keys": .nothing("keys of content")]
    package static let statements = ContentKeyStore.statements + CarriedContentKeys.statements
    package static let carriedTables = [CarriedContentKeys.table]

    package func addRoutes(to router: inout Router) {
        ContentKeyRoutes(keys: keys, callers: callers).add(to: &router)
    }

    package var wrappedKeys: [WrappedKeys] {
        [WrappedKeys(notUnder: ContentKeyStore.notUnder, rewrap: ContentKeyStore.rewrap)]
    }
}
