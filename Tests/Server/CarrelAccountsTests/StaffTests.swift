// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import Testing

@Suite(.onBothDatabases)
struct `A member of staff` {
    private let `operator` = AuditActor("operator")

    private func service() async throws -> TestService {
        try await TestService { $0.passwordCost = .init(memory: 64, passes: 1) }
    }

    @Test func `becomes the first owner by a link, once, within an hour`() async throws {
        let test = try await service()
        let page = StaffPage(test: test)
        #expect(try await !test.service.staff.hasOwner())
        let link = try await test.service.staff.makeSetupLink(by: `operator`)
        func open(_ link: String, _ name: String = "anna", _ password: String = StaffPage.password) async throws -> Int {
            try await page.send(
                .post,
                "/admin/v1/setup",
                ["link": .string(link), "name": .string(name), "password": .string(password)]
            ).status
        }
        #expect(try await open("cu_nonsense") == 403)
        #expect(try await open(link, "anna", "short") == 400)
        _ = try await test.service.desk.create("taken", by: `operator`)
        #expect(try await open(link, "taken") == 409)
        test.clock.advance(by: .seconds(3599))
        #expect(try await open(link) == 201)
        #expect(try await open(link, "berta") == 403)
        #expect(try await test.service.staff.hasOwner())
        let (status, signedIn) = try await page.signedIn("anna")
        #expect(status == 201)
        let session = try await signedIn.call(.get, "/admin/v1/session").json
        #expect(session["role"]?.string == "owner")
        #expect(session["permissions"]?.array?.contains("staff.manage") == true)
        let late = try await test.service.staff.makeSetupLink(by: `operator`)
        test.clock.advance(by: .seconds(3600))
        #expect(try await open(late, "berta") == 403)
    }

