// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelTesting
import CarrelThreads
import Testing

@testable import CarrelHTTPClient

/// A name that led to the Internet and is bound to an address of the user's network afterwards (DNS rebinding).
struct `A named origin` {
    private static let inside: [UInt8] = [192, 168, 1, 1]
    private static let outside: [UInt8] = [8, 8, 8, 8]

    private func allows(_ origins: NamedOrigins, _ address: [UInt8], _ url: String = "http://a.example/film.mpd") -> Bool {
        AddressRule.named(origins).resolved(for: url).allows(address)
    }

    @Test func `may be in the user's network as long as it was never outside`() {
        let origins = NamedOrigins(of: ["http://a.example/film.mpd", "https://b.example:8443"])
        let rule = AddressRule.named(origins)
        #expect(allows(origins, Self.inside) && allows(origins, Self.outside))
        rule.note(Self.inside, for: "http://a.example/x")
        #expect(allows(origins, Self.inside) && allows(origins, [127, 0, 0, 1]))
        rule.note(Self.outside, for: "HTTP://user@A.EXAMPLE:80/y")
        #expect(!allows(origins, Self.inside) && !allows(origins, [127, 0, 0, 1]) && allows(origins, Self.outside))
        #expect(!allows(origins, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, 1, 1]))
        // each origin for itself
        #expect(allows(origins, Self.inside, "https://b.example:8443/c"))
        for other in ["https://a.example/", "http://a.example:81/", "http://c.example/", "x"] {
            rule.note(Self.outside, for: other)
            #expect(!allows(origins, Self.inside, other) && allows(origins, Self.outside, other), "\(other)")
        }
        #expect(allows(origins, Self.inside, "https://b.example:8443/c"))
        // another session knows nothing of it
        #expect(allows(NamedOrigins(of: ["http://a.example/"]), Self.inside))
    }

    /// 127.0.0.1 stands for a public address at first, and then for one of the user's network.
    @Test(arguments: [false, true]) func `is refused when its name was bound to another address`(keepsConnection: Bool)
        async throws
    {
        let isOutside = Locked(true)
        let requests = Locked(0)
        let server = LoopbackServer { connection in
            while connection.readRequest() != nil {
                requests.withLock { $0 += 1 }
                connection.respond(200, keepsConnection ? [] : ["Connection: close"], body: Array("a".utf8))
                if !keepsConnection { return }
            }
        }
        let url = "http://127.0.0.1:\(server.port)/a"
        let origins = NamedOrigins(of: [url]) { _ in isOutside.withLock { $0 } }
        let client = HTTPClient()
        var request = ClientRequest(url)
        request.addresses = .named(origins)
        for _ in 0..<3 { #expect(try await client.send(request).status == .ok) }
        isOutside.withLock { $0 = false }
        for _ in 0..<2 { await #expect(throws: HTTPClientError(.address)) { try await client.send(request) } }
        #expect(requests.withLock { $0 } == 3)
        request.addresses = .named(NamedOrigins(of: [url]) { _ in false })
        #expect(try await client.send(request).status == .ok)
    }
}
