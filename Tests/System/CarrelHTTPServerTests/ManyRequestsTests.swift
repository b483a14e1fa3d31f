// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPServer
import CarrelThreads
import Glibc
import CarrelTesting
import Testing

struct `Requests that arrive together` {
    /// libmicrohttpd takes 128 events at a time.
    @Test(.timeLimit(.minutes(1)), arguments: [128, 256])
    func `are answered`(count: Int) async throws {
        let isHeld = Locked(true)
        let isHolding = Locked(false)
        try await withServer { router in
            router.on(.get, "hold") { _, _ in
                isHolding.withLock { $0 = true }
                // What keeps the only worker, so that all others come while it is away.
                while isHeld.withLock({ $0 }) { usleep(1000) }
                return .text("held")
            }
            router.on(.get, "tiny") { _, _ in .text("tiny") }
        } _: { server in
            let request = "GET /tiny HTTP/1.1\r\nHost: localhost\r\n\r\n"
            let clients = try (0..<count).map { _ in try server.client() }
            for client in clients {
                try await client.send(request)
                #expect(try await client.response().status == 200)
            }
            let holder = try server.client()
            try await holder.send("GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n")
            while !isHolding.withLock({ $0 }) { await Task.yield() }
            for client in clients { try await client.send(request) }
            isHeld.withLock { $0 = false }
            for client in clients { #expect(try await client.response().status == 200) }
            #expect(try await holder.response().status == 200)
        }
    }
}
