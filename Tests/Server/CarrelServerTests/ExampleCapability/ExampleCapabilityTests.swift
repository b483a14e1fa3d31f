// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAdministration
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelStore
import CarrelTesting
import CarrelWebAPI
import Testing

/// The example of docs/architecture.md: a capability over accounts and the catalog, without the rest of the server.
struct `The example capability` {
    @Test func `keeps wishes, exports them, and deletes them with the person`() async throws {
        let directory = TemporaryDirectory()
        let clock = ManualClock(Instant(milliseconds: 1_800_000_000_000))
        let home = try Home(at: directory.path)
        try home.make()
        try MasterKeyring.make(for: home)
        let migration = WishStore.migration(version: Schema.migrations.count + 1)
        let database = try SQLiteDatabase(path: home.databasePath, migrations: Schema.migrations + [migration])
        let context = try await ServiceContext(home: home, database: database, clock: clock)
        let audit = try AuditCapability(context, retention: nil) { try EditionStore.isProduct($0, in: $1) }
        let accounts = try AccountsCapability(context, AccountsCapability.Settings(), audit: audit.audit.fold)
        let wishes = WishesCapability(context, accounts)
        var router = Router()
        wishes.addRoutes(to: &router)

        let alice = try await accounts.accounts.findOrCreate(named: "alice")
        let token = try await accounts.accounts.issueSession(for: alice)
        let session: HTTPFields = ["Authorization": "Bearer \(token)"]
        #expect(await router.respond(to: HTTPRequest(.get, "/v1/wishes")).status == .unauthorized)
        #expect(await router.respond(to: HTTPRequest(.put, "/v1/wishes/none", headers: session)).status == .notFound)

        try await database.write { transaction in
            try WishStore.insert(WishStore.Wish(title: "title", at: clock.now), of: alice.id, in: transaction)
        }
        let answer = await router.respond(to: HTTPRequest(.get, "/v1/wishes", headers: session))
        let text = String(decoding: try await answer.body.collect(upTo: 4096), as: UTF8.self)
        #expect(answer.status == .ok && text.contains("\"title\":\"title\""), "\(text)")

        let register = PersonalRegister([audit, accounts, wishes])
        #expect(register.tables["wishes"] == .deleted(exportedAs: "wishes"))
        let person = PersonalData.Person(account: alice.id, name: alice.name, createdAt: clock.now)
        let member = try #require(wishes.personalData.first)
        let page = try await database.read { try member.read(person, alice.id, nil, $0) }
        #expect(page.items == [["title": "title", "at": .string(clock.now.description)]])

        try await accounts.lifecycle.write(in: database) { transaction, changes in
            try changes.note(.erased(name: alice.name), of: alice.id, by: .operator, at: clock.now, in: transaction)
        }
        #expect(try await database.read { try WishStore.list(of: alice.id, in: $0) }.isEmpty)
    }
}
