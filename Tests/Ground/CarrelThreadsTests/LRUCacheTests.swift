// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import Testing

struct `A cache of what was used last` {
    /// It used to sort all entries, once in a few thousand insertions, under the lock of a limiter that every request takes.
    @Test func `evicts one entry for each new one when it is full`() {
        var cache = LRUCache<Int, Int>(limit: 16_384)
        for i in 0..<16_384 { cache.insert(i, for: i, cost: 1) }
        for i in 16_384..<60_000 {
            cache.insert(i, for: i, cost: 1)
            guard cache.count == 16_384 else {
                Issue.record("\(cache.count) entries after \(i) insertions")
                return
            }
        }
        #expect((0..<60_000).filter { cache[$0] != nil } == Array(43_616..<60_000))
    }

    @Test func `evicts in the order of use`() {
        var cache = LRUCache<String, Int>(limit: 4)
        for (i, key) in ["a", "b", "c", "d"].enumerated() { cache.insert(i, for: key, cost: 1) }
        #expect(cache["a"] == 0)
        cache.insert(9, for: "b", cost: 1)
        cache.insert(4, for: "e", cost: 1)
        cache.insert(5, for: "f", cost: 1)
        #expect(["a", "b", "c", "d", "e", "f"].filter { cache[$0] != nil } == ["a", "b", "e", "f"])
        #expect(cache["b"] == 9 && cache.count == 4)
    }

    @Test func `evicts as many as the cost of a new one takes, and keeps that one whatever it costs`() {
        var cache = LRUCache<Int, Int>(limit: 10)
        for i in 0..<5 { cache.insert(i, for: i, cost: 2) }
        cache.insert(5, for: 5, cost: 5)
        #expect((0..<6).filter { cache[$0] != nil } == [3, 4, 5])
        cache.insert(6, for: 6, cost: 100)
        #expect((0..<7).filter { cache[$0] != nil } == [6])
        cache.insert(7, for: 7, cost: 10)
        #expect((0..<8).filter { cache[$0] != nil } == [7])
    }

    @Test func `counts the cost of replaced and removed entries no more`() {
        var cache = LRUCache<Int, Int>(limit: 10)
        cache.insert(1, for: 1, cost: 9)
        cache.insert(1, for: 1, cost: 1)
        cache.insert(2, for: 2, cost: 9)
        #expect(cache[1] == 1 && cache[2] == 2)
        cache.remove(2)
        cache.remove(3)
        cache.insert(4, for: 4, cost: 9)
        #expect(cache[1] == 1 && cache[2] == nil && cache[4] == 4 && cache.count == 2)
        cache.removeAll()
        #expect(cache.count == 0 && cache[1] == nil)
        cache.insert(5, for: 5, cost: 10)
        #expect(cache[5] == 5)
    }

    /// Every step against a list of keys in the order of use.
    @Test func `agrees with a list`() {
        var cache = LRUCache<Int, Int>(limit: 40)
        var list: [(key: Int, cost: Int)] = []
        var state: UInt64 = 7
        func random(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        for step in 0..<20_000 {
            let key = random(60)
            let known = list.firstIndex { $0.key == key }
            switch random(4) {
            case 0:
                #expect((cache[key] != nil) == (known != nil), "step \(step)")
                if let known { list.append(list.remove(at: known)) }
            case 1:
                cache.remove(key)
                if let known { list.remove(at: known) }
            default:
                let cost = 1 + random(4)
                cache.insert(step, for: key, cost: cost)
                if let known { list.remove(at: known) }
                list.append((key, cost))
                while list.reduce(0, { $0 + $1.cost }) > 40 { list.removeFirst() }
            }
            #expect(cache.count == list.count, "step \(step)")
        }
    }
}
