import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelServer
import CarrelStore
import Testing

/// What watches over the server asks it.
@Suite(.onBothDatabases)
struct `Health` {
    @Test func `is good while the server serves`() async throws {
        let test = try await TestService()
        for (path, status) in [("/healthz", "ok"), ("/readyz", "ready")] {
            let answer = try await test.send(.get, path)
            #expect(answer.status == 200)
            #expect(try JSON.parse(answer.body.rawSpan) == ["status": .string(status)])
            #expect(answer.headers["Cache-Control"] == "no-store")
            #expect(try await test.send(.head, path).status == 200)
        }
    }

    @Test func `is readiness no more once the server is to stop, though it lives`() async throws {
        let test = try await TestService()
        test.service.drain()
        let answer = try await test.call(.get, "/readyz")
        #expect(answer.status == 503)
        #expect(answer.json["code"] == "server.draining")
        #expect(try await test.call(.get, "/healthz").status == 200)
    }

    @Test func `is readiness no more without a database`() async throws {
        let test = try await TestService()
        await test.service.database.close()
        let answer = try await test.call(.get, "/readyz")
        #expect(answer.status == 503)
        #expect(answer.json["code"] == "server.database")
        #expect(answer.json["detail"] == "the database does not answer", "and no more than that")
        #expect(try await test.call(.get, "/healthz").status == 200)
    }
}

struct `Metrics` {
    @Test func `are text for Prometheus, and count listeners`() async throws {
        let test = try await TestService()
        func listeners() async throws -> String? {
            let answer = try await test.send(.get, "/metrics")
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

    @Test func `count what the database's writer does`() async throws {
        let test = try await TestService()
        func value(_ name: String) -> Int? {
            let lines = test.service.metrics.text().split(separator: "\n")
            return lines.first { $0.hasPrefix("\(name) ") }.flatMap { Int($0.dropFirst(name.count + 1)) }
        }
        let names = ["carrel_store_writes_total", "carrel_store_commits_total"]
        let before = try names.map { try #require(value($0)) }
        _ = try await test.order()
        for (name, before) in zip(names, before) { #expect(try #require(value(name)) > before) }
        #expect(value("carrel_store_failures_total") == 0)
        #expect(value("carrel_store_waiting_writes") == 0)
    }
}
