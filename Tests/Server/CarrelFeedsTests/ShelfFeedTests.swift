// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelEditionDelivery
import CarrelEntitlements
import CarrelHTTP
import CarrelJSON
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import CarrelSubscription
import CarrelTesting
import CarrelWorks
import CarrelXML
import Testing

/// The readable part of the catalog, as feeds and on the bookshelf.
@Suite(.onBothDatabases)
struct `A reader's shelf` {
    private let password = "correct horse battery"
    private let operatorActor = AuditActor("operator")

    /// A paid magazine and a paid PDF, a free book, a draft and a withdrawn one; alice was given the magazine.
    private func service(_ configure: (inout CarrelService.Settings) -> Void = { _ in }) async throws -> TestService {
        let test = try await TestService(.silence) {
            $0.passwordCost = .init(memory: 64, passes: 1)
            $0.stream.publicURL = "https://books.example.org"
            configure(&$0)
        }
        try await test.ingest(EditionFiles.folder(test.directory), "issue")
        test.clock.advance(by: .seconds(60))
        try await test.ingest(test.directory.write("x.pdf", EditionFiles.pdf), "report")
        test.clock.advance(by: .seconds(60))
        try await test.ingest(test.directory.write("x.epub", EditionFiles.epub()), "book") { $0.price = .free }
        try await test.add(product: "draft", metadata: .init(title: "Draft"))
        try await test.add(product: "gone", metadata: .init(title: "Gone"))
        try await test.ingest(test.directory.write("y.pdf", EditionFiles.pdf + Array(" ".utf8)), "draft-2") { $0.isDraft = true }
        _ = try await test.service.editions.withdraw("gone", by: operatorActor)
        _ = try await test.service.editions.withdraw("draft", by: operatorActor)
        let alice = try await test.service.desk.create("alice", password: password, by: operatorActor)
        _ = try await test.service.subscriptions.give("issue", to: alice, as: .gift, by: operatorActor)
        _ = try await test.service.desk.create("bob", password: password, by: operatorActor)
        return test
    }

    private func basic(_ user: String, _ password: String) -> HTTPFields {
        ["Authorization": "Basic \(Base64.encode("\(user):\(password)"))"]
    }

    private func appPassword(_ test: TestService, _ name: String, _ scope: AppPassword.Scope) async throws -> HTTPFields {
        let account = try await test.service.desk.find(test.account(name))
        let made = try await test.service.appPasswords.create(for: account, name: "reader", scopes: [scope], by: operatorActor)
        return basic(name, made.text)
    }

    private func json(_ test: TestService, _ target: String, _ headers: HTTPFields = [:]) async throws -> JSON {
        let answer = try await test.send(.get, target, headers: headers)
        return try JSON.parse(answer.body.rawSpan)
    }

    /// The titles of a shelf's publications; nil if it is refused.
    private func titles(_ test: TestService, _ headers: HTTPFields) async throws -> [String]? {
        let answer = try await test.send(.get, "/opds/v2/shelf", headers: headers)
        #expect(answer.headers["Vary"]?.contains("Authorization") == true)
        if answer.status == 401 { return nil }
        #expect(answer.status == 200)
        #expect(answer.headers["Cache-Control"] == "private, no-cache")
        let feed = try JSON.parse(answer.body.rawSpan)
        let found = (feed["publications"]?.array ?? []).compactMap { $0["metadata"]?["title"]?.string }
        #expect(feed["metadata"]?["numberOfItems"]?.int == found.count)
        return found
    }

