// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import CarrelThreads
import Testing

@testable import CarrelPublication

@Suite("A value that is made once")
struct OnceTests {
    private let count = Locked((made: 0, ended: 0))
    private let once = AsyncLazy<Int>()

    /// Asks for it; what makes it waits until it is cancelled or `gate` is closed. Waits from the moment on in which this returns.
    private func ask(_ gate: AsyncStream<Void>) -> Task<Int, any Error> {
        Task.immediate { [once, count] in
            try await once.value { () async throws(ResourceError) in
                let number = count.withLock { count in
                    count.made += 1
                    return count.made
                }
                for await _ in gate {}
                count.withLock { $0.ended += 1 }
                if Task.isCancelled { throw ResourceError(.cancelled, "nobody waits") }
                return number
            }
        }
    }

    @Test func `is made for all who wait, as long as one of them does`() async throws {
        let (gate, opened) = AsyncStream.makeStream(of: Void.self)
        let askers = (0..<3).map { _ in ask(gate) }
        askers[0].cancel()
        askers[1].cancel()
        opened.finish()
        for asker in askers { #expect(try await asker.value == 1) }
        #expect(once.made == 1)
        #expect(try await ask(gate).value == 1)
        #expect(count.withLock { $0 } == (1, 1))
    }

    @Test func `is discarded when all users cancel, and computed again`() async throws {
        let (gate, _) = AsyncStream.makeStream(of: Void.self)
        let askers = (0..<3).map { _ in ask(gate) }
        for asker in askers { asker.cancel() }
        for asker in askers { await #expect(throws: ResourceError(.cancelled, "")) { try await asker.value } }
        #expect(once.made == nil)
        let (other, opened) = AsyncStream.makeStream(of: Void.self)
        // a canceled caller does not disturb the others
        let next = ask(other)
        let gone = ask(other)
        gone.cancel()
        opened.finish()
        #expect(try await next.value == 2)
        #expect(once.made == 2)
    }
}
