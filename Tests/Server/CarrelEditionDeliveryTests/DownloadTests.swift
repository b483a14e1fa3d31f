// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelEditionDelivery
import CarrelEntitlements
import CarrelHTTP
import CarrelHTTPServer
import CarrelJSON
import CarrelMetrics
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelStreaming
import CarrelSubscription
import CarrelTesting
import Testing

@Suite(.onBothDatabases)
struct `A download of an edition` {
    private let page = "/editions/com.example.7/index.html"
    private let life = Duration.seconds(24 * 3600)

    private func service(_ configure: (inout CarrelService.Settings) -> Void = { _ in }) async throws -> TestService {
        let test = try await TestService(with: .editionDelivery) {
            $0.passwordCost = .init(memory: 64, passes: 1)
            configure(&$0)
        }
        try await test.ingest(EditionFiles.folder(test.directory), "com.example.7", samples: ["pages/2.html"])
        return test
    }

    private func authorization(_ user: String, _ password: String) -> HTTPFields {
        ["Authorization": "Basic \(Base64.encode("\(user):\(password)"))"]
    }

    /// Credentials that the service issues for a product.
    private func credentials(
        _ test: TestService,
        _ product: String = "com.example.7",
        account: String = "someone"
    ) async throws -> HTTPFields {
        let pair = try await test.service.credentials.issuer().issue(product: product, account: account, life: life)
        return authorization(pair.userID, pair.password)
    }

    @Test func `needs credentials of this very edition, and is refused without a challenge`() async throws {
        let test = try await service()
        try await test.ingest(test.directory.write("x.epub", EditionFiles.epub()), "com.example.8")
        let granted = try await test.send(.get, page, headers: credentials(test))
        #expect(granted.status == 200)
        #expect(granted.body == test.directory.read("issue/index.html"))
        #expect(granted.headers["X-Carrel-Entitlement"] == "com.example.7")
        #expect(granted.headers["X-Pugpig-Entitlement"] == nil)
        #expect(granted.headers["Cache-Control"] == "private, no-cache")
        #expect(granted.headers["Content-Security-Policy"]?.hasPrefix("sandbox ") == true)
        let wrong: [HTTPFields] = [
            [:], try await credentials(test, "com.example.8"), authorization("alice", "secret"), ["Authorization": "Basic !"],
            ["Authorization": "Bearer x"],
        ]
        for headers in wrong {
            let refused = try await test.send(.get, page, headers: headers)
            #expect(refused.status == 403)
            #expect(refused.headers["WWW-Authenticate"] == nil)
            #expect(refused.headers["Cache-Control"] == "no-cache")
            #expect(String(decoding: refused.body, as: UTF8.self) == "You are not authorized to view this page.")
        }
        let expired = try await credentials(test)
        test.clock.advance(by: life)
        #expect(try await test.send(.get, page, headers: expired).status == 403)
    }

    @Test func `runs nothing on our origin, whatever its type`() async throws {
        let test = try await service()
        try await test.ingest(test.directory.write("x.epub", EditionFiles.epub()), "com.example.8")
        try await test.ingest(test.directory.write("y.pdf", EditionFiles.pdf), "com.example.9")
        for product in ["com.example.7", "com.example.8", "com.example.9"] {
            let headers = try await credentials(test, product)
            for path in ["", "-/manifest.xml", "-/package.zip", "style.css", "index.html"] {
                let answer = try await test.send(.get, "/editions/\(product)/\(path)", headers: headers)
                guard answer.status == 200 else { continue }
                let policy = try #require(answer.headers["Content-Security-Policy"], "\(path)")
                #expect(policy.contains("script-src 'none'"))
                #expect(policy.hasPrefix("sandbox ") == (product != "com.example.9" || !path.isEmpty), "\(product) \(path)")
                guard let tag = answer.headers["ETag"] else { continue }
                let known = try await test.send(
                    .get,
                    "/editions/\(product)/\(path)",
                    headers: ["Authorization": headers["Authorization"] ?? "", "If-None-Match": tag]
                )
                #expect(known.status == 304 && known.headers["Content-Security-Policy"] == policy, "a cache takes it over")
            }
        }
    }

