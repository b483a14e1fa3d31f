// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPServer
import CarrelTesting
import CarrelThreads
import Testing

struct `A server on a machine without threads` {
    /// Starts at most `count` threads.
    private static func starter(_ count: Int) -> ThreadStarter {
        let left = Locked(count)
        return ThreadStarter { name, body throws(ThreadRefused) in
            let isLeft = left.withLock { left in
                left -= 1
                return left >= 0
            }
            guard isLeft else { throw ThreadRefused(status: 11) }
            try ThreadStarter.system.start(name: name, body)
        }
    }

    private static func server(_ port: UInt16, _ threads: ThreadStarter) -> HTTPServer {
        var router = Router()
        router.on(.get, "a") { _, _ in .text("a") }
        var configuration = ServerConfiguration()
        configuration.listeners = [.tcp(address: "127.0.0.1", port: port)]
        configuration.workers = 1
        configuration.threads = threads
        return HTTPServer(configuration: configuration, router: router)
    }

    @Test(arguments: 0..<3) func `does not start, says why, and leaves its address to the next one`(count: Int) async throws {
        let first = Self.server(0, .system)
        guard case .tcp(_, let port, _) = try #require(try first.start().first) else { return }
        await first.shutdown(grace: .zero)
        let error = #expect(throws: HTTPServerError.self) { try Self.server(port, Self.starter(count)).start() }
        #expect(error?.code == .resources)
        #expect(error?.message == "the system refused a thread (error 11): end other programs, or raise the limit")
        let next = Self.server(port, .system)
        _ = try next.start()
        await next.shutdown(grace: .zero)
    }

    @Test func `stops, although no thread is there for it`() async throws {
        let server = Self.server(0, Self.starter(3))
        _ = try server.start()
        await server.shutdown(grace: .zero)
    }
}
