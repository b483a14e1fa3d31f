// SPDX-License-Identifier: Apache-2.0

import CarrelDownloads
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

/// Conditions that a test sets.
private final class SetConditions: DownloadConditions {
    private let values: AsyncStream<Conditions>
    private let continuation: AsyncStream<Conditions>.Continuation

    init(_ first: Conditions) {
        (values, continuation) = AsyncStream.makeStream()
        continuation.yield(first)
    }

    func set(_ conditions: Conditions) { continuation.yield(conditions) }

    func changes() -> AsyncStream<Conditions> { values }
}

/// Serves segments only after `open()`.
private final class Gate: Sendable {
    private let isOpen = Locked(false)

    func open() { isOpen.withLock { $0 = true } }

    func wait() {
        while !isOpen.withLock({ $0 }) { usleep(2_000) }
    }
}

struct `A queue of downloads` {
    @Test func `has one item for a source that is added again`() async throws {
        let world = DownloadWorld()
        let queue = try world.queue()
        let (first, isNew) = try await queue.add(DownloadSource(world.server.url, title: "A/B"))
        let (second, isNewAgain) = try await queue.add(DownloadSource(world.server.url + "#t=1", title: "other"))
        #expect(isNew && !isNewAgain && first.id == second.id)
        #expect(try await queue.items().map(\.title) == ["A/B"])
        await queue.close()
    }

