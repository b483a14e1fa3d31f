// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelPostgres
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

/// The view of apps and monitors of a database that hangs, refuses writes or is full.
struct `A service whose database` {
    private let operatorPeer = Peer.local(userID: getuid())

    private struct Fixture {
        let directory = TemporaryDirectory()
        let postgres: PrivatePostgres
        let service: CarrelService

        init() async throws {
            postgres = try await PrivatePostgres.own()
            let database = try PostgresDatabase(
                try await postgres.newDatabase(),
                migrations: Schema.migrations,
                connections: 4
            )
            service = try await CarrelService.open(try Home(at: directory.path), database: database, missing: .create)
        }
    }

    private func timed(
        _ service: CarrelService,
        _ target: String,
        _ peer: Peer = .network(address: "192.0.2.1", port: 1),
        _ headers: HTTPFields = [:]
    ) async throws -> (status: Int, json: JSON, headers: HTTPFields, time: Duration) {
        let began = ContinuousClock.now
        let response = await service.router.respond(to: HTTPRequest(.get, target, headers: headers, peer: peer))
        let time = ContinuousClock.now - began
        let body = try await response.body.collect(upTo: 1 << 20)
        return (response.status.rawValue, (try? JSON.parse(body.rawSpan)) ?? .null, response.headers, time)
    }

    /// It once took more than 40 seconds until `/readyz` answered.
    @Test func `hangs is told by every health check within two seconds`() async throws {
        let fixture = try await Fixture()
        let service = fixture.service
        let key = try await service.accounts.createServiceKey(name: "watch", role: .service).text
        #expect(try await timed(service, "/readyz").status == 200)
        try fixture.postgres.freeze()
        // Requests that hang hold every connection there is.
        let held = (0..<4).map { _ in Task { try await timed(service, "/v1/orders", operatorPeer) } }
        for round in 1...2 {
            let ready = try await timed(service, "/readyz")
            #expect(ready.status == 503 && ready.json["code"] == "server.database")
            #expect(ready.json["detail"] == "the database does not respond")
            #expect(ready.headers["Retry-After"] != nil)
            let alive = try await timed(service, "/healthz")
            #expect(alive.status == 200 && alive.json == ["status": "ok", "away": ["database"]])
            let health = try await timed(service, "/admin/v1/health", operatorPeer)
            #expect(health.status == 200 && health.json["ready"] == false)
            #expect(health.json["database"]?["answers"] == false && health.json["database"]?["state"] == "away")
            let remote = try await timed(service, "/admin/v1/health", headers(key))
            #expect(remote.status == 503)
            for (name, answer) in [("readyz", ready), ("healthz", alive), ("health", health), ("by key", remote)] {
                #expect(answer.time < .seconds(2), "\(name) in round \(round)")
            }
        }
        for task in held {
            let answer = try await task.value
            #expect(answer.status == 503 && answer.json["code"] == "store.unavailable")
            #expect(answer.headers["Retry-After"] != nil)
            #expect(answer.time < .seconds(12))
        }
        try fixture.postgres.thaw()
        let began = ContinuousClock.now
        while try await timed(service, "/readyz").status != 200, .now - began < .seconds(10) {}
        #expect(try await timed(service, "/v1/orders", operatorPeer).status == 200)
        await service.database.close()
    }

    private func timed(
        _ service: CarrelService,
        _ target: String,
        _ headers: HTTPFields
    ) async throws -> (status: Int, json: JSON, headers: HTTPFields, time: Duration) {
        try await timed(service, target, .network(address: "192.0.2.1", port: 1), headers)
    }

    private func headers(_ key: String) -> HTTPFields { ["Authorization": "Bearer \(key)"] }

    @Test func `has gone is 503 for apps, which keep what they knew`() async throws {
        let fixture = try await Fixture()
        let account = try await fixture.service.accounts.findOrCreate(named: "alice")
        let token = try await fixture.service.accounts.issueSession(for: account)
        await fixture.postgres.shutDown()
        for target in [
            "/verify_subscription/?token=\(token)", "/v2/states/latest/00000000-0000-4000-8000-000000000000", "/v1/orders",
        ] {
            let answer = try await timed(fixture.service, target, operatorPeer)
            #expect(answer.status == 503 && answer.headers["Retry-After"] != nil, "\(target)")
        }
        #expect(try await timed(fixture.service, "/readyz").status == 503)
        await fixture.service.database.close()
    }

    static let states: [(StoreError.Code, Int, String, String)] = [
        (.readOnly, 503, "server.database.read-only", "read-only"), (.full, 507, "server.database.full", "full"),
    ]

    /// Reads continue: read-only requests may continue to use such a node.
    @Test(arguments: states)
    func `takes no writes is told by writes and by readiness`(
        code: StoreError.Code,
        status: Int,
        problem: String,
        state: String
    ) async throws {
        let test = try await TestService()
        let database = UnwritableDatabase(test.service.database, StoreError(code, "the disk says so"))
        let service = try await CarrelService.open(test.service.home, database: database, clock: test.clock)
        database.isUnwritable.withLock { $0 = true }
        let body = Array(#"{"account": "bob"}"#.utf8)
        let write = HTTPRequest(
            .post,
            "/admin/v1/sessions",
            headers: ["Content-Type": "application/json"],
            body: body,
            peer: operatorPeer
        )
        let answer = await service.router.respond(to: write)
        #expect(answer.status.rawValue == status && answer.headers["Retry-After"] != nil)
        let ready = try await timed(service, "/readyz")
        #expect(ready.status == 503 && ready.json["code"] == .string(problem))
        #expect(try await timed(service, "/readyz?for=reading").status == 200)
        #expect(try await timed(service, "/v1/orders", operatorPeer).status == 200)
        let health = try await timed(service, "/admin/v1/health", operatorPeer)
        #expect(health.json["ready"] == false && health.json["database"]?["state"] == .string(state))
        #expect(try await timed(service, "/healthz").json == ["status": "ok"])
        database.isUnwritable.withLock { $0 = false }
        #expect(try await timed(service, "/readyz").status == 200)
    }
}
