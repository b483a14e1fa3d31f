import CarrelThreads
import Glibc
import Testing

struct `Locked value` {
    @Test func `loses no update when many tasks write`() async {
        let counter = Locked(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<1000 { counter.withLock { $0 += 1 } } }
            }
        }
        #expect(counter.withLock { $0 } == 8000)
    }
}

struct `Blocking threads` {
    struct Refused: Error {}

    @Test func `return what the work returns or throws`() async throws {
        let threads = BlockingThreadPool(name: "test", count: 2)
        #expect(try await threads.run { 42 } == 42)
        await #expect(throws: Refused.self) { try await threads.run { throw Refused() } }
    }

    @Test func `one thread runs work in the order it came`() async throws {
        let threads = BlockingThreadPool(name: "test", count: 1)
        let order = Locked<[Int]>([])
        for i in 0..<100 { try threads.start { order.withLock { $0.append(i) } } }
        try await threads.run {}
        #expect(order.withLock { $0 } == Array(0..<100))
    }

    /// Holds the one thread of a queue until it is let go.
    private func hold(_ threads: BlockingThreadPool) async throws -> Locked<Bool> {
        let (isHeld, isOver) = (Locked(false), Locked(false))
        try threads.start {
            isHeld.withLock { $0 = true }
            while !isOver.withLock(\.self) { usleep(200) }
        }
        while !isHeld.withLock(\.self) { await Task.yield() }
        return isOver
    }

    @Test func `refuse work beyond the limit, say of which queue, and count it`() async throws {
        let threads = BlockingThreadPool(name: "full-test", count: 1, limit: 2)
        let isOver = try await hold(threads)
        for _ in 0..<2 { try threads.start {} }
        #expect(throws: QueueFull.self) { try threads.start {} }
        let refusal = await #expect(throws: QueueFull.self) { try await threads.run { 1 } }
        #expect(refusal?.queue == "full-test")
        await #expect(throws: QueueFull.self) { try await threads.runUnlessCancelled { 1 } }
        threads.countRefusal()
        #expect(BlockingThreadPool.counts().first { $0.name == "full-test" } == counts(waiting: 2, refused: 4))
        isOver.withLock { $0 = true }
        while threads.waiting > 0 { await Task.yield() }
        #expect(try await threads.runUnlessCancelled { 7 } == 7)
        #expect(BlockingThreadPool.counts().first { $0.name == "full-test" } == counts(waiting: 0, refused: 4))
    }

    private func counts(waiting: Int, refused: Int) -> QueueCounts {
        QueueCounts(name: "full-test", waiting: waiting, refused: refused)
    }

    @Test func `drop the work of a cancelled task before it starts, and give its place to the next`() async throws {
        let threads = BlockingThreadPool(name: "drop-test", count: 1, limit: 1)
        let isOver = try await hold(threads)
        let ran = Locked(0)
        for _ in 0..<50 {
            let task = Task { try await threads.runUnlessCancelled { ran.withLock { $0 += 1 } } }
            while threads.waiting == 0 { await Task.yield() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(threads.waiting == 0)
        }
        let kept = Task { try await threads.run { ran.withLock { $0 += 100 } } }
        while threads.waiting == 0 { await Task.yield() }
        kept.cancel()
        isOver.withLock { $0 = true }
        try await kept.value
        #expect(ran.withLock(\.self) == 100, "only the work that must not be dropped ran")
    }

    @Test func `do not start the work of a task that is cancelled already`() async throws {
        let threads = BlockingThreadPool(name: "late-test", count: 1)
        let isOver = try await hold(threads)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await threads.runUnlessCancelled { 1 }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        isOver.withLock { $0 = true }
    }
}
