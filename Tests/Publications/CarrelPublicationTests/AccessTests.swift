// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import CarrelThreads
import Testing

@testable import CarrelPublication

@Suite("The resources of a container")
struct AccessTests {
    private let directory = TemporaryDirectory()
    private let link = Link(href: "data.bin")

    /// Bytes that deflate makes somewhat smaller.
    private func data(_ count: Int) -> [UInt8] {
        var numbers = SplitMix(seed: 7)
        return (0..<count).map { $0 % 3 == 0 ? UInt8.random(in: 0...63, using: &numbers) : UInt8(truncatingIfNeeded: $0 / 50) }
    }

    /// Checks the range behavior of a resource against its expected bytes.
    private func check(_ resource: any Resource, has bytes: [UInt8]) async throws {
        let end = Int64(bytes.count)
        #expect(try await resource.length() == end)
        let ranges: [Range<Int64>] = [
            0..<0, 0..<1, end - 1..<end, end - 1..<end + 10, end..<end + 5, end + 3..<end + 9, 0..<end + 1, 5..<5,
            end / 2..<end / 2 + 1,
        ]
        var numbers = SplitMix(seed: 3)
        let others = (0..<40).map { _ in
            let start = Int64.random(in: 0..<end, using: &numbers)
            return start..<start + Int64.random(in: 0...100_000, using: &numbers)
        }
        for range in ranges + others {
            let expected = Array(bytes[Int(min(range.lowerBound, end))..<Int(min(range.upperBound, end))])
            #expect(try await resource.read(range) == expected, "\(range)")
        }
        var streamed: [UInt8] = []
        try await resource.stream(pieceSize: 10_007) { piece in streamed += piece }
        #expect(streamed == bytes)
        // many concurrently
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for range in others {
                group.addTask {
                    try await resource.read(range) == Array(bytes[Int(range.lowerBound)..<Int(min(range.upperBound, end))])
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }

    @Test func `in memory, in a file and in a part of one are read by ranges`() async throws {
        let bytes = data(300_000)
        let path = directory.write("data.bin", bytes)
        try await check(BytesResource(link, bytes), has: bytes)
        let file = try FileResource(link, path: path)
        try await check(file, has: bytes)
        try await check(SliceResource(link, of: file, 1000..<250_000), has: Array(bytes[1000..<250_000]))
        try await check(BufferingResource(file, least: 4096, most: 65_536), has: bytes)
        try await check(BufferingResource(file, most: 4096), has: bytes)
        try await check(CachingResource(file), has: bytes)
        try await check(CachingResource(file, limit: 1000), has: bytes)
    }

    /// Counts its reads.
    private final class Asked: Resource {
        let link = Link(href: "data.bin")
        private let bytes: [UInt8]
        private let count = Locked(0)
        var requests: Int { count.withLock { $0 } }

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        func length() async throws(ResourceError) -> Int64 { Int64(bytes.count) }

        func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
            count.withLock { $0 += 1 }
            let range = range.clamped(to: 0..<Int64(bytes.count))
            buffer += bytes[Int(range.lowerBound)..<Int(range.upperBound)]
        }
    }

    @Test func `are read ahead for one that follows another, without asking again`() async throws {
        let bytes = data(4 << 20)
        let piece = Int64(64 << 10)
        func requests(_ lag: Int64?) async throws -> Int {
            let asked = Asked(bytes)
            let buffering = BufferingResource(asked, most: 512 << 10)
            for start in stride(from: Int64(0), to: Int64(bytes.count), by: Int(piece)) {
                for at in [start, start - (lag ?? .max)] where at >= 0 {
                    let read = try await buffering.read(at..<at + piece)
                    #expect(read == Array(bytes[Int(at)..<Int(at + piece)]))
                }
            }
            return asked.requests
        }
        let alone = try await requests(nil)
        #expect(alone == 11)
        for lag in [piece, 3 * piece, 7 * piece] {
            let both = try await requests(lag)
            #expect(both == alone, "\(lag)")
        }
    }

    @Test func `that are read ahead keep little that was read, and nothing once they are closed`() async throws {
        let bytes = data(8 << 20)
        let buffering = BufferingResource(Asked(bytes), most: 256 << 10)
        try await buffering.stream(0..<6 << 20, pieceSize: 16 << 10) { _ in
            #expect(buffering.keptByteCount <= 3 * 256 << 10)
        }
        // many readers, each in a place of its own
        for start in stride(from: Int64(0), to: 7 << 20, by: 128 << 10) {
            _ = try await buffering.read(start..<start + 100_000)
            _ = try await buffering.read(start + 100_000..<start + 110_000)
            #expect(buffering.keptByteCount <= 8 * 256 << 10)
        }
        #expect(buffering.keptByteCount > 0)
        buffering.close()
        #expect(buffering.keptByteCount == 0)
        // reads in progress get their bytes, and keep none
        for start in stride(from: Int64(0), to: 1 << 20, by: 64 << 10) {
            let part = try await buffering.read(start..<start + 64 << 10)
            #expect(part == Array(bytes[Int(start)..<Int(start) + 64 << 10]))
        }
        #expect(buffering.keptByteCount == 0)
    }

    @Test(arguments: ["-0", "-6"])
    func `of an archive are read by ranges, packed or not`(level: String) async throws {
        let zip = try requirePeer("zip")
        let bytes = data(2_500_000)
        directory.write("data.bin", bytes)
        directory.write("a b.txt", "small")
        try await checkProcess([zip, "-q", level, "z.zip", "data.bin", "a b.txt"], directory: directory.path)
        let archive = try await ArchiveFetcher(try FileResource(Link(href: "z.zip"), path: directory.file("z.zip")))
        #expect(try await archive.links().map(\.href) == ["data.bin", "a%20b.txt"])
        try await check(archive.get("data.bin"), has: bytes)
        #expect(try await archive.get("./a%20b.txt#x").read(upTo: 100) == Array("small".utf8))
        #expect(archive.get("data.bin").lengthHint == LengthHint(2_500_000))
        await #expect(throws: ResourceError(.notFound, "")) { try await archive.get("other").read(0..<1) }
        await #expect(throws: ResourceError(.tooLarge, "")) { try await archive.get("data.bin").read(upTo: 2_499_999) }
    }

    @Test func `of a folder stay in it`() async throws {
        try await checkProcess(["mkdir", "-p", directory.file("book/OPS")])
        directory.write("secret", "secret")
        directory.write("book/OPS/a b.xhtml", "text")
        directory.write("book/.hidden", "hidden")
        try await checkProcess(["ln", "-s", directory.file("secret"), directory.file("book/link")])
        let folder = FolderFetcher(path: directory.file("book"))
        #expect(try await folder.links().map(\.href) == ["OPS/a%20b.xhtml"])
        #expect(try await folder.get("OPS/a%20b.xhtml").read(upTo: 10) == Array("text".utf8))
        for href in ["../secret", "link", "%2e%2e/secret", "OPS", "OPS/none", "/../secret"] {
            await #expect(throws: ResourceError(.notFound, ""), "\(href)") { try await folder.get(href).read(0..<1) }
        }
        await #expect(throws: ResourceError(.tooLarge, "")) {
            try await FolderFetcher(path: directory.file("book"), limit: 0).links()
        }
    }

