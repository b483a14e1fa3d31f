// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import CarrelHTTP
import CarrelHTTPServer
import CarrelMetrics
import CarrelThreads
import Testing

/// A server on a loopback port of its own, with what it logged.
final class TestServer: Sendable {
    let server: HTTPServer
    let port: UInt16
    let metrics = MetricsRegistry()
    private let records = Locked<[AccessRecord]>([])

    init(
        _ configuration: ServerConfiguration = patient,
        workers: Int = 1,
        router: Router
    ) throws {
        var configuration = configuration
        configuration.workers = workers
        let records = records
        server = HTTPServer(
            configuration: configuration,
            router: router,
            log: { record in records.withLock { $0.append(record) } },
            metrics: metrics
        )
        port = try #require(try server.start().first?.port)
    }

    func client(receiveBuffer: Int32? = nil) throws -> RawClient {
        try RawClient(port: port, receiveBuffer: receiveBuffer)
    }

    /// Sends one request on a connection of its own.
    func get(_ target: String, _ headers: String = "", method: String = "GET") async throws -> RawResponse {
        let client = try client()
        try await client.send("\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n")
        return try await client.response(toHead: method == "HEAD")
    }

    /// The log, once there are `count` records.
    func log(_ count: Int) async throws -> [AccessRecord] {
        for _ in 0..<2000 {
            let now = records.withLock { $0 }
            if now.count >= count { return now }
            try await Task.sleep(for: .milliseconds(5))
        }
        Issue.record("\(records.withLock { $0.count }) records instead of \(count)")
        return []
    }

    func stop() async {
        await server.shutdown(grace: .seconds(5))
    }
}

/// Deadlines that a busy machine keeps.
let patient = {
    var configuration = ServerConfiguration()
    configuration.headerDeadline = .seconds(60)
    configuration.bodyDeadline = .seconds(60)
    return configuration
}()

/// Runs `body` with a server and stops it.
func withServer(
    _ routes: (inout Router) -> Void,
    configuration: ServerConfiguration = patient,
    workers: Int = 1,
    _ body: (TestServer) async throws -> Void
) async throws {
    var router = Router()
    routes(&router)
    let server = try TestServer(configuration, workers: workers, router: router)
    do {
        try await body(server)
    } catch {
        await server.stop()
        throw error
    }
    await server.stop()
}

/// Waits until the condition holds, for ten seconds.
func eventually(_ what: String, _ condition: () async throws -> Bool) async throws {
    for _ in 0..<2000 {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("never: \(what)")
}
