// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient
import CarrelTesting
import CarrelThreads
import Testing

struct `A client without a thread` {
    @Test func `fails its requests, and serves them when there is one`() async throws {
        let server = LoopbackServer { connection in
            while connection.readRequest() != nil, connection.respond(200) {}
        }
        let isOut = Locked(true)
        var configuration = HTTPClientConfiguration()
        configuration.threads = ThreadStarter { name, body throws(ThreadRefused) in
            guard !isOut.withLock({ $0 }) else { throw ThreadRefused(status: 11) }
            try ThreadStarter.system.start(name: name, body)
        }
        let client = HTTPClient(configuration: configuration)
        let request = ClientRequest("http://127.0.0.1:\(server.port)/")
        let error = await #expect(throws: HTTPClientError.self) { try await client.send(request) }
        #expect(error?.code == .failed && error?.message.contains("refused a thread") == true)
        isOut.withLock { $0 = false }
        #expect(try await client.send(request).status.rawValue == 200)
    }
}