    @Test func `has what they may read and nothing else, for each way to sign in`() async throws {
        let test = try await service()
        let (own, everybodys) = (["The <Book>", "Issue & Co"], ["The <Book>"])
        #expect(try await titles(test, basic("alice", password)) == own)
        #expect(try await titles(test, appPassword(test, "alice", .opds)) == own)
        #expect(try await titles(test, appPassword(test, "alice", .sync)) == nil)
        #expect(try await titles(test, appPassword(test, "bob", .opds)) == everybodys)
        #expect(try await titles(test, basic("alice", "wrong")) == nil)
        #expect(try await titles(test, [:]) == nil)
        let token = try await test.service.accounts.issueSession(for: test.service.desk.find(test.account("alice")))
        #expect(try await titles(test, ["Authorization": "Bearer \(token)"]) == own)
        #expect(try await titles(test, ["Cookie": "carrel_session=\(token)"]) == own)
        #expect(try await titles(test, basic("anything", token)) == own)
    }

    @Test func `opens with the second credential of a token, which opens no edition`() async throws {
        let test = try await service { $0.subscription.givesFeedPasswords = true }
        let reply = try await test.ask("sign_in", ["username": "alice", "password": password, "uuid": "phone"]).xml
        let token = String(reply.split(separator: ">")[1].split(separator: "<")[0])
        let second = basic(token, test.service.feedPasswords.password(of: token))
        #expect(try await titles(test, second) == ["The <Book>", "Issue & Co"])
        #expect(try await titles(test, basic(token, "x")) == nil)
        let page = "/opds/v2/editions/issue/index.html"
        #expect(try await test.send(.get, page, headers: second).status == 401)
        #expect(try await test.send(.get, page, headers: basic("x", token)).status == 200)
        try await test.service.desk.setSuspended(true, test.account("alice"), by: operatorActor)
        #expect(try await titles(test, second).map(\.isEmpty) != false, "suspended")
        try await test.service.desk.setSuspended(false, test.account("alice"), by: operatorActor)
        #expect(try await test.ask("sign_out", ["token": token]).status == 200)
        #expect(try await titles(test, second) == nil)
    }

    @Test func `of OPDS 1 has links to files that the same reader can open`() async throws {
        let test = try await service()
        let headers = try await appPassword(test, "alice", .opds)
        let answer = try await test.send(.get, "/opds/v1/shelf", headers: headers)
        #expect(answer.headers["Content-Type"] == "application/atom+xml;profile=opds-catalog;kind=acquisition")
        let feed = try XMLElement.parse(answer.body.rawSpan)
        let entries = feed.children.filter { $0.name.local == "entry" }
        #expect(entries.compactMap { $0.child("id")?.text } == ["book", "issue"])
        for entry in entries {
            let links = entry.children.filter { $0.name.local == "link" }
            #expect(links.filter { $0["rel"] == "http://opds-spec.org/acquisition" }.count == 1)
            for link in links {
                let target = String((link["href"] ?? "").dropFirst("https://books.example.org".count))
                let opened = try await test.send(.get, target, headers: headers)
                #expect(opened.status == 200, "\(target)")
                #expect(opened.headers["Content-Type"]?.hasPrefix(link["type"] ?? "?") == true, "\(target)")
            }
        }
    }

    @Test func `is found from the catalog and from the authentication document`() async throws {
        let test = try await service()
        for target in ["/opds/v2", "/opds/authentication"] {
            let links = try await json(test, target)["links"]?.array ?? []
            let shelf = links.first { $0["rel"] == "http://opds-spec.org/shelf" }
            #expect(shelf?["href"] == "https://books.example.org/opds/v2/shelf")
        }
        let refused = try await test.send(.get, "/opds/v2/shelf")
        #expect(refused.status == 401)
        #expect(refused.headers["Content-Type"] == "application/opds-authentication+json")
        #expect(refused.headers["WWW-Authenticate"]?.hasPrefix("Basic ") == true)
        #expect(refused.headers["Cache-Control"] == "no-store")
    }

