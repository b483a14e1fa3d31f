// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelAdministration
package import CarrelAuthority
package import CarrelCatalog
package import CarrelEditionDelivery
package import CarrelEntitlements
package import CarrelHTTP
package import CarrelHome
package import CarrelListening
package import CarrelOrders
package import CarrelStreaming
import CarrelWebAPI

/// The pages for people, and their requests.
package struct WebsiteCapability: Capability {
    private let context: ServiceContext
    private let accounts: AccountsCapability
    private let catalog: CatalogCapability
    private let orders: Orders
    private let grants: PlaybackGrantCache
    private let listening: ListeningCapability
    private let subscriptions: Subscriptions
    private let shelf: EditionShelf
    private let administration: AdministrationCapability
    private let authority: AuthorityCapability
    private let signOnLabel: String?

    package init(
        _ context: ServiceContext,
        _ accounts: AccountsCapability,
        _ catalog: CatalogCapability,
        _ orders: Orders,
        _ grants: PlaybackGrantCache,
        _ listening: ListeningCapability,
        _ subscriptions: Subscriptions,
        _ shelf: EditionShelf,
        _ administration: AdministrationCapability,
        _ authority: AuthorityCapability,
        signOnLabel: String?
    ) {
        self.context = context
        self.accounts = accounts
        self.catalog = catalog
        self.orders = orders
        self.grants = grants
        self.listening = listening
        self.subscriptions = subscriptions
        self.shelf = shelf
        self.administration = administration
        self.authority = authority
        self.signOnLabel = signOnLabel
    }

    package static let statements = ShelfStore.statements

    package func addRoutes(to router: inout Router) {
        let callers = accounts.callers
        let signIn = SignInRoutes(
            accounts: accounts.accounts,
            desk: accounts.desk,
            check: accounts.check,
            callers: callers,
            activity: context.activity,
            signOnLabel: signOnLabel
        )
        PageRoutes(callers: callers, signIn: signIn).add(to: &router)
        signIn.add(to: &router)
        LinkRoutes(links: authority.links, callers: callers, signIn: signIn).add(to: &router)
        ShelfRoutes(
            database: context.database,
            orders: orders,
            titles: catalog.titles,
            listening: listening.listening,
            bookmarks: listening.bookmarks,
            grants: grants,
            callers: callers,
            clock: context.clock
        ).add(to: &router)
        EditionShelfRoutes(shelf: shelf, callers: callers).add(to: &router)
        OwnerRoutes(
            accounts: accounts.accounts,
            desk: accounts.desk,
            check: accounts.check,
            devices: accounts.devices,
            appPasswords: accounts.appPasswords,
            subscriptions: subscriptions,
            history: listening.history,
            export: administration.export,
            erasure: administration.erasure,
            register: administration.register,
            callers: callers
        ).add(to: &router)
    }
}
