// SPDX-License-Identifier: Apache-2.0

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

    @Test func `refuse work beyond the limit, name the queue, and count it`() async throws {
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

struct `Threads that the system refuses` {
    /// A system that has no more threads than a test says.
    private final class Scarce: Sendable {
        let free: Locked<Int>

        init(_ count: Int) {
            free = Locked(count)
        }

        var starter: ThreadStarter {
            ThreadStarter { [free] name, body throws(ThreadRefused) in
                let isFree = free.withLock { free in
                    defer { free = max(0, free - 1) }
                    return free > 0
                }
                guard isFree else { throw ThreadRefused(status: EAGAIN) }
                try ThreadStarter.system.start(name: name, body)
            }
        }
    }

    @Test func `are an error of the work, until there is one`() async throws {
        let system = Scarce(0)
        let threads = BlockingThreadPool(name: "scarce-test", count: 2, starter: system.starter)
        #expect(!threads.hasThread)
        #expect(throws: QueueFull.self) { try threads.start {} }
        await #expect(throws: QueueFull.self) { try await threads.runUnlessCancelled { 1 } }
        let refusal = await #expect(throws: QueueFull.self) { try await threads.run { 1 } }
        #expect(refusal?.hasThread == false && refusal?.description.contains("refused a thread") == true)
        #expect(threads.waiting == 0)
        system.free.withLock { $0 = 1 }
        #expect(try await threads.run { 2 } == 2)
        // one does the work of two
        #expect(threads.hasThread)
        for i in 0..<100 { #expect(try await threads.run { i } == i) }
    }

    @Test func `are an error of all work that comes while one is asked for`() async throws {
        let (isOpen, asked) = (Locked(false), Locked(0))
        let starter = ThreadStarter { _, _ throws(ThreadRefused) in
            let isFirst = asked.withLock { asked in
                asked += 1
                return asked == 1
            }
            while !isFirst, !isOpen.withLock(\.self) { usleep(200) }
            throw ThreadRefused(status: EAGAIN)
        }
        let threads = BlockingThreadPool(name: "gate-test", count: 1, starter: starter)
        let (began, refused) = (Locked(0), Locked(0))
        for _ in 0..<4 {
            startThread(name: "gate-test") {
                began.withLock { $0 += 1 }
                do throws(QueueFull) { try threads.start {} } catch { refused.withLock { $0 += 1 } }
            }
        }
        while began.withLock(\.self) < 4 || asked.withLock(\.self) < 2 { await Task.yield() }
        try await Task.sleep(for: .milliseconds(50))
        isOpen.withLock { $0 = true }
        let end = ContinuousClock.now + .seconds(10)
        while refused.withLock(\.self) < 4, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(5)) }
        #expect(refused.withLock(\.self) == 4)
        #expect(threads.waiting == 0, "no work waits for a thread that there never was")
    }

    @Test func `are missed by a pool of which others exist by nothing but speed`() async throws {
        let system = Scarce(1)
        let threads = BlockingThreadPool(name: "scarce-test", count: 4, starter: system.starter)
        #expect(try await threads.run { 1 } == 1)
        system.free.withLock { $0 = 100 }
        #expect(try await threads.run { 2 } == 2)
        #expect(system.free.withLock { $0 } == 97)
    }

    @Test func `are told from others by the system itself`() async throws {
        // no address space has room for this stack
        let threads = BlockingThreadPool(name: "huge-test", count: 1, starter: .system(stackSize: 1 << 50))
        #expect(!threads.hasThread)
        await #expect(throws: QueueFull.self) { try await threads.run { 1 } }
        #expect(throws: ThreadRefused.self) { try ThreadStarter.system(stackSize: 1 << 50).start(name: "huge-test") {} }
        #expect(try await BlockingThreadPool(name: "small-test", count: 1, starter: .system(stackSize: 1 << 18)).run { 2 } == 2)
    }

    @Test func `leave tasks that block to the threads of all tasks`() async throws {
        let system = Scarce(0)
        let executor = BlockingExecutor(name: "scarce-test", count: 1, starter: system.starter)
        #expect(!executor.hasThread)
        #expect(try await executor.run { 5 } == 5)
        system.free.withLock { $0 = 1 }
        #expect(try await executor.run { 6 } == 6)
        #expect(executor.hasThread)
    }
}
