// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelHTTP
import CarrelJSON
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import Testing

struct `A request with a session's cookie` {
    @Test(arguments: [
        ([:], 403), (["Origin": "http://localhost"], 201), (["Origin": "http://LOCALHOST:80"], 201),
        (["Origin": "https://localhost"], 403), (["Origin": "http://localhost.evil.test"], 403), (["Origin": "null"], 403),
        (["Sec-Fetch-Site": "same-origin"], 201), (["Sec-Fetch-Site": "none"], 403), (["Sec-Fetch-Site": "same-site"], 403),
        (["Sec-Fetch-Site": "cross-site"], 403), (["Sec-Fetch-Site": "same-origin", "Origin": "http://evil.test"], 403),
    ])
    func `changes something only from a page of ours`(fields: [String: String], status: Int) async throws {
        let test = try await TestService(.silence)
        let order = try await test.order()
        let account = try #require(try await test.service.accounts.find(named: "alice"))
        let token = try await test.service.accounts.issueSession(for: account)
        var headers: HTTPFields = ["Cookie": "carrel_session=\(token)"]
        for (name, value) in fields { headers[name] = value }
        let path = "/v1/shelf/\(order.id)/bookmarks"
        #expect(try await test.send(.post, path, headers: headers, body: ["seconds": 1]).status == status)
        #expect(try await test.send(.get, path, headers: headers).status == 200, "reading changes nothing")
        #expect(
            try await test.send(.post, path, headers: ["Authorization": "Bearer \(token)"], body: ["seconds": 1]).status == 201
        )
    }
}
