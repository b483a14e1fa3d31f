// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelOrders
import CarrelThreads
import Testing

/// Streams that a test writes down.
private final class Streams: StreamLedger {
    struct Away: Error {}

    struct State {
        var streams: [CountedStream] = []
        var readings = 0
        var ended: [String] = []
        var isAway = false
        var endFails = false
    }

    let state = Locked(State())
    /// Runs while the streams are read, after they were.
    let meanwhile: @Sendable (_ reading: Int) -> Void

    init(_ streams: [CountedStream] = [], meanwhile: @escaping @Sendable (Int) -> Void = { _ in }) {
        self.meanwhile = meanwhile
        state.withLock { $0.streams = streams }
    }

    func streams(of subject: String, at now: Instant) async throws -> [CountedStream] {
        let (found, reading) = try state.withLock { state throws -> ([CountedStream], Int) in
            if state.isAway { throw Away() }
            state.readings += 1
            return (state.streams, state.readings)
        }
        meanwhile(reading)
        return found
    }

    func end(_ streams: [String], of subject: String, at now: Instant) async throws {
        try state.withLock { state throws in
            if state.endFails { throw Away() }
            state.ended += streams
            state.streams.removeAll { streams.contains($0.id) }
        }
    }
}

struct `Leases together with other streams` {
    private let now = Instant(milliseconds: 1_800_000_000_000)

    private func stream(_ id: String, since seconds: Int = 0) -> CountedStream {
        CountedStream(id: id, since: now + .seconds(seconds), until: now + .seconds(300))
    }

    @Test func `are renewed without a reading`() async throws {
        let leases = Leases(limit: 2)
        let ledger = Streams([stream("a")])
        leases.count(ledger)
        for second in 0..<50 {
            #expect(try await leases.take("alice", "phone", at: now + .seconds(second)) == .held)
        }
        #expect(ledger.state.withLock(\.readings) == 1)
        #expect(try await leases.take("alice", "tablet", at: now) == .refused(retryAfter: 169), "the phone's lease ends first")
        #expect(try await leases.usage(of: "alice", at: now).held == 2)
    }

    @Test func `are not taken where the streams cannot be read`() async throws {
        let leases = Leases(limit: 2)
        let ledger = Streams()
        leases.count(ledger)
        ledger.state.withLock { $0.isAway = true }
        await #expect(throws: Streams.Away.self) { try await leases.take("alice", "phone", at: now) }
        #expect(leases.count(at: now) == 0)
    }

    @Test func `see a stream that was written while they were decided on`() async throws {
        let leases = Leases(limit: 1)
        let written = Locked<Streams?>(nil)
        let new = stream("new")
        let now = now
        let ledger = Streams { reading in
            guard reading == 1 else { return }
            // a license is issued after the reading, and committed before the decision
            let place = leases.reservation()
            #expect(leases.reserve(place, new.id, of: "alice", beside: [], at: now) == .held(ending: []))
            written.withLock { $0?.state.withLock { $0.streams.append(new) } }
            leases.settle(place, isCommitted: true)
        }
        written.withLock { $0 = ledger }
        leases.count(ledger)
        #expect(try await leases.take("alice", "phone", at: now) == .refused(retryAfter: 300))
        #expect(ledger.state.withLock(\.readings) == 2)
    }

    @Test func `see a stream that is being written`() async throws {
        let leases = Leases(limit: 1)
        leases.count(Streams())
        let place = leases.reservation()
        #expect(leases.reserve(place, "new", of: "alice", beside: [], at: now) == .held(ending: []))
        #expect(try await leases.take("alice", "phone", at: now) != .held)
        leases.settle(place, isCommitted: false)
        #expect(try await leases.take("alice", "phone", at: now) == .held, "it was not written")
        #expect(leases.reserve(leases.reservation(), "other", of: "alice", beside: [], at: now) == .refused(retryAfter: 120))
    }

    @Test func `end the oldest stream, and are not held when it cannot be ended`() async throws {
        let leases = Leases(limit: 2, mode: .evictOldest)
        let ledger = Streams([stream("old", since: -10), stream("young", since: -5)])
        leases.count(ledger)
        #expect(try await leases.take("alice", "phone", at: now) == .held)
        #expect(ledger.state.withLock(\.ended) == ["old"])
        #expect(try await leases.take("alice", "tablet", at: now + .seconds(1)) == .held)
        #expect(ledger.state.withLock(\.ended) == ["old", "young"])
        // now the oldest is the phone
        #expect(try await leases.take("alice", "laptop", at: now + .seconds(2)) == .held)
        #expect(try await leases.take("alice", "phone", at: now + .seconds(3)) == .refused(retryAfter: 119))
        leases.touch("alice", "phone", at: now + .seconds(3))
        #expect(leases.count(at: now + .seconds(3)) == 2)

        let failing = Leases(limit: 1, mode: .evictOldest)
        let stuck = Streams([stream("stuck", since: -1)])
        failing.count(stuck)
        stuck.state.withLock { $0.endFails = true }
        await #expect(throws: Streams.Away.self) { try await failing.take("bob", "phone", at: now) }
        #expect(failing.count(at: now) == 0)
    }

    @Test func `give an evicted listener its place back when the stream is not written after all`() async throws {
        let leases = Leases(limit: 1, mode: .evictOldest)
        leases.count(Streams())
        #expect(try await leases.take("alice", "phone", at: now) == .held)
        let place = leases.reservation()
        #expect(leases.reserve(place, "new", of: "alice", beside: [], at: now) == .held(ending: []))
        #expect(try await leases.take("alice", "phone", at: now) == .refused(retryAfter: 120))
        leases.settle(place, isCommitted: false)
        #expect(try await leases.take("alice", "phone", at: now) == .held)
    }

    @Test func `give listeners their places back when the streams that were to end cannot be`() async throws {
        let leases = Leases(limit: 3, mode: .evictOldest)
        let ledger = Streams()
        leases.count(ledger)
        #expect(try await leases.take("alice", "phone", at: now) == .held)
        ledger.state.withLock { $0.streams = [stream("a", since: 1), stream("b", since: 2), stream("c", since: 3)] }
        ledger.state.withLock { $0.endFails = true }
        // the phone and a stream have to go
        await #expect(throws: Streams.Away.self) { try await leases.take("alice", "tablet", at: now + .seconds(4)) }
        #expect(try await leases.take("alice", "phone", at: now + .seconds(5)) == .held)
        #expect(leases.count(at: now + .seconds(5)) == 1)
    }

    @Test func `are refused without a reading for a second`() async throws {
        let leases = Leases(limit: 1)
        let ledger = Streams([stream("a")])
        leases.count(ledger)
        for number in 0..<50 {
            #expect(try await leases.take("alice", "\(number)", at: now) == .refused(retryAfter: 300))
        }
        #expect(ledger.state.withLock(\.readings) == 1)
        _ = try await leases.take("alice", "phone", at: now + .seconds(1))
        #expect(ledger.state.withLock(\.readings) == 2)
        ledger.state.withLock { $0.streams = [] }
        leases.noteEnd(of: "alice")
        #expect(try await leases.take("alice", "phone", at: now + .seconds(1)) == .held, "a stream ended here")
    }

    @Test func `count nothing where streams are not counted`() async throws {
        let leases = Leases(limit: 1, mode: .none)
        let ledger = Streams([stream("a"), stream("b")])
        leases.count(ledger)
        for listener in 0..<10 { #expect(try await leases.take("alice", "\(listener)", at: now) == .held) }
        #expect(ledger.state.withLock(\.readings) == 0)
    }
}