    @Test func `leaves no other link valid, and none is in the database or the log`() async throws {
        let test = try await service()
        let (first, second) = (
            try await test.service.staff.makeSetupLink(by: `operator`), try await test.service.staff.makeSetupLink(by: `operator`)
        )
        let page = StaffPage(test: test)
        for (link, status) in [(first, 201), (second, 403)] {
            let body: JSON = ["link": .string(link), "name": "anna", "password": .string(StaffPage.password)]
            #expect(try await page.send(.post, "/admin/v1/setup", body).status == status)
        }
        let entries = try await test.service.audit.list(AuditFilter())
        #expect(entries.map(\.action).contains("staff.setup"))
        for entry in entries { #expect(!"\(entry)".contains("cu_"), "\(entry)") }
    }

    @Test func `signs in and out with name and password`() async throws {
        let test = try await service()
        let page = try await test.staffPage(.admin)
        let cookie = try #require(page.cookie)
        #expect(cookie.hasPrefix("ct_"))
        #expect(try await page.call(.get, "/admin/v1/accounts").status == 200)
        let out = try await page.send(.delete, "/admin/v1/session")
        #expect(out.status == 204)
        #expect(out.headers["Set-Cookie"]?.contains("Max-Age=0") == true)
        #expect(try await page.call(.get, "/admin/v1/accounts").status == 401)
        let session = try await page.call(.get, "/admin/v1/session")
        #expect(session.json["signedIn"] == false)
    }

    @Test func `has a cookie of its own, which no reader's page takes`() async throws {
        let test = try await service()
        _ = try await test.staffPage(.owner)
        let answer = try await StaffPage(test: test).send(
            .post,
            "/admin/v1/session",
            ["name": "the owner", "password": .string(StaffPage.password)]
        )
        let field = try #require(answer.headers["Set-Cookie"])
        #expect(field.hasPrefix("carrel_admin=ct_"))
        #expect(field.hasSuffix("; Path=/admin; Max-Age=28800; HttpOnly; SameSite=Strict"))
        #expect(answer.headers["Cache-Control"] == "no-store")
        let token = try #require(StaffPage.token(field))
        #expect(try await test.call(.get, "/v1/shelf", headers: ["Cookie": "carrel_session=\(token)"]).status == 401)
        #expect(try await test.call(.get, "/v1/shelf", headers: ["Authorization": "Bearer \(token)"]).status == 401)
        let reader = try await test.service.accounts.findOrCreate(named: "reader")
        let session = try await test.service.accounts.issueSession(for: reader)
        var page = StaffPage(test: test)
        page.cookie = session
        #expect(try await page.call(.get, "/admin/v1/accounts").status == 401)
    }

    @Test func `is told the same whatever is wrong`() async throws {
        let test = try await service()
        _ = try await test.staffPage(.owner)
        _ = try await test.service.desk.create("reader", password: StaffPage.password, by: `operator`)
        let gone = try await test.staffPage(.support)
        try await test.service.desk.setSuspended(true, try #require(gone.account).id, by: `operator`)
        #expect(try await gone.call(.get, "/admin/v1/accounts").status == 401)
        for (name, password) in [
            ("the owner", "wrong horse"), ("nobody", StaffPage.password), ("reader", StaffPage.password),
            ("the support", StaffPage.password), ("", ""),
        ] {
            let answer = try await StaffPage(test: test).call(
                .post,
                "/admin/v1/session",
                ["name": .string(name), "password": .string(password)]
            )
            #expect(answer.status == 401, "\(name)")
            #expect(answer.json["code"]?.string == "staff.not-recognised")
        }
    }

    @Test func `is changed as a whole or not at all`() async throws {
        let test = try await service()
        let owner = try await test.staffPage(.owner)
        let id = try #require(owner.account).id
        let path = "/admin/v1/accounts/\(id)"
        func change(_ body: JSON) async throws -> Int {
            try await test.call(.patch, path, body: body, peer: .local(userID: 0)).status
        }
        func entries() async throws -> [String] {
            var filter = AuditFilter()
            filter.about = id
            let changes = ["account.password", "account.suspend", "account.resume", "account.device-limit"]
            return try await test.service.audit.list(filter).map(\.action).filter(changes.contains).sorted()
        }
        let before = try await entries()
        #expect(try await change(["password": "another horse battery", "suspended": true, "deviceLimit": 3]) == 409)
        #expect(try await change(["password": "another horse battery", "suspended": "yes"]) == 400)
        #expect(try await change(["suspended": false, "password": "short", "deviceLimit": 3]) == 400)
        #expect(try await owner.call(.get, "/admin/v1/accounts").status == 200, "the session goes on")
        #expect(try await entries() == before)
        #expect(try await change(["password": "another horse battery", "suspended": false, "deviceLimit": 3]) == 200)
        #expect(try await owner.call(.get, "/admin/v1/accounts").status == 401)
        #expect(try await entries() == (before + ["account.device-limit", "account.password", "account.resume"]).sorted())
    }

    @Test func `who guesses is slowed down`() async throws {
        let test = try await service()
        let page = StaffPage(test: test)
        var statuses: [Int] = []
        for attempt in 0..<7 { statuses.append(try await page.signedIn("the owner", "guess \(attempt)").status) }
        #expect(statuses == [401, 401, 401, 401, 401, 429, 429])
    }

    @Test func `is signed out after half an hour of nothing, and after eight hours`() async throws {
        let test = try await service()
        let page = try await test.staffPage(.admin)
        func status() async throws -> Int { try await page.call(.get, "/admin/v1/accounts").status }
        for _ in 0..<16 {
            #expect(try await status() == 200)
            test.clock.advance(by: .seconds(1799))
        }
        test.clock.advance(by: .seconds(16))
        #expect(try await status() == 401)
        let again = try await StaffPage(test: test).signedIn("the admin").page
        test.clock.advance(by: .seconds(1800))
        #expect(try await again.call(.get, "/admin/v1/accounts").status == 401)
    }

    @Test func `is what the account is now`() async throws {
        let test = try await service()
        let page = try await test.staffPage(.admin)
        let account = try #require(page.account)
        #expect(try await page.call(.get, "/admin/v1/audit").status == 200)
        try await test.service.staff.setRole(.support, of: account, by: `operator`)
        #expect(try await page.call(.get, "/admin/v1/audit").status == 403)
        try await test.service.staff.setRole(.reader, of: account, by: `operator`)
        #expect(try await page.call(.get, "/admin/v1/accounts").status == 401)
    }

    @Test func `an owner is always left`() async throws {
        let test = try await service()
        let page = try await test.staffPage(.owner)
        let path = "/admin/v1/accounts/\(try #require(page.account).id)"
        #expect(try await page.call(.put, "\(path)/role", ["role": "admin"]).status == 409)
        #expect(try await page.call(.patch, path, ["suspended": true]).status == 409)
        let other = try await test.service.desk.create("other", password: StaffPage.password, by: `operator`)
        #expect(try await page.call(.put, "/admin/v1/accounts/\(other.id)/role", ["role": "owner"]).status == 200)
        #expect(try await page.call(.put, "\(path)/role", ["role": "admin"]).status == 200)
    }

    @Test func `cannot be made to act by a page of another origin`() async throws {
        let test = try await service()
        let page = try await test.staffPage(.owner)
        let refused: [[(String, String?)]] = [
            [("Origin", "https://evil.example")], [("Sec-Fetch-Site", "cross-site")], [("Sec-Fetch-Site", "same-site")],
            [("Sec-Fetch-Site", "none")], [("Origin", nil), ("Sec-Fetch-Site", nil)], [("X-Carrel-Admin", nil)],
            [("Origin", "null"), ("Sec-Fetch-Site", nil)], [("Origin", "http://localhost:81")],
        ]
        for changes in refused {
            for (method, target) in [(HTTPMethod.post, "/admin/v1/accounts"), (.delete, "/admin/v1/session")] {
                let answer = try await page.send(method, target, ["name": "mallory"], changes)
                #expect(answer.status == 403, "\(changes) \(target)")
            }
        }
        let form = try await page.send(.post, "/admin/v1/accounts", nil, [("Content-Type", "text/plain")])
        #expect(form.status == 415)
        #expect(try await test.service.accounts.find(named: "mallory") == nil)
        #expect(try await page.call(.post, "/admin/v1/accounts", ["name": "mallory"], [("Sec-Fetch-Site", nil)]).status == 201)
        #expect(try await page.call(.post, "/admin/v1/accounts", ["name": "mallet"], [("Origin", nil)]).status == 201)
    }

    @Test func `signs in over nothing that others can read`() async throws {
        let test = try await service()
        let page = try await test.staffPage(.owner)
        let elsewhere = Peer.network(address: "192.0.2.7", port: 1)
        #expect(try await page.call(.get, "/admin/v1/accounts", peer: elsewhere).status == 403)
        let body: JSON = ["name": "the owner", "password": .string(StaffPage.password)]
        let refused = try await StaffPage(test: test).call(.post, "/admin/v1/session", body, peer: elsewhere)
        #expect(refused.status == 403)
        #expect(refused.json["code"]?.string == "staff.tls")
        let state = try await StaffPage(test: test).call(.get, "/admin/v1/session", peer: elsewhere).json
        #expect(state["confidential"] == false)
        var request = HTTPRequest(
            .post,
            "/admin/v1/session",
            headers: ["X-Carrel-Admin": "page", "Origin": "https://admin.example", "Content-Type": "application/json"],
            body: body.write(),
            peer: elsewhere,
            authority: "admin.example"
        )
        request.scheme = "https"
        let welcome = await test.service.router.respond(to: request)
        #expect(welcome.status == .created)
        #expect(welcome.headers["Set-Cookie"]?.contains("; Secure; HttpOnly; SameSite=Strict") == true)
    }
}
