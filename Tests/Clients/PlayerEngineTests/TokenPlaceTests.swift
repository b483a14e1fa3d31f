// SPDX-License-Identifier: Apache-2.0

import CarrelHTTPClient
import CarrelTesting
import Testing

@testable import CarrelPlayer

struct `The address in a token` {
    private func fetch(_ url: String, of server: String) async -> PlayerError? {
        await #expect(throws: PlayerError.self) {
            let server = try PlayerServer(server, client: HTTPClient(), listener: nil)
            _ = try await server.bytes(at: url, atMost: 1024)
        }
    }

    @Test(arguments: [
        "http://127.0.0.1:9", "https://127.8.9.1/x", "https://localhost:8443/x", "http://[::1]:9/", "https://0.0.0.0:9/",
        "https://[::ffff:127.0.0.1]:9/", "https://[::]/",
    ])
    func `leads a device to the device itself only if its server is there`(_ url: String) async {
        #expect(await fetch(url, of: "https://library.example")?.code == .rejected)
        #expect(await fetch(url, of: "http://127.0.0.1:1")?.code != .rejected)
    }
}
