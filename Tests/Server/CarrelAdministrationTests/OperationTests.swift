// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelHTTP
import CarrelHTTPServer
import CarrelJSON
import CarrelMetrics
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelStreaming
import Testing

/// Requests of monitoring.
@Suite(.onBothDatabases)
struct `Health` {
    @Test func `is good while the server serves`() async throws {
        let test = try await TestService(.silence)
        for (path, status) in [("/healthz", "ok"), ("/readyz", "ready")] {
            let answer = try await test.send(.get, path)
            #expect(answer.status == 200)
            #expect(try JSON.parse(answer.body.rawSpan) == ["status": .string(status)])
            #expect(answer.headers["Cache-Control"] == "no-store")
            #expect(try await test.send(.head, path).status == 200)
        }
    }

    @Test func `is readiness no more once the server is to stop, though it lives`() async throws {
        let test = try await TestService(.silence)
        test.service.drain()
        let answer = try await test.call(.get, "/readyz")
        #expect(answer.status == 503)
        #expect(answer.json["code"] == "server.draining")
        #expect(try await test.call(.get, "/healthz").status == 200)
    }

    @Test func `is readiness no more without a database`() async throws {
        let test = try await TestService(.silence)
        await test.service.database.close()
        let answer = try await test.call(.get, "/readyz")
        #expect(answer.status == 503)
        #expect(answer.json["code"] == "server.database")
        #expect(answer.json["detail"] == "the database does not respond", "and no more than that")
        #expect(try await test.call(.get, "/healthz").status == 200)
    }
}

@Suite(.onBothDatabases)
struct `Metrics` {
    @Test func `are text for Prometheus, and count listeners`() async throws {
        let test = try await TestService(.silence)
        func listeners() async throws -> String? {
            let answer = try await test.send(.get, "/metrics", peer: .local(userID: 0))
            #expect(answer.status == 200)
            #expect(answer.headers["Content-Type"]?.hasPrefix("text/plain; version=0.0.4") == true)
            let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
            #expect(lines.contains("# TYPE carrel_listeners gauge"))
            return lines.first { $0.hasPrefix("carrel_listeners ") }.map(String.init)
        }
        #expect(try await listeners() == "carrel_listeners 0")
        let playlist = try await test.playlist(try await test.order())
        _ = try await test.key(of: playlist.key)
        #expect(try await listeners() == "carrel_listeners 1")
    }

    @Test func `count what SQLite's writer does`() async throws {
        let test = try await TestService(.silence)
        func value(_ name: String) -> Int? {
            let lines = test.service.metrics.text().split(separator: "\n")
            return lines.first { $0.hasPrefix("\(name) ") }.flatMap { Int($0.dropFirst(name.count + 1)) }
        }
        let names = ["carrel_store_writes_total", "carrel_store_commits_total"]
        // PostgreSQL has no writer of ours, and counts for itself.
        guard Engine.current == .sqlite else {
            #expect(names.allSatisfy { value($0) == nil })
            return
        }
        let before = try names.map { try #require(value($0)) }
        _ = try await test.order()
        for (name, before) in zip(names, before) { #expect(try #require(value(name)) > before) }
        #expect(value("carrel_store_failures_total") == 0)
        #expect(value("carrel_store_waiting_writes") == 0)
    }

    @Test func `say that reports on unknown orders alone take nothing of the writer's time`() async throws {
        let test = try await TestService(.silence)
        func writes() -> String? {
            test.service.metrics.text().split(separator: "\n").first { $0.hasPrefix("carrel_store_writes_total ") }.map(
                String.init
            )
        }
        let unknown: JSON = [
            "id": "00000000-0000-4000-8000-000000000000", "startUtc": "2027-01-15T08:00:00Z", "endUtc": "2027-01-15T08:00:10Z",
            "startPosition": 0, "endPosition": 10,
        ]
        let before = writes()
        let answer = try await test.call(.post, "/v2/states", body: [unknown, 7, unknown])
        #expect(answer.status == 200 && answer.json["accepted"] == 0)
        #expect(answer.json["rejected"]?.array?.map { $0["code"]?.string } == ["unknown-order", "malformed", "unknown-order"])
        #expect(writes() == before)
    }

    @Test func `stay readable despite reports with too many values, which are refused`() async throws {
        let test = try await TestService(.silence)
        let many = JSON.array([JSON](repeating: .array([]), count: 200_000))
        let refused = try await test.call(.post, "/v2/states", body: many)
        #expect(refused.status == 400 && refused.json["detail"]?.string?.contains("too many values") == true)
        let long = JSON.array([.string(String(repeating: "a", count: 2 << 20))])
        #expect(try await test.call(.post, "/v2/states", body: long).status == 413)
    }

    @Test(arguments: [true, false]) func `are not for loopback addresses where a proxy is in front`(isPublic: Bool) async throws {
        let test = try await TestService(.silence) { settings in
            if isPublic { settings.stream.publicURL = "https://books.example.org" } else { settings.trustsLoopback = false }
        }
        func send(_ request: HTTPRequest) async -> HTTPResponse { await test.service.router.respond(to: request) }
        #expect(await send(HTTPRequest(.get, "/metrics")).status == .unauthorized)
        #expect(await send(HTTPRequest(.get, "/metrics", peer: .local(userID: 0))).status == .ok)
        let key = try await test.service.accounts.createServiceKey(name: "prometheus", role: .service).text
        #expect(await send(HTTPRequest(.get, "/metrics", headers: ["Authorization": "Bearer \(key)"])).status == .ok)
        // Staff sign in over TLS alone: the line between the proxy and its client is not known to be safe.
        let page = HTTPRequest(
            .post,
            "/admin/v1/session",
            headers: ["Sec-Fetch-Site": "same-origin", "X-Carrel-Admin": "1", "Content-Type": "application/json"],
            body: Array(#"{"name":"ada","password":"long enough"}"#.utf8)
        )
        let refused = await send(page)
        guard case .bytes(let bytes) = refused.body else { throw HTTPError(.internalServerError, "test") }
        #expect(refused.status == .forbidden && String(decoding: bytes, as: UTF8.self).contains("staff.tls"))
    }

    @Test func `are for this machine and for keys, and not for whom a proxy lets in`() async throws {
        let test = try await TestService(.silence)
        let (here, elsewhere) = (Peer.network(address: "127.0.0.1", port: 1), Peer.network(address: "192.0.2.1", port: 1))
        func status(_ peer: Peer, _ headers: HTTPFields = [:], authority: String = "localhost:8080") async -> Int {
            let request = HTTPRequest(.get, "/metrics", headers: headers, peer: peer, authority: authority)
            return await test.service.router.respond(to: request).status.rawValue
        }
        #expect(await status(here) == 200)
        #expect(await status(.network(address: "::1", port: 1), authority: "[::1]:8080") == 200)
        #expect(await status(elsewhere) == 401)
        #expect(await status(here, authority: "books.example.org") == 401, "a proxy on this machine")
        for name in ["Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"] {
            #expect(await status(here, [name: "1"]) == 401, "\(name)")
        }
        let key = try await test.service.accounts.createServiceKey(name: "prometheus", role: .service).text
        #expect(await status(elsewhere, ["Authorization": "Bearer \(key)"]) == 200)
    }
}