    @Test func `may come from several fetchers and be changed on their way`() async throws {
        let first = SingleResourceFetcher(BytesResource(Link(href: "a"), [1]))
        let second = SingleResourceFetcher(BytesResource(Link(href: "b"), [2]))
        let both = RoutingFetcher([RoutingFetcher.Route(first) { $0.href == "a" }, RoutingFetcher.Route(second)])
        #expect(try await both.links().map(\.href) == ["a", "b"])
        let changed = TransformingFetcher(
            both,
            { resource in resource.link.href == "b" ? BytesResource(resource.link, [3]) : resource },
            { resource in resource.link.href == "b" ? SliceResource(resource.link, of: resource, 0..<1) : resource }
        )
        #expect(try await changed.get("a").read(0..<9) == [1])
        #expect(try await changed.get("b").read(0..<9) == [3])
    }
}

@Suite("A fetcher that is replaced")
struct InvalidatingFetcherTests {
    /// Notes when it is closed.
    private final class Child: Fetcher {
        let number: UInt8
        let events: Locked<[String]>

        init(_ number: UInt8, _ events: Locked<[String]>) {
            self.number = number
            self.events = events
            events.withLock { $0.append("made \(number)") }
        }

        func links() async throws(ResourceError) -> [Link] { [] }
        func get(_ link: Link) -> any Resource { BytesResource(link, [number]) }
        func close() { events.withLock { $0.append("closed \(number)") } }
    }

