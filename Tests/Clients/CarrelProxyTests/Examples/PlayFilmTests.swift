// SPDX-License-Identifier: Apache-2.0

import CarrelProxy
import CarrelTesting
import Testing

@Suite("The example of the proxy")
struct PlayFilmTests {
    @Test func `gives a player an address that ends with the session`() async throws {
        let (path, keys) = try `A DASH source`.source("timeline-cenc")
        var address = ""
        try await play(path, keys: keys) { (url: String) async throws in
            address = url
            let text = try await ProxyRun.text(url)
            #expect(text.hasPrefix("#EXTM3U"))
        }
        await #expect(throws: (any Error).self) { try await ProxyRun.get(address) }
    }

    @Test func `looks into a source before a player opens it`() async throws {
        let (path, keys) = try `A DASH source`.source("timeline-cenc")
        let proxy = try PlaylistProxy(expectedMajor: 1) { _ in }
        try proxy.start()
        let started = try await session(for: path, in: "es", keys: keys, with: proxy)
        #expect(status(of: started.session).hasPrefix("0 segments, 0 bytes, "))
        #expect(Set(started.languages).count == started.languages.count)
        await proxy.stop()
    }
}
