// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
@testable import CarrelMediaSource
@testable import CarrelPresentation
@testable import CarrelProxy
import CarrelTesting
import CarrelThreads
import Testing

struct `Threads of a session` {
    /// Work that waits until it is cancelled.
    private static func hold(_ threads: SessionThreads) throws -> BlockingWork {
        let work = BlockingWork()
        try threads.start(work) {
            _ = try? BlockingWork.wait { try await Task.sleep(for: .seconds(60)) }
        }
        return work
    }

    private static func isBusy(_ error: any Error) -> Bool { (error as? ProxyError)?.code == .busy }

    @Test func `has two threads of its own, and a share of the pool of all sessions`() async throws {
        let share = SharedThreads(limit: 3, starter: .system)
        let sessions = [SessionThreads(share), SessionThreads(share)]
        var held = try (0..<5).map { _ in try Self.hold(sessions[0]) }
        #expect(performing: { _ = try Self.hold(sessions[0]) }, throws: Self.isBusy)
        await #expect(performing: { try await sessions[0].run {} }, throws: Self.isBusy)
        await #expect(performing: { try await sessions[0].runTask {} }, throws: Self.isBusy)
        // the other session has its own
        #expect(try await sessions[1].run { 7 } == 7)
        held += try (0..<2).map { _ in try Self.hold(sessions[1]) }
        #expect(performing: { _ = try Self.hold(sessions[1]) }, throws: Self.isBusy)
        for work in held { work.cancel() }
        try await eventually { sessions.allSatisfy { $0.count == 0 } }
        // all that was taken came back
        let again = try (0..<5).map { _ in try Self.hold(sessions[1]) }
        #expect(try await sessions[0].runTask { 8 } == 8)
        for work in again { work.cancel() }
        try await eventually { sessions[1].count == 0 }
    }

    @Test func `are free before tasks that wait for their work continue`() async throws {
        let threads = SessionThreads(SharedThreads(limit: 0, starter: .system))
        let piece: [UInt8] = [1]
        for i in 0..<2000 {
            #expect(try await threads.run { i } == i)
            #expect(threads.count == 0)
            let bytes = try ThreadBytes(threads, name: "test") { sink in try sink.write(piece.rawSpan) }
            #expect(try await bytes.next() == piece)
            #expect(try await bytes.next() == nil)
            #expect(threads.count == 0)
        }
    }

    @Test func `are sixteen at most`() async throws {
        let threads = SessionThreads(SharedThreads(limit: 100, starter: .system))
        for _ in 0..<16 { _ = try Self.hold(threads) }
        #expect(performing: { _ = try Self.hold(threads) }, throws: Self.isBusy)
        threads.end()
        try await eventually { threads.count == 0 }
        await #expect(performing: { try await threads.run {} }, throws: { ($0 as? ProxyError)?.code == .ended })
    }

    @Test func `end what they wait for with the task`() async throws {
        let threads = SessionThreads(SharedThreads(limit: 0, starter: .system))
        let began = ContinuousClock.now
        for isTask in [false, true] {
            let task = Task {
                if isTask {
                    try await threads.runTask { _ = try BlockingWork.wait { try await Task.sleep(for: .seconds(60)) } }
                } else {
                    try await threads.run { _ = try BlockingWork.wait { try await Task.sleep(for: .seconds(60)) } }
                }
            }
            try await eventually { threads.count == 1 }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(began.duration(to: .now) < .seconds(40))
        try await eventually { threads.count == 0 }
    }
}
