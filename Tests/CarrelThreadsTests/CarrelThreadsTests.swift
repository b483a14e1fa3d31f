import CarrelThreads
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
        let threads = BlockingThreads(name: "test", count: 2)
        #expect(try await threads.run { 42 } == 42)
        await #expect(throws: Refused.self) { try await threads.run { throw Refused() } }
    }

    @Test func `one thread runs work in the order it came`() async throws {
        let threads = BlockingThreads(name: "test", count: 1)
        let order = Locked<[Int]>([])
        for i in 0..<100 { threads.start { order.withLock { $0.append(i) } } }
        try await threads.run {}
        #expect(order.withLock { $0 } == Array(0..<100))
    }
}
