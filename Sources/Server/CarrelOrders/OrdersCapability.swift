// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelHTTP
package import CarrelStore
import CarrelBytes
package import CarrelHome
package import CarrelWebAPI

/// Grants of titles to accounts.
package struct OrdersCapability: Capability {
    package let orders: Orders
    private let accounts: Accounts
    private let callers: RequestAuthenticator
    private let clock: any WallClock

    package init(_ context: ServiceContext, _ accounts: AccountsCapability) {
        orders = Orders(database: context.database, clock: context.clock, master: context.master)
        self.accounts = accounts.accounts
        callers = accounts.callers
        clock = context.clock
        accounts.lifecycle.join(orders)
    }

    package static let tables: [String: PersonalData.Treatment] = [
        "orders": .kept(exportedAs: "orders", because: PersonalData.accounting)
    ]
    package static let statements = OrderStore.statements

    package func addRoutes(to router: inout Router) {
        OrderRoutes(orders: orders, accounts: accounts, callers: callers, clock: clock).add(to: &router)
    }

    package var personalData: [PersonalData.Member] {
        [
            PersonalData.Member("orders", holdsSubjects: true) { person, _, mark, transaction in
                try OrderStore.exported(of: person.account, after: mark, in: transaction)
            }
        ]
    }

    package var wrappedKeys: [WrappedKeys] {
        [WrappedKeys(notUnder: OrderStore.keysUnderOtherMaster, rewrap: OrderStore.rewrap)]
    }
}
