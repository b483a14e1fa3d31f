// SPDX-License-Identifier: Apache-2.0

import CarrelDownloads
import CarrelTesting
import Glibc
import Testing

struct `A download with faults` {
    /// A fault of the server, and the state and reason in which the item ends.
    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reason: String?
        let respond: @Sendable (StreamServer.Call) -> Bool

        init(_ name: String, _ reason: String? = nil, _ respond: @escaping @Sendable (StreamServer.Call) -> Bool) {
            testDescription = name
            self.reason = reason
            self.respond = respond
        }

        /// A status for a segment: always, or the first times.
        static func status(_ status: Int, times: Int = .max, _ reason: String? = nil) -> Fault {
            Fault("status \(status)\(times < .max ? " \(times) times" : "")", reason) { call in
                guard call.path == "segment-3.ts", call.earlier < times else { return false }
                return call.connection.respond(status)
            }
        }
    }

    static let faults: [Fault] = [
        .status(503, times: 2), .status(500, times: 3), .status(429, times: 1), .status(401, times: 1), .status(404, times: 1),
        .status(503, "download.unavailable"), .status(401, "download.unauthorized"), .status(403, "download.unauthorized"),
        .status(404, "download.gone"), .status(410, "download.gone"), .status(400, "download.unavailable"),
        Fault("a web page instead of a segment, twice") { call in
            guard call.path == "segment-3.ts", call.earlier < 2 else { return false }
            return call.connection.respond(200, ["Content-Type: text/html"], body: Array("<html>sign in</html>".utf8))
        },
        Fault("a web page instead of every segment", "download.unavailable") { call in
            guard call.path.hasPrefix("segment") else { return false }
            return call.connection.respond(200, ["Content-Type: text/html"], body: Array("<html>sign in</html>".utf8))
        },
        Fault("a length that is longer than the body, twice") { call in
            guard call.path == "segment-3.ts", call.earlier < 2 else { return false }
            call.connection.write("HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n" + String(repeating: "x", count: 10_000))
            call.connection.hangUp()
            return true
        },
        Fault("a reset in the middle, twice") { call in
            guard call.path == "segment-3.ts", call.earlier < 2 else { return false }
            call.connection.write("HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n" + String(repeating: "x", count: 10_000))
            call.connection.resetOnClose()
            call.close()
            return true
        },
        Fault("a redirect to another path") { call in
            guard call.path == "segment-3.ts", call.earlier == 0 else { return false }
            return call.connection.respond(302, ["Location: /moved?a"])
                && call.path == "segment-3.ts"
        },
        Fault("a slow drip") { call in
            guard call.path == "segment-3.ts" else { return false }
            let bytes = StreamServer.segment(3, 20_000)
            call.connection.write("HTTP/1.1 200 OK\r\nETag: \"s3\"\r\nContent-Length: \(bytes.count)\r\n\r\n")
            for start in stride(from: 0, to: bytes.count, by: 1000) {
                call.connection.write(Array(bytes[start..<start + 1000]))
                usleep(10_000)
            }
            return true
        },
        Fault("a key server with a web page", "download.key") { call in
            guard call.path == "key" else { return false }
            return call.connection.respond(200, ["Content-Type: text/html"], body: Array("<html>sign in</html>".utf8))
        },
        Fault("a key server that refuses", "download.key") { call in
            guard call.path == "key" else { return false }
            return call.connection.respond(403)
        },
    ]

    @Test(arguments: faults)
    func `is completed with the right bytes, or says why not`(_ fault: Fault) async throws {
        let world = DownloadWorld()
        world.server.fail { call in
            if call.path == "moved" {
                StreamServer.send(StreamServer.segment(3, 20_000), "\"s3\"", call)
                return true
            }
            return fault.respond(call)
        }
        let queue = try world.queue { $0.pace.attempts = 5 }
        let item = try await queue.save(world.server.url)
        #expect(item.reason == fault.reason, "\(item.state) \(item.reason ?? "") \(item.message ?? "")")
        #expect(item.state == (fault.reason == nil ? .completed : .failed))
        if fault.reason == nil {
            #expect(world.isWhole(item.id, count: 8))
        } else {
            #expect(item.message?.isEmpty == false)
        }
        // no medium before all keys
        if fault.reason == "download.key" { #expect(world.server.segments.isEmpty) }
        // a failed item continues when the fault is over
        world.server.fail(nil)
        if item.state == .failed {
            try await queue.resume(item.id)
            try await queue.run(until: item.id)
            #expect(try await queue.item(item.id).state == .completed)
            #expect(world.isWhole(item.id, count: 8))
        }
        await queue.close()
    }

    @Test func `continues a segment that broke, if the server names its version, and never mixes two versions`() async throws {
        let world = DownloadWorld(count: 2, size: 64_000)
        world.server.fail { call in
            guard call.path.hasPrefix("segment"), call.earlier == 0 else { return false }
            let number = call.path == "segment-0.ts" ? 0 : 1
            // the second segment changes
            let tag = number == 0 ? "s0" : "old"
            call.connection.write("HTTP/1.1 200 OK\r\nETag: \"\(tag)\"\r\nContent-Length: 64000\r\n\r\n")
            call.connection.write([UInt8](repeating: number == 0 ? 0 : 9, count: 32_000))
            usleep(50_000)
            call.connection.hangUp()
            return true
        }
        let queue = try world.queue()
        let item = try await queue.save(world.server.url)
        #expect(item.state == .completed, "\(item.message ?? "")")
        #expect(world.isWhole(item.id, count: 2))
        #expect(Set(world.server.ranges) == ["segment-0.ts bytes=32000-", "segment-1.ts bytes=32000-"])
        await queue.close()
    }

    @Test func `finds expired addresses again by its playlist`() async throws {
        let world = DownloadWorld(count: 10)
        world.server.fail { [server = world.server] call in
            // in the middle
            if call.path == "segment-5.ts", call.earlier == 0 { server.changeTicket() }
            return false
        }
        let queue = try world.queue()
        let item = try await queue.save(world.server.url)
        #expect(item.state == .completed, "\(item.message ?? "")")
        #expect(world.isWhole(item.id, count: 10))
        await queue.close()
    }

    @Test func `waits for a server that is away, and fails with a reason in the end`() async throws {
        let world = DownloadWorld()
        let queue = try world.queue { $0.pace.attempts = 3 }
        world.server.stop()
        let item = try await queue.save(world.server.url)
        #expect(item.state == .failed && item.reason == "download.unavailable" && item.isRetryable)
        // a name without an address
        let other = try await queue.add(DownloadSource("https://no-such-host.invalid/master.m3u8")).item
        try await queue.run(until: other.id)
        #expect(try await queue.item(other.id).reason == "download.unavailable")
        await queue.close()
    }

    @Test func `refuses a source whose playlist changed before it continues, and names it`() async throws {
        let world = DownloadWorld()
        let queue = try world.queue { $0.pace.attempts = 2 }
        world.server.fail { call in call.path == "segment-5.ts" ? call.connection.respond(503) : false }
        let item = try await queue.save(world.server.url)
        #expect(item.state == .failed)
        world.server.fail(nil)
        world.server.setCount(9)
        try await queue.resume(item.id)
        try await queue.run(until: item.id)
        let changed = try await queue.item(item.id)
        #expect(changed.state == .failed && changed.reason == "download.changed")
        #expect(changed.message?.contains("127.0.0.1:\(world.server.port)/master.m3u8") == true, "\(changed.message ?? "")")
        // from the beginning
        try await queue.restart(item.id)
        try await queue.run(until: item.id)
        #expect(try await queue.item(item.id).state == .completed)
        #expect(world.isWhole(item.id, count: 9))
        await queue.close()
    }

    @Test func `refuses live sources and MS3 addresses`() async throws {
        let world = DownloadWorld()
        world.server.goLive()
        let queue = try world.queue()
        let item = try await queue.save(world.server.url)
        #expect(item.state == .failed && item.reason == "download.live", "\(item.reason ?? "") \(item.message ?? "")")
        await #expect(throws: DownloadError(.notStorable, "")) { try await queue.add(DownloadSource("ms3://media.example/film")) }
        await queue.close()
    }

    @Test func `finds a file that was altered on the disk before the end, and fetches it again alone`() async throws {
        let world = DownloadWorld()
        let queue = try world.queue { $0.pace.attempts = 2 }
        world.server.fail { call in call.path == "segment-5.ts" ? call.connection.respond(503) : false }
        let item = try await queue.save(world.server.url)
        world.server.fail(nil)
        let path = "reader/downloads/\(item.id)/0-1/00002.frag"
        var bytes = try #require(world.directory.read(path))
        bytes[100] ^= 1
        world.directory.write(path, bytes)
        // one file is too short, and one is gone
        world.directory.write("reader/downloads/\(item.id)/0-1/00001.frag", [1])
        try #require(unsafe unlink(world.directory.file("reader/downloads/\(item.id)/0-1/00000.frag")) == 0)
        try await queue.resume(item.id)
        try await queue.run(until: item.id)
        let damaged = try await queue.item(item.id)
        #expect(damaged.state == .failed && damaged.reason == "download.damaged" && damaged.isRetryable)
        #expect(damaged.message?.contains("00002.frag") == true)
        let before = world.server.segments.count
        try await queue.resume(item.id)
        try await queue.run(until: item.id)
        #expect(try await queue.item(item.id).state == .completed)
        #expect(world.isWhole(item.id, count: 8))
        #expect(world.server.segments.dropFirst(before) == ["segment-2.ts"])
        await queue.close()
    }

    @Test func `needs the vault for keys, and nothing else of the queue does`() async throws {
        let world = DownloadWorld()
        let queue = try world.queue()
        let (item, _) = try await queue.add(DownloadSource(world.server.url))
        await queue.close()
        let locked = try world.queue(isLocked: true)
        #expect(try await locked.items().map(\.id) == [item.id])
        try await locked.pause(item.id)
        try await locked.resume(item.id)
        try await locked.run(until: item.id)
        let failed = try await locked.item(item.id)
        #expect(failed.state == .failed && failed.reason == "download.vault" && failed.isRetryable)
        await #expect(throws: DownloadError(.vault, "")) { try await locked.add(DownloadSource("https://media.example/2.m3u8")) }
        try await locked.delete(item.id)
        #expect(try await locked.items().isEmpty)
        await locked.close()
    }
}