    @Test func `is counted by what came of it`() async throws {
        let test = try await service()
        let (held, pair) = (
            try await credentials(test),
            try await test.service.credentials.issuer().issue(
                product: "com.example.7",
                account: "other",
                life: .seconds(60)
            )
        )
        func counts() -> [String: String] {
            let name = "carrel_edition_checks_total{outcome=\""
            let lines = test.service.metrics.text().split(separator: "\n").filter { $0.hasPrefix(name) }
            return Dictionary(
                uniqueKeysWithValues: lines.map { line in
                    let words = line.dropFirst(name.count).split(separator: "\"} ")
                    return (String(words[0]), String(words[1]))
                }
            )
        }
        #expect(counts() == ["passed": "0", "invalid": "0", "expired": "0", "revoked": "0"])
        for _ in 1...2 { _ = try await test.send(.get, page, headers: held) }
        for _ in 1...3 { _ = try await test.send(.get, page) }
        test.clock.advance(by: .seconds(60))
        _ = try await test.send(.get, page, headers: authorization(pair.userID, pair.password))
        try await test.service.credentials.revoke(.product("com.example.7"), by: AuditActor("operator"))
        for _ in 1...4 { _ = try await test.send(.get, page, headers: held) }
        #expect(counts() == ["passed": "2", "invalid": "3", "expired": "1", "revoked": "4"])
    }

    @Test func `takes no product from the client`() async throws {
        let test = try await service()
        let headers = try await credentials(test, "com.example.8")
        for target in ["\(page)?product_id=com.example.8", "\(page)?productid=com.example.8"] {
            #expect(try await test.send(.get, target, headers: headers).status == 403)
        }
    }

    @Test func `needs nothing for samples, the feed of an edition with samples, covers and free editions`() async throws {
        let test = try await service()
        try await test.ingest(test.directory.write("x.epub", EditionFiles.epub()), "free") { $0.price = .free }
        for target in ["/editions/com.example.7/pages/2.html", "/editions/com.example.7/content.xml", "/editions/free/free.epub"]
        {
            let open = try await test.send(.get, target)
            #expect(open.status == 200, "\(target)")
            #expect(open.headers["X-Carrel-Entitlement"] == nil)
            #expect(open.headers["Cache-Control"] == "public, max-age=300")
        }
        #expect(try await test.send(.get, "/editions/free/-/cover").headers["Content-Type"] == "image/png")
        #expect(try await test.send(.get, "/editions/com.example.7/pics/a.png").status == 403)
        #expect(try await test.send(.get, "/editions/com.example.7/-/package.zip").status == 403)
        #expect(try await test.send(.get, "/editions/com.example.7/-/manifest.xml").status == 403)
        #expect(try await test.send(.get, "/editions/com.example.7/-/cover").status == 404)
    }

