// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelAuthority
import CarrelKeyStore
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelEntitlements
import CarrelHTTP
import CarrelHome
import CarrelLicensing
import CarrelOrders
import CarrelPasswordHash
import CarrelRestoring
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import CarrelTesting
import Glibc
import Testing

/// A backup brings back an older database: what ended since must not begin again, and no other home's database may take its place.
struct `A restored backup` {
    private let password = "correct horse battery"
    private let staff = AuditActor("operator")

    private func makeTest() async throws -> (test: TestService, backup: String) {
        let test = try await TestService(.silence) { $0.passwordCost = .init(memory: 64, passes: 1) }
        return (test, test.directory.file("backup.db"))
    }

    private func backUp(_ test: TestService, to path: String) async throws {
        let database = try #require(test.service.database as? SQLiteDatabase)
        try await database.backup(to: path)
    }

    private func count(_ sql: SQL, _ service: CarrelService) async throws -> Int64 {
        try await service.database.read { try $0.row(sql)?.integer(0) ?? 0 }
    }

    private func status(_ target: String, _ service: CarrelService, _ headers: HTTPFields = [:]) async throws -> Int {
        let request = HTTPRequest(.get, target, headers: headers, peer: .network(address: "192.0.2.1", port: 1))
        return await service.router.respond(to: request).status.rawValue
    }

    /// The files of the home but for its socket and its media, with their bytes.
    private func files(_ test: TestService) async throws -> String {
        try await checkProcess([
            "sh", "-c", "cd \(test.directory.path) && find . -type f -not -path './blobs/*' | sort | xargs sha256sum",
        ])
    }

