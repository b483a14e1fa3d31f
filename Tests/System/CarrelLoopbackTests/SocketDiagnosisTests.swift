// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

@testable import CarrelLoopback

/// The question to the kernel whose the client is.
@Suite(.serialized) struct `The kernel's list of sockets` {
    private func withServer(
        open: @escaping @Sendable () -> Int32,
        _ body: (_ get: () async throws -> ClientResponse, _ failures: () -> [Int32]) async throws -> Void
    ) async throws {
        let failures = Locked<[Int32]>([])
        var configuration = SessionServer.Configuration()
        configuration.lookupFailed = { number in failures.withLock { $0.append(number) } }
        let server = SessionServer(configuration, SocketDiagnosis(open: open))
        let area = LoopbackSession.Area(["media"])
        server.add(LoopbackSession([area]) { _ in .text("served") })
        let origin = try server.start()
        let client = HTTPClient()
        do {
            try await body(
                { try await client.send(ClientRequest("\(origin)/media/\(area.token.text)/a")) },
                { failures.withLock { $0 } }
            )
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    private func check(_ get: () async throws -> ClientResponse, _ status: HTTPStatus) async throws {
        let response = try await get()
        #expect(response.status == status)
    }

    @Test func `is asked over one socket that stays open`() async throws {
        let opened = Locked(0)
        try await withServer {
            opened.withLock { $0 += 1 }
            return SocketDiagnosis.newSocket()
        } _: { get, failures in
            for _ in 0..<50 { try await check(get, .ok) }
            #expect(opened.withLock { $0 } == 1 && failures().isEmpty)
        }
    }

    /// It used to be 403, as for another user of the machine, which ended the playback of the user's own player.
    @Test func `is reported with 503 when it cannot be had, and asked again for the next request`() async throws {
        let isFull = Locked(true)
        try await withServer {
            isFull.withLock { $0 } ? -EMFILE : SocketDiagnosis.newSocket()
        } _: { get, failures in
            for count in 1...3 {
                let response = try await get()
                #expect(response.status == .serviceUnavailable && response.headers["Retry-After"] == "1")
                #expect(String(decoding: response.body, as: UTF8.self).contains("loopback.unknown-user"))
                #expect(failures() == [Int32](repeating: EMFILE, count: count))
            }
            isFull.withLock { $0 = false }
            try await check(get, .ok)
        }
    }

    @Test func `is asked over a new socket when the old one fails`() async throws {
        let opened = Locked(0)
        try await withServer {
            // the first one is not a socket
            let count = opened.withLock { count in
                count += 1
                return count
            }
            return count % 2 == 1 ? unsafe open("/dev/null", O_RDWR | O_CLOEXEC) : SocketDiagnosis.newSocket()
        } _: { get, failures in
            try await check(get, .serviceUnavailable)
            #expect(failures() == [ENOTSOCK])
            for _ in 0..<3 { try await check(get, .ok) }
            #expect(opened.withLock { $0 } == 2)
        }
    }
}
