// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelTesting
import Testing

/// The permissions of roles: our table again, by hand.
struct `Roles` {
    /// owner, admin, support, service, reader
    private static let table: [(permission: Permission, allowed: String)] = [
        (.readAccounts, "oasS-"), (.changeAccounts, "oasS-"), (.readPlans, "oasS-"), (.changePlans, "oa-S-"),
        (.changeHoldings, "oasS-"), (.personalData, "oa---"), (.readOrders, "oasS-"),
        (.changeOrders, "oasS-"), (.issueTokens, "oa-S-"), (.manageLicenses, "oasS-"), (.readCatalog, "oasS-"),
        (.changeCatalog, "oa---"), (.readAudit, "oa---"), (.readHealth, "oasS-"), (.runCannedUsers, "oas--"),
        (.rotateKeys, "oa---"), (.manageKeys, "oa---"), (.manageStaff, "o----"), (.exchangeKeys, "-----"),
    ]
    private static let order: [Role] = [.owner, .admin, .support, .service, .reader]

    @Test(arguments: table) func `may do what the table says, and nothing else`(row: (permission: Permission, allowed: String)) {
        for (role, mark) in zip(Self.order, row.allowed) {
            #expect(role.may(row.permission) == (mark != "-"), "\(role) \(row.permission)")
        }
    }

    @Test func `are all listed in the table`() {
        #expect(Set(Self.table.map(\.permission)) == Set(Permission.allCases))
        #expect(Set(Self.order) == Set(Role.allCases).subtracting([.portal, .packager]))
        #expect(Role.portal.permissions == [.issueTokens])
        #expect(Role.packager.permissions == [.exchangeKeys])
    }

    @Test func `have accurate documentation`() async throws {
        let text = try await checkProcess(["cat", "\(Repository.path)/docs/admin.md"])
        var documented: [String: [Bool]] = [:]
        for row in text.split(separator: "\n") where row.hasPrefix("| `") {
            let cells = row.split(separator: "|", omittingEmptySubsequences: false)
            guard cells.count == 8, let name = cells[1].split(separator: "`").dropFirst().first else { continue }
            documented[String(name)] = cells[2...6].map { $0.contains("yes") }
        }
        let known = Permission.allCases.map { permission in
            (permission.rawValue, Self.order.map { $0.may(permission) })
        }
        #expect(documented == Dictionary(uniqueKeysWithValues: known))
    }

    /// The API calls and the roles that may make them.
    private static let calls: [(method: HTTPMethod, target: String, body: JSON?, allowed: String)] = [
        (.get, "/admin/v1/accounts", nil, "oas"), (.post, "/admin/v1/accounts", ["name": "new"], "oas"),
        (.get, "/admin/v1/plans", nil, "oas"), (.post, "/admin/v1/plans", ["name": "new"], "oa"),
        (.get, "/admin/v1/orders", nil, "oas"), (.get, "/admin/v1/titles", nil, "oas"),
        (.post, "/admin/v1/titles", [:], "oa"), (.get, "/admin/v1/audit", nil, "oa"),
        (.post, "/admin/v1/audit/verify", nil, "oa"), (.get, "/admin/v1/service-keys", nil, "oa"),
        (.post, "/admin/v1/service-keys", ["role": "admin"], "oa"), (.post, "/admin/v1/master-key/rotate", nil, "oa"),
        (.post, "/admin/v1/ticket-key/rotate", nil, "oa"), (.get, "/admin/v1/staff", nil, "o"),
        (.post, "/admin/v1/setup-links", [:], "o"), (.get, "/admin/v1/upstream-readers?name=nobody", nil, "oa"),
        (.delete, "/admin/v1/upstream-readers?name=nobody", nil, "oa"),
    ]

    @Test(arguments: [Role.owner, .admin, .support]) func `get that from the API`(role: Role) async throws {
        let test = try await TestService { $0.passwordCost = .init(memory: 64, passes: 1) }
        let page = try await test.staffPage(role)
        for call in Self.calls {
            let answer = try await page.call(call.method, call.target, call.body)
            let mark = role.rawValue.prefix(1)
            #expect((answer.status != 403) == call.allowed.contains(mark), "\(role) \(call.method) \(call.target): \(answer)")
            #expect(answer.status != 401 && answer.status < 500, "\(call.target): \(answer)")
        }
    }

    @Test func `only an owner changes the account of staff`() async throws {
        let test = try await TestService { $0.passwordCost = .init(memory: 64, passes: 1) }
        let owner = try await test.staffPage(.owner)
        let account = try #require(owner.account)
        for role in [Role.admin, .support] {
            let page = try await test.staffPage(role)
            let attempts: [(HTTPMethod, String, JSON?)] = [
                (.patch, "/admin/v1/accounts/\(account.id)", ["password": "a password of mine"]),
                (.patch, "/admin/v1/accounts/\(account.id)", ["suspended": true]),
                (.put, "/admin/v1/accounts/\(account.id)/role", ["role": "reader"]),
                (.put, "/admin/v1/accounts/\(page.account?.id ?? "")/role", ["role": "owner"]),
                (.delete, "/admin/v1/accounts/\(account.id)/devices", nil),
                (.post, "/admin/v1/sign-in-links", ["account": .string(account.name)]),
                (.post, "/admin/v1/sessions", ["account": .string(account.name)]),
            ]
            for (method, target, body) in attempts {
                #expect(try await page.call(method, target, body).status == 403, "\(role) \(method) \(target)")
            }
        }
        let key = try await test.service.accounts.createServiceKey(name: "shop", role: .service).text
        let forged = try await test.call(
            .patch,
            "/admin/v1/accounts/\(account.id)",
            headers: ["Authorization": "Bearer \(key)"],
            body: ["password": "a password of mine"]
        )
        #expect(forged.status == 403)
        await #expect(throws: ServerError(.invalid, "")) {
            _ = try await test.service.accounts.createServiceKey(name: "mighty", role: .owner)
        }
    }
}
