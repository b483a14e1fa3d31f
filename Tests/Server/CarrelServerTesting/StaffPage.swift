// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
import CarrelAudit
import CarrelBytes
package import CarrelHTTP
package import CarrelJSON
import CarrelServer

/// The administrator's page of a member of staff, as its scripts call the API.
package struct StaffPage {
    package let test: TestService
    /// The account; nil without a sign-in.
    package var account: Account?
    package var cookie: String?

    package static let password = "correct horse battery"

    package init(test: TestService, account: Account? = nil, cookie: String? = nil) {
        (self.test, self.account, self.cookie) = (test, account, cookie)
    }

    /// Sends what the page would send; the fields given come instead of its own.
    package func call(
        _ method: HTTPMethod,
        _ target: String,
        _ body: JSON? = nil,
        _ changes: [(String, String?)] = [],
        peer: Peer = .network(address: "127.0.0.1", port: 1)
    ) async throws -> (status: Int, json: JSON) {
        let answer = try await send(method, target, body, changes, peer: peer)
        return (answer.status, answer.body.isEmpty ? .null : try JSON.parse(answer.body.rawSpan))
    }

    package func send(
        _ method: HTTPMethod,
        _ target: String,
        _ body: JSON? = nil,
        _ changes: [(String, String?)] = [],
        peer: Peer = .network(address: "127.0.0.1", port: 1)
    ) async throws -> (status: Int, headers: HTTPFields, body: [UInt8]) {
        var headers: HTTPFields = ["X-Carrel-Admin": "page", "Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"]
        if let cookie { headers["Cookie"] = "carrel_admin=\(cookie)" }
        for (name, value) in changes { headers[name] = value }
        return try await test.send(method, target, headers: headers, body: body, peer: peer)
    }

    /// The same page after signing in.
    package func signedIn(_ name: String, _ password: String = Self.password) async throws -> (status: Int, page: StaffPage) {
        let answer = try await send(.post, "/admin/v1/session", ["name": .string(name), "password": .string(password)])
        var page = self
        page.cookie = answer.headers["Set-Cookie"].flatMap(Self.token)
        return (answer.status, page)
    }

    package static func token(_ setCookie: String) -> String? {
        setCookie.split(separator: ";").first?.split(separator: "=").dropFirst().first.map(String.init)
    }
}

extension TestService {
    /// The page of a signed-in account with that role.
    package func staffPage(_ role: Role) async throws -> StaffPage {
        let account = try await service.desk.create("the \(role.rawValue)", by: .operator)
        try await service.staff.setRole(role, of: account, by: .operator)
        try await service.desk.setPassword(StaffPage.password, of: account.id, by: .operator)
        var page = try await StaffPage(test: self).signedIn(account.name).page
        page.account = account
        return page
    }
}
