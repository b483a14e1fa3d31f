// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelWebAPI

/// `/admin/v1/upstream-readers`: the cached data of upstream systems about a reader, exported and deleted.
struct UpstreamReaderRoutes {
    let readers: UpstreamReaders
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        router.on(.get, "admin/v1/upstream-readers") { request, _ in
            let actor = try await callers.require(request, .personalData)
            return .json(["upstream": .array(try await readers.export(named: try Self.name(request), by: actor))]).unstored
        }
        router.on(.delete, "admin/v1/upstream-readers") { request, _ in
            let actor = try await callers.require(request, .personalData)
            return .json(["forgotten": .integer(try await readers.forget(named: try Self.name(request), by: actor))])
        }
    }

    private static func name(_ request: HTTPRequest) throws -> String {
        guard let name = request.query["name"], !name.isEmpty else { throw ServerError(.invalid, "name is missing") }
        return name
    }
}
