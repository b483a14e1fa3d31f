// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelWebAPI

/// `/admin/v1/accounts/{account}/history`: a person's listening history, for staff.
struct HistoryRoutes {
    let desk: AccountAdministration
    let history: ListeningHistory
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        router.on(.get, "admin/v1/accounts/{account}/history") { request, parameters in
            let account = try await looked(request, parameters)
            return .json(["titles": .array(try await history.list(of: account).map(\.json))]).unstored
        }
        router.on(.get, "admin/v1/accounts/{account}/history.csv") { request, parameters in
            history.table(of: try await looked(request, parameters))
        }
    }

    /// The account whose history is requested; records the access in the audit log.
    private func looked(_ request: HTTPRequest, _ parameters: PathParameters) async throws -> Account {
        let actor = try await callers.require(request, .personalData)
        let account = try await desk.find(parameters["account"])
        try await history.note(account, by: actor, at: desk.clock.now)
        return account
    }
}
