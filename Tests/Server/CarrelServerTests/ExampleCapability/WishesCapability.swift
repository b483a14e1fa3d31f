// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelMetrics
import CarrelStore
import CarrelWebAPI

struct WishesCapability: Capability {
    let wishes: Wishes
    private let accounts: AccountsCapability

    init(_ context: ServiceContext, _ accounts: AccountsCapability) {
        wishes = Wishes(database: context.database, clock: context.clock)
        self.accounts = accounts
        accounts.lifecycle.join(wishes)
    }

    static let tables: [String: PersonalData.Treatment] = ["wishes": .deleted(exportedAs: "wishes")]
    static let statements = WishStore.statements

    func addRoutes(to router: inout Router) {
        WishRoutes(wishes: wishes, callers: accounts.callers).add(to: &router)
    }

    var personalData: [PersonalData.Member] {
        [
            PersonalData.Member("wishes") { person, transaction in
                try WishStore.list(of: person.account, in: transaction).map(WishRoutes.json)
            }
        ]
    }
}
