// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelLicenseKeys
import CarrelMedia
import CarrelTesting
import CarrelThreads
import Testing

struct `The client of media` {
    @Test func `follows no redirect to plain http of another origin`() async throws {
        let other = LoopbackServer { connection in
            while connection.readRequest() != nil { connection.respond(body: Array("key".utf8)) }
        }
        let place = "http://127.0.0.1:\(other.port)/key"
        let server = LoopbackServer { connection in
            while connection.readRequest() != nil { connection.respond(302, ["Location: \(place)"]) }
        }
        let error = await #expect(throws: MediaError.self) {
            try await HTTPMediaClient().get("http://127.0.0.1:\(server.port)/key", fields: [], limit: 64)
        }
        #expect(error?.code == .unavailable)
        #expect(server.connectionCount == 1 && other.connectionCount == 0)
        #expect(try await HTTPMediaClient().get(place, fields: [], limit: 64).body == Array("key".utf8))
    }
}
