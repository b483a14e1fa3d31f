// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelEditionDelivery
import CarrelHTTP
import CarrelHome
import CarrelIngest
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import Testing

/// Responses to readers of an edition that changes while they read, and effects that changes never have.
@Suite(.onBothDatabases)
struct `An edition that changes` {
    private let product = "com.example.7"

    private func service() async throws -> TestService {
        let test = try await TestService(with: .editionDelivery) { $0.passwordCost = .init(memory: 64, passes: 1) }
        try await test.ingest(EditionFiles.folder(test.directory), product, samples: ["pages/2.html"])
        return test
    }

    private func basic(_ pair: EditionCredentials.Pair) -> HTTPFields {
        ["Authorization": "Basic \(Base64.encode("\(pair.userID):\(pair.password)"))"]
    }

    @Test func `is never read at the places of what another process put in its stead`() async throws {
        let test = try await service()
        #expect(try await test.send(.get, "/editions/\(product)/pages/2.html").status == 200)
        let other = try await test.another()
        // the same pages after a page that shifts them in the file
        let folder = "\(test.directory.path)/issue"
        let text = "<html><head><title>Front</title></head><body>\(String(repeating: "new ", count: 999))</body></html>"
        test.directory.write("issue/a-front.html", text)
        var options = EditionOptions(productID: product)
        options.samples = ["pages/*.html"]
        let terms = Edition.Terms(productID: product)
        test.clock.advance(by: .milliseconds(500))
        let made = try await other.ingesting.ingest(folder, options, terms)
        #expect(!made.created)
        // this process caches its reads for a second, and has not read this page yet
        let answer = try await test.send(.get, "/editions/\(product)/pages/10.html")
        #expect(answer.status == 200)
        #expect(answer.body == test.directory.read("issue/pages/10.html"))
    }

    @Test func `refuses forged and outdated credentials without asking the database`() async throws {
        let test = try await service()
        let target = "/opds/v2/editions/\(product)/index.html"
        let pair = try await test.service.credentials.issuer().issue(product: product, account: "a", life: .seconds(3600))
        #expect(try await test.send(.get, target, headers: basic(pair)).status == 200)
        await test.service.database.close()
        #expect(try await test.send(.get, target, headers: basic(pair)).status == 200, "what is known is believed for a second")
        var forged = pair.password
        forged = (forged.hasPrefix("A") ? "B" : "A") + forged.dropFirst()
        let wrong = EditionCredentials.Pair(userID: pair.userID, password: forged)
        #expect(try await test.send(.get, target, headers: basic(wrong)).status == 401)
        let name = EditionCredentials.Pair(userID: "alice", password: forged)
        #expect(try await test.send(.get, target, headers: basic(name)).status >= 500, "a name and a password need the database")
    }

    @Test func `matches patterns of samples before requests wait for it, up to a limit`() async throws {
        let test = try await service()
        var change = Editions.Change()
        change.samples = (0...100).map { "pages/*\($0)*" }
        await #expect(throws: ServerError.self) {
            try await test.service.editions.change(product, change, by: AuditActor("operator"))
        }
        change.samples = ["pages/*.html", "index.html"]
        let changed = try await test.service.editions.change(product, change, by: AuditActor("operator"))
        #expect(changed.sampleCount > 1)
        #expect(try await test.send(.get, "/editions/\(product)/index.html").status == 200)
        change.samples = ["pages/2.html"]
        _ = try await test.service.editions.change(product, change, by: AuditActor("operator"))
        #expect(try await test.send(.get, "/editions/\(product)/index.html").status == 403)
        #expect(try await test.send(.get, "/editions/\(product)/pages/2.html").status == 200)
    }

}
