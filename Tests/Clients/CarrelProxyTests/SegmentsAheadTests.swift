// SPDX-License-Identifier: Apache-2.0

import CarrelHTTPClient
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import Testing

struct `Segments on their way` {
    private let media: LargeSegments
    private let run: ProxyRun
    private let client = HTTPClient()

    init() async throws {
        media = try await LargeSegments()
        run = try ProxyRun()
    }

    private func addresses() async throws -> [String] {
        let session = try run.proxy.makeURL(media.origin.url("big.mpd"), .dash)
        let list = try #require(try await ProxyRun.addresses(session.url).first)
        return try await ProxyRun.addresses(list)
    }

    private func isQuiet(_ path: String) async throws -> Bool {
        let before = media.origin.sent(path)
        try await Task.sleep(for: .milliseconds(700))
        return before == media.origin.sent(path)
    }

    @Test func `are open before the player asks for them, and wait at the origin`() async throws {
        let addresses = try await addresses()
        let (first, second, third) = (LargeSegments.path(1), LargeSegments.path(2), LargeSegments.path(3))
        #expect(media.size(2) > 16 << 20, "\(media.size(2))")
        #expect(try await ProxyRun.get(addresses[0]).status == 200)
        try await eventually { media.origin.sent(second) >= 256 << 10 }
        while try await !isQuiet(second) {}
        #expect(media.origin.sent(second) < media.size(2))
        #expect(media.origin.requests.count { $0 == second } == 1)
        #expect(try await ProxyRun.get(addresses[1]).status == 200)
        #expect(media.origin.requests.count { $0 == second } == 1)
        #expect(media.origin.sent(second) == media.size(2))
        // the player goes back: what is open in front of it is dropped
        try await eventually { media.origin.requests.contains(third) }
        #expect(try await ProxyRun.get(addresses[0]).status == 200)
        try await eventually { media.origin.gone(third) != nil }
        #expect(media.origin.requests.count { $0 == first } == 2)
        await run.proxy.stop()
    }

    @Test func `are dropped when the session ends`() async throws {
        let session = try run.proxy.makeURL(media.origin.url("big.mpd"), .dash)
        let list = try #require(try await ProxyRun.addresses(session.url).first)
        _ = try await ProxyRun.get(try await ProxyRun.addresses(list)[0])
        try await eventually { media.origin.sent(LargeSegments.path(2)) > 0 }
        let ended = ContinuousClock.now
        session.end()
        try await eventually { media.origin.gone(LargeSegments.path(2)) != nil }
        #expect(ended.duration(to: .now) < .seconds(1))
        await run.proxy.stop()
    }

    @Test func `make the origin wait while the player stalls, delay no other session, and end with a seek`() async throws {
        let addresses = try await addresses()
        let path = LargeSegments.path(1)
        let stalled = try await client.open(ClientRequest(addresses[0], maxResponseBytes: .max))
        _ = try await stalled.next()
        while try await !isQuiet(path) {}
        #expect(media.origin.sent(path) < media.size(1))
        let other = try await self.addresses()
        let began = ContinuousClock.now
        #expect(try await ProxyRun.get(other[2]).status == 200)
        #expect(began.duration(to: .now) < .seconds(5))
        let sought = ContinuousClock.now
        stalled.cancel()
        try await eventually { media.origin.gone(path) != nil }
        #expect(sought.duration(to: .now) < .seconds(1))
        // also what was open before it was asked for
        let second = LargeSegments.path(2)
        _ = try await ProxyRun.get(addresses[0])
        let ahead = try await client.open(ClientRequest(addresses[1], maxResponseBytes: .max))
        _ = try await ahead.next()
        let hungUp = ContinuousClock.now
        ahead.cancel()
        try await eventually { media.origin.gone(second) != nil }
        #expect(hungUp.duration(to: .now) < .seconds(1))
        await run.proxy.stop()
    }

    @Test func `end with a seek while the origin does not respond`() async throws {
        media.origin.serve(LargeSegments.path(1), .silent)
        let addresses = try await addresses()
        let client = client
        let request = Task { try await client.open(ClientRequest(addresses[0], maxResponseBytes: .max)) }
        try await eventually { media.origin.requests.contains(LargeSegments.path(1)) }
        try await Task.sleep(for: .milliseconds(200))
        request.cancel()
        // the player may come back for it
        try await Task.sleep(for: .milliseconds(500))
        #expect(media.origin.gone(LargeSegments.path(1)) == nil)
        let sought = ContinuousClock.now
        let other = Task { try await client.open(ClientRequest(addresses[2], maxResponseBytes: .max)) }
        try await eventually { media.origin.gone(LargeSegments.path(1)) != nil }
        #expect(sought.duration(to: .now) < .seconds(1))
        other.cancel()
        await run.proxy.stop()
    }
}
