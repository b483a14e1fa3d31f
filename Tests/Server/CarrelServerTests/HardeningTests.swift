// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelOrders
import CarrelRestoring
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import Glibc
import Testing

struct `The master key` {
    private func service() async throws -> TestService {
        let test = try await TestService(.silence)
        _ = try await test.order()
        return test
    }

    @Test func `is rotated by one at a time, so that no key is lost`() async throws {
        let test = try await service()
        let home = try Home(at: test.directory.path)
        let lock = try FileLock(home.masterKeyPath + ".lock", taken: "taken")
        let answer = try await test.call(.post, "/admin/v1/master-key/rotate", peer: .local(userID: 0))
        #expect(answer.status == 409)
        #expect(try MasterKeyring(of: home).current == 1)
        withExtendedLifetime(lock) {}
    }

    @Test func `survives concurrent rotations`() async throws {
        let test = try await service()
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask { _ = try? await test.call(.post, "/admin/v1/master-key/rotate", peer: .local(userID: 0)) }
            }
        }
        let again = try await CarrelService.open(
            try Home(at: test.directory.path),
            database: test.service.database,
            clock: test.clock
        )
        let order = try #require(try await again.orders.list(.init()).first?.order)
        #expect(try await again.orders.grant(order.id)?.key.count == 16)
    }

    @Test func `of a systemd credential is not rotated, even where an old file lies in the home`() async throws {
        let test = try await service()
        let credentials = TemporaryDirectory()
        let home = try Home(at: test.directory.path)
        let text = "7 " + String(repeating: "ab", count: 32) + "\n"
        let path = credentials.write("carrel-master-key", Array(text.utf8))
        _ = unsafe chmod(path, 0o600)
        var keyring = try MasterKeyring(of: home, credentials: credentials.path)
        #expect(keyring.current == 7)
        let caught = #expect(throws: ServerError.self) { try keyring.addKey(savingTo: home) }
        #expect(caught?.code == .masterKey)
    }

    @Test func `removes the remains of a process that died while it wrote`() async throws {
        let test = try await service()
        let left = test.directory.write("master.key.123.new", [1, 2, 3])
        _ = try await test.call(.post, "/admin/v1/master-key/rotate", peer: .local(userID: 0))
        #expect(unsafe access(left, F_OK) != 0)
        #expect(try MasterKeyring(of: try Home(at: test.directory.path)).current == 2)
    }
}

@Suite(.onBothDatabases)
struct `Two concurrent requests` {
    @Test func `no key is issued for an order that was canceled meanwhile`() async throws {
        let test = try await TestService(.silence)
        let order = try await test.order()
        let playlist = try await test.playlist(order)
        // another process on the same database, which this one has not heard of yet
        let other = try await test.another()
        _ = try await other.orders.cancel(order.id)
        let answer = try await test.call(.get, test.path(of: playlist.key))
        #expect(answer.status == 403)
        #expect(answer.json["reason"] == "cancelled")
        #expect(try await test.service.orders.find(order.id).state == .cancelled)
    }

    @Test func `the shelf shows the newest of very many orders`() async throws {
        let test = try await TestService(.silence)
        for _ in 0..<1001 {
            test.clock.advance(by: .milliseconds(1))
            _ = try await test.order()
        }
        test.clock.advance(by: .milliseconds(1))
        let newest = try await test.order()
        let account = try await test.service.accounts.findOrCreate(named: "alice")
        let token = try await test.service.accounts.issueSession(for: account)
        let shelf = try await test.call(.get, "/v1/shelf", headers: ["Authorization": "Bearer \(token)"])
        #expect(shelf.json["items"]?.array?.count == 500)
        #expect(shelf.json["items"]?.array?.first?["order"]?.string == newest.id)
        #expect(shelf.json["next"]?.string != nil)
    }

    @Test func `a preview of a sign-in link does not use it up`() async throws {
        let test = try await TestService(.silence)
        let account = try await test.service.accounts.findOrCreate(named: "alice")
        let link = "/sign-in/\(try await test.service.accounts.makeSignInLink(for: account))"
        for method in [HTTPMethod.head, .get, .head, .get] {
            let preview = try await test.send(method, link)
            #expect(preview.status == 200)
            #expect(preview.headers["Set-Cookie"] == nil)
        }
        let visit = try await test.send(.post, link, headers: ["Origin": "http://localhost"])
        #expect(visit.headers["Set-Cookie"]?.hasPrefix("carrel_session=cs_") == true)
        #expect(try await test.send(.get, link).status == 403)
    }
}

struct `A database that is put back` {
    @Test func `leaves what could not be opened whole, with its log`() async throws {
        let test = try await TestService(.silence)
        let home = try Home(at: test.directory.path)
        let backup = "\(test.directory.path)/backup.db"
        let sqlite = try SQLiteDatabase(path: home.databasePath, migrations: Schema.migrations)
        try await sqlite.backup(to: backup)
        await sqlite.close()
        await test.service.database.close()
        // a database that this version does not open: opening fails, and its log is not emptied
        let newer =
            Schema.migrations + [
                Migration(
                    version: Schema.migrations.count + 1,
                    name: "of the future",
                    statements: [SQL("CREATE TABLE future (x BIGINT)")]
                )
            ]
        let future = try SQLiteDatabase(path: home.databasePath, migrations: newer)
        try await future.write { _ = try $0.run(SQL("INSERT INTO future (x) VALUES (1)")) }
        let log = try #require(test.directory.read("carrel.db-wal"))
        #expect(!log.isEmpty)
        let result = try await CarrelService.restore(home, from: backup)
        #expect(result.lost == nil, "what it recorded is unknown")
        #expect(test.directory.read("carrel.db.before-restore-wal") == log)
        await future.close()
        let restored = try await CarrelService.open(home, clock: test.clock)
        #expect(try await restored.orders.list(.init()).isEmpty)
        await restored.database.close()
    }

    @Test func `is not put back under a server that runs`() async throws {
        let test = try await TestService(.silence)
        let home = try Home(at: test.directory.path)
        let lock = try FileLock(home.lockPath, taken: "a server runs")
        let backup = test.directory.write("backup", [1])
        let caught = await #expect(throws: ServerError.self) { try await CarrelService.restore(home, from: backup) }
        #expect(caught != nil)
        withExtendedLifetime(lock) {}
    }
}