    @Test func `comes in pages of which each edition is on one`() async throws {
        let test = try await service()
        for number in 0..<120 { try await test.add(product: "n\(number)", metadata: .init(title: "N\(number)"), issued: number) }
        let alice = try await test.service.desk.find(test.account("alice"))
        let plan = Plan(name: "gold", scope: .everything)
        try await test.service.subscriptions.createPlan(plan, by: operatorActor)
        _ = try await test.service.subscriptions.grant(plan: "gold", to: alice, by: operatorActor)
        let headers = try await appPassword(test, "alice", .opds)
        test.clock.advance(by: .seconds(200))
        var (seen, next): ([String], String?) = ([], "/opds/v2/shelf")
        while let target = next {
            let feed = try await json(test, target, headers)
            #expect(feed["metadata"]?["numberOfItems"]?.int == 123)
            seen += (feed["publications"]?.array ?? []).compactMap { $0["metadata"]?["identifier"]?.string }
            next = feed["links"]?.array?.first { $0["rel"] == "next" }?["href"]?.string
                .map { String($0.dropFirst("https://books.example.org".count)) }
        }
        #expect(seen.count == 123 && Set(seen).count == 123)
        let behind = try await json(test, "/opds/v2/shelf?page=99", headers)
        #expect(behind["publications"] == nil && behind["navigation"]?.array?.count == 1)
        #expect(try await test.send(.get, "/opds/v2/shelf?page=0", headers: headers).status == 400)

        let session = try await test.service.accounts.issueSession(for: alice)
        var (ids, page): ([String], Int?) = ([], 1)
        while let number = page {
            let reply = try await test.send(
                .get,
                "/v1/shelf/editions?page=\(number)",
                headers: ["Cookie": "carrel_session=\(session)"]
            )
            #expect(reply.headers["Cache-Control"] == "private, no-store")
            let json = try JSON.parse(reply.body.rawSpan)
            ids += (json["editions"]?.array ?? []).compactMap { $0["id"]?.string }
            page = json["nextPage"]?.int
        }
        #expect(Set(ids).count == 123 && ids.count == 123)
        #expect(try await test.send(.get, "/v1/shelf/editions").status == 401)
        for (words, found) in [("n11", ["n119", "n118"]), ("N7 n7%20", ["n79", "n78"]), ("n7%25", []), ("zzz", [])] {
            let query = words.replacing(" ", with: "%20")
            let reply = try await test.call(
                .get,
                "/v1/shelf/editions?q=\(query)",
                headers: ["Cookie": "carrel_session=\(session)"]
            )
            let titles = (reply.json["editions"]?.array ?? []).compactMap { $0["id"]?.string }
            #expect(titles.count == reply.json["total"]?.int)
            #expect(Array(titles.prefix(2)) == found, "\(words)")
            #expect(titles.isEmpty == found.isEmpty)
        }
    }

    @Test func `and all other feeds are for those who sign in, where that is set`() async throws {
        let test = try await service { $0.editions.feedsNeedSignIn = true }
        let headers = try await appPassword(test, "bob", .opds)
        for target in [
            "/opds/v1", "/opds/v1/search?q=x", "/opds/v2", "/opds/v2/search?query=x", "/opds/v2/publications/book",
        ] {
            let refused = try await test.send(.get, target)
            #expect(refused.status == 401, "\(target)")
            #expect(refused.headers["Content-Type"] == "application/opds-authentication+json")
            #expect(refused.headers["Vary"]?.contains("Authorization") == true)
            let open = try await test.send(.get, target, headers: headers)
            #expect(open.status == 200, "\(target)")
            #expect(open.headers["Cache-Control"] == "private, no-cache")
            #expect(open.headers["Vary"]?.contains("Authorization") == true)
            let tag = try #require(open.headers["ETag"])
            #expect(try await test.send(.get, target, headers: ["If-None-Match": tag]).status == 401)
            #expect(try await test.send(.get, target, headers: basic("bob", "x")).status == 401)
        }
        #expect(try await test.send(.get, "/opds/authentication").status == 200)
        #expect(try await test.send(.get, "/opds/v1/search.xml").status == 200)
    }
}