    @Test func `is a page at the edition's own address, and the file itself where it is one`() async throws {
        let test = try await service()
        let headers = try await credentials(test)
        #expect(
            try await test.send(.get, "/editions/com.example.7/", headers: headers).body
                == test.directory.read("issue/index.html")
        )
        let moved = try await test.send(.get, "/editions/com.example.7", headers: headers)
        #expect(moved.status == 302 && moved.headers["Location"] == "com.example.7/index.html")
        try await test.ingest(test.directory.write("x.epub", EditionFiles.epub()), "book") { $0.price = .free }
        for target in ["/editions/book", "/editions/book/", "/editions/book/book.epub"] {
            let file = try await test.send(.get, target)
            #expect(file.body == EditionFiles.epub())
            #expect(file.headers["Content-Type"] == "application/epub+zip")
            #expect(file.headers["Content-Disposition"] == "attachment; filename=\"book.epub\"")
        }
    }

    @Test func `gives ranges, conditions and heads as files do`() async throws {
        let test = try await service()
        let headers = try await credentials(test)
        let target = "/editions/com.example.7/pics/a.png"
        let whole = try await test.send(.get, target, headers: headers)
        func send(_ method: HTTPMethod, _ name: String, _ value: String) async throws -> (Int, HTTPFields, [UInt8]) {
            var fields = headers
            fields[name] = value
            let answer = try await test.send(method, target, headers: fields)
            return (answer.status, answer.headers, answer.body)
        }
        let (status, fields, body) = try await send(.get, "Range", "bytes=100-199")
        #expect(status == 206 && body == Array(whole.body[100..<200]))
        #expect(fields["Content-Range"] == "bytes 100-199/\(whole.body.count)")
        #expect(fields["X-Carrel-Entitlement"] == "com.example.7")
        #expect(try await send(.get, "Range", "bytes=99999-").0 == 416)
        #expect(try await send(.get, "If-None-Match", try #require(whole.headers["ETag"])).0 == 304)
        #expect(try await send(.head, "X", "y").0 == 200)
        #expect(try await test.send(.get, target, headers: ["If-None-Match": whole.headers["ETag"] ?? ""]).status == 403)
    }

    @Test func `describes the package that an app downloads`() async throws {
        let test = try await service { $0.stream.publicURL = "https://books.example.org/x" }
        let headers = try await credentials(test)
        let manifest = try await test.send(.get, "/editions/com.example.7/-/manifest.xml", headers: headers)
        #expect(manifest.headers["Content-Type"] == "application/pugpigpkg+xml")
        let package = try await test.send(.get, "/editions/com.example.7/-/package.zip", headers: headers)
        let text = String(decoding: manifest.body, as: UTF8.self)
        #expect(text.contains("root=\"content.xml\" size=\"\(package.body.count)\""))
        #expect(text.contains("src=\"https://books.example.org/x/editions/com.example.7/-/package.zip\""))
        #expect(text.contains("modified=\"2027-01-15T08:00:00"))
    }

    @Test func `refuses drafts and withdrawn editions, whatever the account holds`() async throws {
        let test = try await service()
        let headers = try await credentials(test)
        try await test.ingest(test.directory.write("x.epub", EditionFiles.epub()), "draft") {
            ($0.price, $0.isDraft) = (.free, true)
        }
        for target in ["/editions/draft/", "/editions/draft/-/cover", "/editions/none/", "/editions/com.example.7/none.html"] {
            #expect(try await test.send(.get, target, headers: headers).status == 404, "\(target)")
        }
        #expect(try await test.send(.get, page, headers: headers).status == 200)
        _ = try await test.service.editions.withdraw("com.example.7", by: AuditActor("operator"))
        #expect(try await test.send(.get, page, headers: headers).status == 410, "at once")
        #expect(try await test.send(.get, "/editions/com.example.7/pages/2.html").status == 410, "samples too")
    }

    @Test func `stops within a second when what it rests on is taken away`() async throws {
        let test = try await service()
        let desk = test.service.desk
        let account = try await desk.create("alice", password: "correct horse battery", by: AuditActor("operator"))
        let plan = Plan(name: "gold", scope: .everything)
        try await test.service.subscriptions.createPlan(plan, by: AuditActor("operator"))
        let granted = try await test.service.subscriptions.grant(plan: "gold", to: account, by: AuditActor("operator"))
            .subscription
        let other = try await credentials(test, account: "other")
        var held = try await credentials(test, account: account.id)
        func status(_ headers: HTTPFields) async throws -> Int { try await test.send(.get, page, headers: headers).status }
        #expect(try await status(held) == 200)
        for change in 0..<3 {
            test.clock.advance(by: .seconds(5))
            switch change {
            case 0: try await desk.setSuspended(true, account.id, by: AuditActor("operator"))
            case 1: try await desk.setPassword("another horse battery", of: account.id, by: AuditActor("operator"))
            default: try await test.service.subscriptions.end(granted.id, by: AuditActor("operator"))
            }
            test.clock.advance(by: .seconds(1))
            #expect(try await status(held) == 403)
            #expect(try await status(other) == 200)
            held = try await credentials(test, account: account.id)
            #expect(try await status(held) == 200, "what is handed out later is good: whoever hands it out asks")
        }
    }

    @Test func `says what an edge needs in the header of Pugpig's too, where that is set`() async throws {
        let test = try await service { $0.editions.saysPugpigEntitlement = true }
        let headers = try await test.send(.get, page, headers: credentials(test)).headers
        #expect(headers["X-Pugpig-Entitlement"] == "com.example.7")
        #expect(headers["X-Pugpig-Status"] == "published")
    }
}

