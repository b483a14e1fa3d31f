// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import CarrelHTTP
import CarrelHTTPServer
import CarrelThreads
import Testing

@Suite(.serialized) struct `Bodies that are made side by side` {
    struct Broken: Error {}

    /// Turns every byte of a draft round, and says how many came together.
    final class Turning: BodyGroup {
        let sizes = Locked<[Int]>([])
        let fails = Locked(false)

        func finish(_ drafts: [BodyDraft]) throws {
            if fails.withLock({ $0 }) { throw Broken() }
            sizes.withLock { $0.append(drafts.count) }
            for draft in drafts {
                for i in unsafe draft.bytes.indices { unsafe draft.bytes[i] = ~draft.bytes[i] }
            }
        }
    }

    final class Source: GroupedBodySource, @unchecked Sendable {  // read by one thread
        let group: any BodyGroup
        private let byte: UInt8
        private let count: Int
        private let isShort: Bool
        private var left: Int

        init(_ group: any BodyGroup, byte: UInt8, count: Int, isShort: Bool = false) {
            self.group = group
            self.byte = byte
            self.count = count
            self.isShort = isShort
            left = count
        }

        func draft(into out: inout OutputRawSpan) throws {
            for _ in 0..<(isShort ? count - 1 : count) { out.append(~byte) }
        }

        func read(into out: inout OutputRawSpan) throws {
            let n = min(left, out.freeCapacity)
            for _ in 0..<n { out.append(byte) }
            left -= n
        }
    }

    /// `/{number}`: that many bytes of that number; `/hold` keeps the worker busy until `released`.
    private func routes(_ group: Turning, _ released: Locked<Bool> = Locked(true)) -> (inout Router) -> Void {
        { router in
            router.on(.get, "hold") { _, _ in
                while !released.withLock({ $0 }) {}
                return HTTPResponse(body: .bytes([1]))
            }
            router.on(.get, "short") { _, _ in
                HTTPResponse(body: .grouped(length: 10, Source(group, byte: 1, count: 10, isShort: true)))
            }
            router.on(.get, "of/{number}") { _, parameters in
                let number = Int(parameters["number"]) ?? 0
                return HTTPResponse(
                    body: .grouped(length: number, Source(group, byte: UInt8(truncatingIfNeeded: number), count: number))
                )
            }
        }
    }

    private func ask(_ server: TestServer, _ paths: [String]) async throws -> [RawClient] {
        var clients: [RawClient] = []
        for path in paths {
            let client = try server.client()
            try await client.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            clients.append(client)
        }
        return clients
    }

    @Test(arguments: [1, 2, 15, 16, 17, 40])
    func `go each to who asked for it, and those that wait at the same moment are made together`(count: Int) async throws {
        let (group, released) = (Turning(), Locked(false))
        try await withServer(routes(group, released)) { server in
            // while the worker is busy the requests come in, so that it finds them all together
            let holder = try server.client()
            try await holder.send("GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let clients = try await ask(server, (1...count).map { "/of/\($0 * 100)" })
            try await Task.sleep(for: .milliseconds(50))
            released.withLock { $0 = true }
            #expect(try await holder.response().body == [1])
            for (i, client) in clients.enumerated() {
                let number = (i + 1) * 100
                let response = try await client.response()
                #expect(response.status == 200)
                #expect(response.body == [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number))
                // and the connection stays open
                try await client.send("GET /of/7 HTTP/1.1\r\nHost: localhost\r\n\r\n")
                #expect(try await client.response().body == [UInt8](repeating: 7, count: 7))
            }
            let sizes = group.sizes.withLock { $0 }
            #expect(sizes.reduce(0, +) == 2 * count)
            #expect(sizes.allSatisfy { $0 <= 16 })
            // two may miss each other on a slow machine; of many, some meet
            #expect((sizes.max() ?? 0) >= (count < 15 ? 1 : 2), "\(sizes)")
        }
    }

    @Test(arguments: ["HEAD", "GET"])
    func `too long for a buffer are read block by block, and HEAD makes nothing`(method: String) async throws {
        let group = Turning()
        try await withServer(routes(group)) { server in
            let path = method == "HEAD" ? "/of/1000" : "/of/300000"
            let response = try await server.get(path, method: method)
            #expect(response["content-length"] == String(path.dropFirst(4)))
            #expect(response.body.count == (method == "HEAD" ? 0 : 300_000))
            #expect(response.body.allSatisfy { $0 == UInt8(truncatingIfNeeded: 300_000) })
            #expect(group.sizes.withLock { $0 }.isEmpty)
        }
    }

    @Test func `that cannot be drafted or made are an error that can be understood`() async throws {
        let group = Turning()
        try await withServer(routes(group)) { server in
            #expect(try await server.get("/short").status == 500)
            group.fails.withLock { $0 = true }
            let clients = try await ask(server, ["/of/10", "/of/20", "/of/30"])
            for client in clients {
                let response = try await client.response()
                #expect(response.status == 500)
                #expect(response.text.contains("http.internal"))
            }
            group.fails.withLock { $0 = false }
            #expect(try await server.get("/of/5").body == [5, 5, 5, 5, 5])
        }
    }

    @Test(arguments: 0..<8)
    func `reach the others when some clients have gone`(gone: Int) async throws {
        let (group, released) = (Turning(), Locked(false))
        try await withServer(routes(group, released)) { server in
            let holder = try server.client()
            try await holder.send("GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let clients = try await ask(server, (1...8).map { "/of/\($0)" })
            try await Task.sleep(for: .milliseconds(20))
            // the first, which the others may wait for, the last, or one between
            clients[gone].reset()
            released.withLock { $0 = true }
            for (i, client) in clients.enumerated() where i != gone {
                #expect(try await client.response().body.count == i + 1)
            }
        }
    }

    @Test func `of several workers are made together, and each goes to the one that asked`() async throws {
        let group = Turning()
        try await withServer(routes(group), workers: 3) { server in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for i in 1...24 {
                    tasks.addTask {
                        let client = try server.client()
                        for round in 0..<40 {
                            let number = i * 100 + round
                            try await client.send("GET /of/\(number) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                            let body = try await client.response().body
                            #expect(body == [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number))
                        }
                    }
                }
                try await tasks.waitForAll()
            }
            #expect(group.sizes.withLock { $0.reduce(0, +) } == 24 * 40)
        }
    }

    @Test func `reach the others when a client of another worker has gone`() async throws {
        let group = Turning()
        try await withServer(routes(group), workers: 2) { server in
            for round in 0..<30 {
                let clients = try await ask(server, (1...8).map { "/of/\($0 * 1000)" })
                clients[round % 8].reset()
                for (i, client) in clients.enumerated() where i != round % 8 {
                    #expect(try await client.response().body.count == (i + 1) * 1000)
                }
            }
        }
    }

    @Test func `end with a server that is stopped without patience`() async throws {
        for round in 0..<20 {
            let group = Turning()
            var router = Router()
            routes(group)(&router)
            let server = try TestServer(workers: 1 + round % 3, router: router)
            let clients = try await ask(server, (1...12).map { "/of/\($0)" })
            if round % 2 == 1 { try await Task.sleep(for: .milliseconds(round / 4)) }
            await server.server.shutdown(grace: .zero)
            for client in clients { client.hangUp() }
        }
    }
}