    @Test func `ends its sessions, links, tickets and credentials, and records it`() async throws {
        let (test, backup) = try await makeTest()
        try await test.add(product: "issue-1")
        try await test.service.subscriptions.createPlan(Plan(name: "gold", scope: .everything), by: staff)
        let alice = try await test.service.desk.create("alice", password: password, by: staff)
        _ = try await test.service.subscriptions.grant(plan: "gold", to: alice, by: staff)
        let token = try await test.ask("sign_in", ["username": "alice", "password": password, "uuid": "phone"]).token
        let pair = try #require(try await test.ask("edition_credentials", ["token": token, "product_id": "issue-1"]).pair)
        let session: HTTPFields = ["Authorization": "Bearer \(try await test.service.accounts.issueSession(for: alice))"]
        let link = "/sign-in/\(try await test.service.accounts.makeSignInLink(for: alice))"
        _ = try await test.service.staff.makeSetupLink(by: staff)
        let (key, keyText) = try await test.service.accounts.createServiceKey(name: "shop", role: .service)
        let shop: HTTPFields = ["Authorization": "Bearer \(keyText)"]
        _ = try await test.service.appPasswords.create(for: alice, name: "reader", scopes: [.opds], by: staff)
        let segment = try await test.playlist(try await test.order()).segments[0]
        #expect(try await status("/admin/v1/accounts", test.service, shop) == 200)
        #expect(try await status(segment, test.service) == 200)
        #expect(try await status(link, test.service) == 200)
        #expect(try await status("/v1/shelf", test.service, session) == 200)
        try await test.service.audit.finish()
        try await backUp(test, to: backup)
        test.clock.advance(by: .seconds(60))
        try await test.service.accounts.revokeServiceKey(key.id)
        test.clock.advance(by: .seconds(1))
        for isSuspended in [true, false, true] { try await test.service.desk.setSuspended(isSuspended, alice.id, by: staff) }
        await test.service.database.close()

        let home = try Home(at: test.directory.path)
        let restored = try await CarrelService.restore(home, from: backup, clock: test.clock)
        #expect(restored.ended.sessions == 2)
        #expect(restored.ended.links == 2)
        #expect(restored.kept == home.replacedDatabasePaths[0])
        #expect(restored.backupTime == Instant(milliseconds: 1_800_000_000_000))
        let lost = restored.lost?.map(\.action).sorted()
        #expect(lost == ["account.resume", "account.suspend", "account.suspend", "service-key.revoke"])
        #expect(restored.lost?.last?.subject == alice.id)
        #expect(restored.ended.appPasswords == 1)
        let service = try await CarrelService.open(home, clock: test.clock)
        #expect(try await status("/v1/shelf", service, session) == 401)
        #expect(try await status(link, service) == 403)
        #expect(try await status(segment, service) == 403)
        #expect(try await status("/admin/v1/accounts", service, shop) == 401, "its key was revoked after the backup")
        #expect(try await count(SQL("SELECT count(*) FROM app_passwords"), service) == 0)
        #expect(await test.opening(pair, "issue-1", at: service) == .invalid)
        #expect(try await count(SQL("SELECT count(*) FROM setup_links"), service) == 0)
        let entry = try await service.database.read {
            try $0.row(SQL("SELECT reason FROM audit WHERE action = 'database.restore'"))?.text(0)
        }
        #expect(
            entry
                == "backup of 2027-01-15T08:00:00.000Z, ended: sessions 2, links 2, app passwords 1, all tickets and credentials, "
                + "all tokens and license messages"
        )
        #expect(try await count(SQL("SELECT count(*) FROM accounts WHERE suspended_at IS NOT NULL"), service) == 0)
        await service.database.close()
    }

    @Test func `without its master key makes its secrets when the key is back`() async throws {
        let (test, backup) = try await makeTest()
        let order = try await test.order()
        let segment = try await test.playlist(order).segments[0]
        try await backUp(test, to: backup)
        await test.service.database.close()
        let home = try Home(at: test.directory.path)
        let key = try #require(test.directory.read("master.key"))
        try await checkProcess(["rm", home.masterKeyPath])
        #expect(try await CarrelService.restore(home, from: backup, clock: test.clock).needsMasterKey)
        #expect(test.directory.read("master.key") == nil, "a new key would fit nothing")
        let refused = await #expect(throws: ServerError.self) { try await CarrelService.open(home, clock: test.clock) }
        #expect(refused?.code == .masterKey)
        _ = test.directory.write("master.key", key)
        try await checkProcess(["chmod", "600", home.masterKeyPath])
        let service = try await CarrelService.open(home, clock: test.clock)
        #expect(try await status(segment, service) == 403)
        #expect(try await status("/v1/stream/hls/\(order.id)/playlist.m3u8", service) == 200)
        await service.database.close()
    }

    @Test func `carries over every table of players and licenses, except for temporary tables and the numbers that it raises`() {
        let tables = [AuthorityCapability.tables, KeyStoreCapability.tables, LicensingCapability.tables].flatMap(\.keys)
        let carried = Set(CarrelService.carriedTables.map(\.table))
        #expect(Set(tables).subtracting(carried) == ["link_codes", "rights_numbers"])
    }

    /// How a backup differs from the home that it is restored into.
    enum Difference: CaseIterable {
        case installation, masterKey, masterKeyOfOldBackup, databaseWithoutKey
    }

    @Test(arguments: Difference.allCases)
    func `of another home is refused, and nothing changes`(difference: Difference) async throws {
        let (test, _) = try await makeTest()
        let (other, _) = try await makeTest()
        let backup = test.directory.file("other.db")
        let id = try await test.service.database.read { try $0.row(SQL("SELECT id FROM installation"))?.text(0) ?? "" }
        try await other.service.database.write { transaction in
            if difference != .installation { _ = try transaction.run(SQL("UPDATE installation SET id = $1"), [.text(id)]) }
            if difference == .masterKeyOfOldBackup { _ = try transaction.run(SQL("DELETE FROM master_keys")) }
        }
        try await backUp(other, to: backup)
        await other.service.database.close()
        await test.service.database.close()
        let home = try Home(at: test.directory.path)
        if difference == .installation { try await checkProcess(["cp", other.directory.file("master.key"), home.masterKeyPath]) }
        if difference == .databaseWithoutKey { try await checkProcess(["rm", home.masterKeyPath]) }
        let before = try await files(test)
        let refused = await #expect(throws: ServerError.self) {
            try await CarrelService.restore(home, from: backup, clock: test.clock)
        }
        #expect(refused?.code == (difference == .installation ? .installation : .masterKey), "\(refused?.message ?? "")")
        let after = try await files(test)
        let added = after.split(separator: "\n").filter { !before.contains($0) }
        #expect(added.allSatisfy { $0.hasSuffix("carrel.lock") }, "\(added)")
        #expect(before.split(separator: "\n").allSatisfy { after.contains($0) }, "nothing is gone or changed")
    }

    @Test func `with a separate log is refused, because its last changes are in the log`() async throws {
        let (test, backup) = try await makeTest()
        try await backUp(test, to: backup)
        await test.service.database.close()
        _ = test.directory.write("backup.db-wal", [1])
        let before = try await files(test)
        let home = try Home(at: test.directory.path)
        let refused = await #expect(throws: ServerError.self) {
            try await CarrelService.restore(home, from: backup, clock: test.clock)
        }
        #expect(refused?.code == .invalid && refused?.message.contains("write-ahead log") == true, "\(refused?.message ?? "")")
        #expect(try await files(test) == before)
    }

    @Test func `keeps every database that restores replace, up to nine`() async throws {
        let (test, backup) = try await makeTest()
        try await backUp(test, to: backup)
        _ = try await test.order()
        await test.service.database.close()
        let home = try Home(at: test.directory.path)
        let first = try await CarrelService.restore(home, from: backup, clock: test.clock)
        let replaced = try #require(test.directory.read("carrel.db.before-restore"))
        let second = try await CarrelService.restore(home, from: backup, clock: test.clock)
        #expect(first.kept == home.replacedDatabasePaths[0] && second.kept == home.replacedDatabasePaths[1])
        #expect(test.directory.read("carrel.db.before-restore") == replaced, "the newest database is in the first")
        for number in 3...9 { _ = test.directory.write("carrel.db.before-restore-\(number)", [1]) }
        let current = test.directory.read("carrel.db")
        let refused = await #expect(throws: ServerError.self) {
            try await CarrelService.restore(home, from: backup, clock: test.clock)
        }
        #expect(refused?.message.hasPrefix("9 databases of earlier restores are kept in") == true, "\(refused?.message ?? "")")
        #expect(test.directory.read("carrel.db") == current)
        #expect(test.directory.read("carrel.db.restoring") == nil)
        try await checkProcess(["rm", home.replacedDatabasePaths[0]])
        let service = try await CarrelService.open(home, clock: test.clock)
        #expect(service.blobSweep.isHeld, "another replaced database is still there")
        await service.database.close()
    }
}