    @Test func `has its new child before the old one is closed, and keeps existing resources readable`() async throws {
        let events = Locked<[String]>([])
        let fetcher = InvalidatingFetcher(fetcher: Child(1, events)) { old in
            Child((old as? Child).map { $0.number + 1 } ?? 0, events)
        }
        let before = fetcher.get("a")
        fetcher.invalidate()
        #expect(events.withLock { $0 } == ["made 1", "made 2", "closed 1"])
        #expect(try await fetcher.get("a").read(0..<1) == [2])
        #expect(try await before.read(0..<1) == [1])
        fetcher.close()
        #expect(events.withLock { $0.last } == "closed 2")
    }

    /// As where there is nothing new to put in its place.
    @Test func `stays open where the current child is the next one, too`() async throws {
        let events = Locked<[String]>([])
        let fetcher = InvalidatingFetcher(fetcher: Child(1, events)) { $0 }
        fetcher.invalidate()
        #expect(events.withLock { $0 } == ["made 1"])
        #expect(try await fetcher.get("a").read(0..<1) == [1])
        fetcher.close()
        #expect(events.withLock { $0 } == ["made 1", "closed 1"])
    }

    /// Its resources wait in the middle of a read; once it is closed they fail, or continue.
    private final class SlowChild: Fetcher {
        let failsWhenClosed: Bool
        private let isClosed = Locked(false)
        let (reading, started) = AsyncStream.makeStream(of: Void.self)
        let (gate, opened) = AsyncStream.makeStream(of: Void.self)

        init(failsWhenClosed: Bool) { self.failsWhenClosed = failsWhenClosed }

        func links() async throws(ResourceError) -> [Link] { [] }

        func get(_ link: Link) -> any Resource {
            LazyBytesResource(link) { [self] () async throws(ResourceError) in
                started.finish()
                for await _ in gate {}
                guard !failsWhenClosed || !isClosed.withLock({ $0 }) else { throw ResourceError(.unavailable, "it was closed") }
                return [1]
            }
        }

        func close() { isClosed.withLock { $0 = true } }
    }

    @Test(arguments: [false, true])
    func `lets a read that is in flight finish, or fail, when its child is closed`(fails: Bool) async throws {
        let child = SlowChild(failsWhenClosed: fails)
        let events = Locked<[String]>([])
        let fetcher = InvalidatingFetcher(fetcher: child) { _ in Child(2, events) }
        let before = fetcher.get("a")
        let reading = Task { try await before.read(0..<1) }
        for await _ in child.reading {}
        // neither waits for the other
        fetcher.invalidate()
        #expect(try await fetcher.get("a").read(0..<1) == [2])
        child.opened.finish()
        let result = await reading.result
        if fails {
            #expect(throws: ResourceError(.unavailable, "")) { try result.get() }
        } else {
            #expect(try result.get() == [1])
        }
        #expect(events.withLock { $0 } == ["made 2"])
    }

    @Test func `closes every child but the last once when it is replaced concurrently`() async throws {
        let events = Locked<[String]>([])
        let numbers = Locked<UInt8>(1)
        let fetcher = InvalidatingFetcher(fetcher: Child(1, events)) { _ in
            Child(
                numbers.withLock {
                    $0 += 1; return $0
                },
                events
            )
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { fetcher.invalidate() } }
        }
        let all = events.withLock { $0 }
        let last = try await fetcher.get("a").read(0..<1)[0]
        let made = all.filter { $0.hasPrefix("made") }.map { $0.dropFirst(5) }
        let closed = all.filter { $0.hasPrefix("closed") }.map { $0.dropFirst(7) }
        #expect(made.count >= 51)
        #expect(Set(closed).count == closed.count)
        #expect(Set(made).subtracting(closed) == ["\(last)"])
    }
}
