// SPDX-License-Identifier: Apache-2.0

import CarrelEntitlementSources
import CarrelHTTP
import CarrelHTTPServer
import CarrelServerTesting
import CarrelSubscription
import CarrelThreads
import CarrelThrottling
import Testing

@testable import CarrelServer

struct `The slots of a slow upstream system` {
    @Test func `are shared: half of them, an eighth for each network, for tokens that it never confirmed`() throws {
        var slots = UpstreamSlots(16)
        func network(_ name: String) -> ClientNetwork? {
            IPAddress("2001:db8:0:\(name)::1").map { ClientNetwork($0) }
        }
        let taken = slots.take(isConfirmed: false, from: network("a"))
        let first = try #require(taken)
        func take(_ networks: String..., isConfirmed: Bool = false) -> Int {
            networks.count { slots.take(isConfirmed: isConfirmed, from: network($0)) != nil }
        }
        #expect(take("a", "a") == 1, "an eighth for one network")
        #expect(take("b", "b", "c", "c", "d", "d") == 6)
        #expect(take("e") == 0, "half for all of them")
        #expect(take("a", "a", "a", "a", "a", "a", "a", "a", "ff", isConfirmed: true) == 8)
        #expect(slots.inFlight == 16)
        slots.giveBack(first)
        #expect(take("e", "f") == 1)
        var own = UpstreamSlots(16)
        let ownCount = (0..<9).count { _ in own.take(isConfirmed: false, from: nil) != nil }
        #expect(ownCount == 8, "this machine has no limit of one network")
        var relayed = UpstreamSlots(16, unconfirmed: 16)
        let networks = ["a", "a", "a", "b", "b", "b"].map { network($0) } + (0..<20).map { network("1\($0)") }
        let relayedCount = (networks + [nil]).count { relayed.take(isConfirmed: false, from: $0) != nil }
        #expect(relayedCount == 16 && relayed.inFlight == 16, "all of them")
        var oneNetwork = UpstreamSlots(16, unconfirmed: 16)
        let count = (0..<9).count { _ in oneNetwork.take(isConfirmed: false, from: network("a")) != nil }
        #expect(count == 2, "an eighth for one network")
    }

    @Test func `are never all taken by made-up tokens: one that it confirmed is still asked about`() async throws {
        let upstream = ScriptedUpstream()
        let test = try await TestService(with: .editionDelivery) {
            var settings = upstream.settings
            settings.policy = .closed
            settings.timeout = .seconds(3)
            settings.concurrency = 8
            $0.subscription.sources = [.upstream(settings)]
        }
        let before = try await test.ask("verify_subscription", ["token": "T-reader"])
        #expect(before.xml.contains("active"))
        upstream.fail(.stall)
        _ = upstream.calls()
        let asked = Locked(0)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<40 {
                group.addTask {
                    try await test.ask("verify_subscription", ["token": "made up \(number)"], from: "10.0.\(number).1").status
                }
            }
            while asked.withLock({
                $0 += upstream.calls().count; return $0
            }) < 4 { await Task.yield() }
            group.addTask { try await test.ask("verify_subscription", ["token": "T-reader"], from: "10.0.0.1").status }
            while asked.withLock({
                $0 += upstream.calls().count; return $0
            }) < 5 { await Task.yield() }
            for try await status in group { #expect(status == 503) }
        }
        #expect(asked.withLock(\.self) + upstream.calls().count == 5, "four made-up tokens, and the one that is confirmed")
    }
}
