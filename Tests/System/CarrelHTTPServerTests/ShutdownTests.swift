// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPServer
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

@Suite(.serialized) struct `A server that goes down` {
    @Test func `lets requests that have begun end, and cuts idle connections`() async throws {
        let (started, release) = (Locked(0), Locked(false))
        var router = Router()
        router.on(.get, "slow") { _, _ in
            started.withLock { $0 += 1 }
            while !release.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
            return .text("done")
        }
        let server = try TestServer(workers: 2, router: router)
        let idle = try server.client()
        let clients = try (0..<6).map { _ in try server.client() }
        for client in clients { try await client.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n") }
        try await eventually("all handlers run") { started.withLock { $0 } == 6 }
        async let stopped: Void = server.stop()
        let rest = try await idle.receiveAll()
        #expect(rest.isEmpty)
        await #expect(throws: RawClient.Failure.self) {
            let late = try server.client()
            try await late.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
            _ = try await late.response()
        }
        release.withLock { $0 = true }
        for client in clients {
            let response = try await client.response()
            #expect(response.text == "done" && response["connection"]?.lowercased() == "close")
        }
        await stopped
        #expect(try await server.log(6).allSatisfy(\.isWhole))
    }

    @Test(arguments: ["handler", "stubborn", "upload", "stream", "reader"])
    func `cancels remaining requests when the grace period is over`(kind: String) async throws {
        let (started, cancelled) = (Locked(false), Locked(false))
        var router = Router()
        @Sendable func untilCancelled() async {
            started.withLock { $0 = true }
            try? await Task.sleep(for: .seconds(60))
            cancelled.withLock { $0 = true }
        }
        router.on(.get, "wait") { _, _ in
            switch kind {
            case "handler": await untilCancelled()
            case "stubborn":
                // A handler that does not listen for a second.
                started.withLock { $0 = true }
                let end = ContinuousClock.now + .seconds(1)
                while ContinuousClock.now < end { await Task.detached { try? await Task.sleep(for: .milliseconds(20)) }.value }
                cancelled.withLock { $0 = true }
            case "stream":
                return HTTPResponse(
                    body: .stream(length: nil) { writer in
                        try await writer.write([1])
                        await untilCancelled()
                    }
                )
            default:
                started.withLock { $0 = true }
                cancelled.withLock { $0 = true }
                return .bytes([UInt8](repeating: 1, count: 32 << 20), type: "a/b")
            }
            return .text("late")
        }
        router.on(.post, "wait") { request, _ in
            started.withLock { $0 = true }
            do {
                return .bytes(try await request.body.collect(upTo: 100), type: "a/b")
            } catch {
                cancelled.withLock { $0 = true }
                throw error
            }
        }
        let server = try TestServer(router: router)
        let client = try server.client(receiveBuffer: 4096)
        let length = kind == "upload" ? 10 : 0
        try await client.send(
            "\(kind == "upload" ? "POST" : "GET") /wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(length)\r\n\r\n"
        )
        try await eventually("it has begun") { started.withLock { $0 } }
        await server.server.shutdown(grace: .milliseconds(50))
        try await eventually("it is cancelled") { cancelled.withLock { $0 } }
        _ = try? await client.receiveAll()
        let log = try await server.log(1)
        #expect(log.first?.isWhole == false)
    }

    @Test func `many times under load never dies`() async throws {
        for round in 0..<8 {
            var router = Router()
            router.on(.get, "a") { _, _ in
                try await Task.sleep(for: .milliseconds(2))
                return .text("a")
            }
            router.on(.get, "s") { _, _ in
                HTTPResponse(
                    body: .stream(length: nil) { writer in
                        for _ in 0..<20 {
                            try await writer.write([UInt8](repeating: 1, count: 10_000))
                            await Task.yield()
                        }
                    }
                )
            }
            let server = try TestServer(workers: 2, router: router)
            await withTaskGroup(of: Void.self) { group in
                for i in 0..<8 {
                    group.addTask {
                        guard let client = try? server.client() else { return }
                        while true {
                            do {
                                try await client.send("GET /\(i % 2 == 0 ? "a" : "s") HTTP/1.1\r\nHost: localhost\r\n\r\n")
                                _ = try await client.response()
                            } catch {
                                return
                            }
                        }
                    }
                }
                try? await Task.sleep(for: .milliseconds(20 + round * 10))
                await server.server.shutdown(grace: round % 2 == 0 ? .zero : .milliseconds(30))
            }
        }
    }

    @Test func `frees its port and its socket's path`() async throws {
        let folder = TemporaryDirectory()
        var configuration = ServerConfiguration()
        let path = folder.file("socket")
        let port = LoopbackPort.free()
        configuration.listeners = [.tcp(address: "127.0.0.1", port: port), .unix(path: path, users: [geteuid()])]
        for _ in 0..<2 {
            var router = Router()
            router.on(.get, "who") { request, _ in .text(request.peer.description) }
            let server = HTTPServer(configuration: configuration, router: router)
            let bound = try server.start()
            #expect(bound.map(\.description) == ["http://127.0.0.1:\(port)", "unix:\(path)"])
            let other = HTTPServer(configuration: configuration, router: router)
            #expect(throws: HTTPServerError.self) { try other.start() }
            let who = try await runProcess(["curl", "-sS", "--unix-socket", path, "http://localhost/who"])
            #expect(who.text == "uid:\(geteuid())")
            await server.shutdown(grace: .seconds(1))
            #expect(unsafe access(path, F_OK) != 0)
        }
    }

    @Test func `admits only the configured users`() async throws {
        let folder = TemporaryDirectory()
        var configuration = ServerConfiguration()
        configuration.listeners = [.unix(path: folder.file("socket"), users: [geteuid() &+ 1])]
        var router = Router()
        router.on(.get, "who") { request, _ in .text(request.peer.description) }
        let server = HTTPServer(configuration: configuration, router: router)
        _ = try server.start()
        let who = try await runProcess(["curl", "-sS", "--unix-socket", folder.file("socket"), "http://localhost/who"])
        #expect(who.text.isEmpty)
        await server.shutdown(grace: .seconds(1))
    }

    @Test func `takes over a path of a dead process`() async throws {
        let folder = TemporaryDirectory()
        let path = folder.file("socket")
        try await checkProcess(["python3", "-c", "import socket; socket.socket(socket.AF_UNIX).bind('\(path)')"])
        #expect(unsafe access(path, F_OK) == 0)
        var configuration = ServerConfiguration()
        configuration.listeners = [.unix(path: path, users: [])]
        let server = HTTPServer(configuration: configuration, router: Router())
        _ = try server.start()
        await server.shutdown(grace: .seconds(1))
    }

    @Test(arguments: [
        (Listener.tcp(address: "localhost", port: 0), "server.address"), (.tcp(address: "203.0.113.1", port: 0), "server.listen"),
        (.unix(path: "/nowhere/socket", users: []), "server.listen"),
        (.unix(path: String(repeating: "a", count: 200), users: []), "server.address"),
        (.tcp(address: "127.0.0.1", port: 0, isTLS: true), "server.tls"),
    ])
    func `says why it does not start`(listener: Listener, code: String) throws {
        var configuration = ServerConfiguration()
        configuration.listeners = [listener]
        let error = #expect(throws: HTTPServerError.self) {
            try HTTPServer(configuration: configuration, router: Router()).start()
        }
        #expect(error?.code.description == code)
    }
}