    @Test func `pauses an item durably, and continues it without fetching a segment again`() async throws {
        let world = DownloadWorld(count: 12)
        let gate = Gate()
        world.server.fail { call in
            // the second half waits
            if let number = Int(call.path.dropFirst(8).dropLast(3)), number >= 6 { gate.wait() }
            return false
        }
        let queue = try world.queue()
        var settings = DownloadSettings()
        settings.limits.connections = 2
        let (item, _) = try await queue.add(DownloadSource(world.server.url), settings)
        let run = Task { try await queue.run(until: item.id) }
        try await waitUntil { try await queue.item(item.id).done >= 6 * 20_000 }
        #expect(try await queue.pause(item.id).state == .paused)
        try await run.value
        // another process sees it, and nothing is kept of the segments that were in flight
        let other = try world.queue()
        #expect(try await other.item(item.id).state == .paused)
        #expect(try await other.item(item.id).done == 6 * 20_000)
        gate.open()
        try await other.resume(item.id)
        try await other.run(until: item.id)
        #expect(try await other.item(item.id).state == .completed)
        #expect(world.isWhole(item.id, count: 12))
        let counts = world.server.segments.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        for number in 0..<6 { #expect(counts["segment-\(number).ts"] == 1) }
        // those in flight at the pause
        #expect(counts.values.reduce(0, +) <= 14)
        await queue.close()
        await other.close()
    }

    @Test func `notices the requests of another process within a second`() async throws {
        let world = DownloadWorld(count: 6)
        let gate = Gate()
        world.server.fail { call in
            if call.path.hasPrefix("segment") { gate.wait() }
            return false
        }
        let (queue, other) = (try world.queue(), try world.queue())
        let (item, _) = try await queue.add(DownloadSource(world.server.url))
        let run = Task { try await queue.run() }
        try await waitUntil { try await other.item(item.id).state == .downloading }
        let start = ContinuousClock.now
        try await other.pause(item.id)
        try await run.value
        #expect(start.duration(to: .now) < .seconds(1))
        // the lock is free again: the other process continues
        gate.open()
        try await other.resume(item.id)
        try await other.run()
        #expect(try await queue.item(item.id).state == .completed)
        await queue.close()
        await other.close()
    }

    @Test func `transfers in one process at a time; the next one takes over`() async throws {
        let world = DownloadWorld(count: 6)
        let gate = Gate()
        world.server.fail { call in
            if call.path.hasPrefix("segment") { gate.wait() }
            return false
        }
        let (queue, other) = (try world.queue(), try world.queue())
        let (item, _) = try await queue.add(DownloadSource(world.server.url))
        let run = Task { try await queue.run(until: item.id) }
        try await waitUntil { try await queue.item(item.id).state == .downloading }
        let planned = world.server.log.filter { $0.hasSuffix("m3u8") }.count
        let second = Task { try await other.run(until: item.id) }
        try await Task.sleep(for: .milliseconds(200))
        // the second waits: nothing was planned twice
        #expect(world.server.log.filter { $0.hasSuffix("m3u8") }.count == planned)
        run.cancel()
        _ = await run.result
        gate.open()
        try await second.value
        #expect(try await queue.item(item.id).state == .completed)
        #expect(world.isWhole(item.id, count: 6))
        await queue.close()
        await other.close()
    }

    @Test func `waits for the requirements of an item, and says for which`() async throws {
        let world = DownloadWorld(count: 3)
        let conditions = SetConditions(Conditions(network: .metered, charging: .yes))
        let queue = try world.queue { $0.conditions = conditions }
        var settings = DownloadSettings()
        settings.requirements.network = .unmetered
        settings.requirements.needsCharging = true
        let (item, _) = try await queue.add(DownloadSource(world.server.url), settings)
        let run = Task { try await queue.run(until: item.id) }
        try await waitUntil { try await queue.item(item.id).reason == "unmetered-network" }
        #expect(try await queue.item(item.id).state == .waiting)
        conditions.set(Conditions(network: .unmetered, charging: .unknown))
        try await waitUntil { try await queue.item(item.id).reason == "charging" }
        #expect(world.server.log.isEmpty)
        conditions.set(Conditions(network: .unmetered, charging: .yes))
        try await run.value
        #expect(try await queue.item(item.id).state == .completed)
        await queue.close()
    }

    @Test func `keeps to a bandwidth limit that changes`() async throws {
        let world = DownloadWorld(count: 8, size: 100_000)
        let queue = try world.queue()
        var settings = DownloadSettings()
        settings.limits.bytesPerSecond = 200_000
        let (item, _) = try await queue.add(DownloadSource(world.server.url), settings)
        let start = ContinuousClock.now
        let run = Task { try await queue.run(until: item.id) }
        try await Task.sleep(for: .milliseconds(1500))
        let done = try await queue.item(item.id).done
        #expect(done < 400_000, "\(done)")
        try await queue.setLimits(DownloadLimits(), of: item.id)
        try await run.value
        let elapsed = start.duration(to: .now)
        // at the first rate it would take four seconds
        #expect(elapsed > .milliseconds(1500) && elapsed < .milliseconds(3500), "\(elapsed)")
        #expect(try await queue.item(item.id).state == .completed)
        await queue.close()
    }

    @Test func `starts items by their priority`() async throws {
        let world = DownloadWorld(count: 1)
        let queue = try world.queue()
        var limits = try await queue.queueLimits()
        limits.items = 1
        try await queue.setQueueLimits(limits)
        var ids: [String] = []
        for (number, priority) in [0, 5, 1].enumerated() {
            var settings = DownloadSettings()
            settings.priority = priority
            ids.append(try await queue.add(DownloadSource("\(world.server.url)?\(number)"), settings).item.id)
        }
        #expect(try await queue.items().map(\.id) == [ids[1], ids[2], ids[0]])
        let events = queue.events()
        try await queue.run()
        var order: [String] = []
        for await event in events {
            if case .finished(let item) = event { order.append(item.id) }
            if order.count == 3 { break }
        }
        #expect(order == [ids[1], ids[2], ids[0]])
        await queue.close()
    }

    @Test func `refuses what would exceed a quota, or evicts what was played least recently if that is on`() async throws {
        let world = DownloadWorld(count: 4, size: 20_000)
        let queue = try world.queue()
        var limits = try await queue.queueLimits()
        limits.items = 1
        // an item is expected to have 600,000 bytes by its bit rate, and has 80,000
        limits.quota = 700_000
        try await queue.setQueueLimits(limits)
        let first = try await queue.save(world.server.url) { $0.isPinned = true }
        let second = try await queue.save(world.server.url + "?2")
        #expect(first.state == .completed && second.state == .completed)
        let third = try await queue.save(world.server.url + "?3")
        #expect(third.state == .failed && third.reason == "download.quota", "\(third.reason ?? "")")
        limits.evicts = true
        try await queue.setQueueLimits(limits)
        try await queue.resume(third.id)
        try await queue.run(until: third.id)
        #expect(try await queue.item(third.id).state == .completed)
        // the pinned item stays
        #expect(Set(try await queue.items().map(\.id)) == [first.id, third.id])
        // nothing is removed for an item that has no room all the same
        world.server.setBandwidth(1_000_000_000)
        let large = try await queue.save(world.server.url + "?4")
        #expect(large.reason == "download.quota")
        #expect(Set(try await queue.items().map(\.id)) == [first.id, third.id, large.id])
        await queue.close()
    }

    @Test func `holds 200 items`() async throws {
        let world = DownloadWorld(count: 1, size: 1_000)
        let queue = try world.queue()
        for number in 0..<200 { try await queue.add(DownloadSource("\(world.server.url)?\(number)")) }
        #expect(try await queue.items().count == 200)
        try await queue.run()
        let items = try await queue.items()
        #expect(items.filter { $0.state == .completed }.count == 200)
        await queue.close()
    }
}