@Suite(.onBothDatabases)
struct `A reader of feeds` {
    private let book = "/opds/v2/editions/book/book.epub"
    private let password = "correct horse battery"

    private func service(_ configure: (inout CarrelService.Settings) -> Void = { _ in }) async throws -> TestService {
        let test = try await TestService(with: .editionDelivery) {
            $0.passwordCost = .init(memory: 64, passes: 1)
            configure(&$0)
        }
        try await test.ingest(test.directory.write("x.epub", EditionFiles.epub()), "book")
        let account = try await test.service.desk.create("alice", password: password, by: AuditActor("operator"))
        _ = try await test.service.subscriptions.give("book", to: account, as: .gift, by: AuditActor("operator"))
        _ = try await test.service.desk.create("bob", password: password, by: AuditActor("operator"))
        return test
    }

    private func get(_ test: TestService, _ target: String, _ user: String, _ password: String) async throws -> Int {
        let headers: HTTPFields = ["Authorization": "Basic \(Base64.encode("\(user):\(password)"))"]
        return try await test.send(.get, target, headers: headers).status
    }

    @Test func `is told how to sign in, and does with name and password`() async throws {
        let test = try await service { $0.editions.catalogTitle = "The \"Shelf\" é" }
        let asked = try await test.send(.get, book)
        #expect(asked.status == 401)
        #expect(asked.headers["Content-Type"] == "application/opds-authentication+json")
        #expect(asked.headers["WWW-Authenticate"] == "Basic realm=\"The Shelf \", charset=\"UTF-8\"")
        #expect(asked.headers["Link"]?.contains("rel=\"http://opds-spec.org/auth/document\"") == true)
        let document = try JSON.parse(asked.body.rawSpan)
        #expect(document["authentication"]?.array?.first?["type"] == "http://opds-spec.org/auth/basic")
        for _ in 0..<3 { #expect(try await get(test, book, "alice", password) == 200) }
        #expect(try await get(test, book, "bob", password) == 401, "who is known, and not entitled")
        #expect(try await get(test, book, "alice", "wrong") == 401)
        #expect(try await get(test, "/editions/book/book.epub", "alice", password) == 403, "apps have credentials of the edition")
        try await test.service.desk.setPassword("another horse battery", of: test.account("alice"), by: AuditActor("operator"))
        #expect(try await get(test, book, "alice", password) == 401, "at once")
    }

    @Test func `signs in with a session's token too, and with a browser's session`() async throws {
        let test = try await service()
        let account = try await test.service.desk.find(test.account("alice"))
        let token = try await test.service.accounts.issueSession(for: account)
        #expect(try await get(test, book, "anything", token) == 200)
        for (scope, status) in [(AppPassword.Scope.opds, 200), (.sync, 401)] {
            let made = try await test.service.appPasswords.create(
                for: account,
                name: "reader",
                scopes: [scope],
                by: AuditActor("operator")
            )
            #expect(try await get(test, book, "alice", made.text) == status)
        }
        #expect(try await test.send(.get, "/editions/book/", headers: ["Cookie": "carrel_session=\(token)"]).status == 200)
        #expect(try await test.send(.get, book, headers: ["Authorization": "Bearer \(token)"]).status == 200)
        let other = try await test.service.accounts.issueSession(for: test.service.desk.find(test.account("bob")))
        #expect(try await test.send(.get, "/editions/book/", headers: ["Cookie": "carrel_session=\(other)"]).status == 403)
    }

    @Test func `is slowed down when guessing`() async throws {
        let test = try await service()
        for guess in 0..<6 { #expect(try await get(test, book, "alice", "guess \(guess)") == 401) }
        #expect(try await get(test, book, "alice", password) == 401, "not even the right one, for a second")
        test.clock.advance(by: .seconds(2))
        #expect(try await get(test, book, "alice", password) == 200)
    }

    @Test func `is challenged at the apps' address where that is set`() async throws {
        let test = try await service {
            $0.editions.refusal = .challenge
            $0.editions.opdsRefusal = .forbidden
        }
        #expect(try await test.send(.get, "/editions/book/").status == 401)
        #expect(try await get(test, "/editions/book/", "alice", password) == 200)
        #expect(try await test.send(.get, book).status == 403)
    }
}
