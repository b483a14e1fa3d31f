// SPDX-License-Identifier: Apache-2.0

import CarrelDownloads
import CarrelTesting
import CarrelThreads
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

    @Test(arguments: ["another version", "a shorter part"])
    func `does not take a part that the server should not have sent`(_ fault: String) async throws {
        let world = DownloadWorld(count: 1, size: 64_000)
        world.server.fail { call in
            guard call.path == "segment-0.ts", call.earlier < 2 else { return false }
            if call.earlier == 0 {
                call.connection.write("HTTP/1.1 200 OK\r\nETag: \"s0\"\r\nContent-Length: 64000\r\n\r\n")
                call.connection.write([UInt8](repeating: 0, count: 32_000))
                usleep(50_000)
                call.close()
                return true
            }
            let isOther = fault == "another version"
            return call.connection.respond(
                206,
                ["ETag: \"\(isOther ? "other" : "s0")\"", "Content-Range: bytes 32000-\(isOther ? 63_999 : 39_999)/64000"],
                body: [UInt8](repeating: 9, count: isOther ? 32_000 : 8_000)
            )
        }
        let queue = try world.queue()
        let item = try await queue.save(world.server.url)
        #expect(item.state == .completed, "\(item.message ?? "")")
        #expect(world.isWhole(item.id, count: 1))
        await queue.close()
    }

    @Test func `refuses a source that changed in its media and not in its shape`() async throws {
        let world = DownloadWorld()
        let queue = try world.queue { $0.pace.attempts = 2 }
        world.server.fail { call in call.path == "segment-5.ts" ? call.connection.respond(503) : false }
        let item = try await queue.save(world.server.url)
        world.server.fail { call in
            guard call.path == "video.m3u8" else { return false }
            let lines = (0..<8).map { "#EXTINF:4,\nsegment-\($0).ts?a" }
            let head = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:4\n#EXT-X-KEY:METHOD=AES-128,URI=\"key\",IV=0x01"
            return call.connection.respond(body: Array(([head] + lines + ["#EXT-X-ENDLIST", ""]).joined(separator: "\n").utf8))
        }
        try await queue.resume(item.id)
        try await queue.run(until: item.id)
        #expect(try await queue.item(item.id).reason == "download.changed")
        await queue.close()
    }

    @Test func `is completed although the address of its playlist has expired, or gets another address`() async throws {
        let world = DownloadWorld()
        let queue = try world.queue { $0.pace.attempts = 2 }
        world.server.fail { call in call.path == "segment-5.ts" ? call.connection.respond(503) : false }
        let item = try await queue.save(world.server.url + "?ticket=1")
        world.server.fail { call in
            if call.path == "segment-5.ts", call.earlier < 4 { return call.connection.respond(403) }
            return call.request.target.contains("ticket=1") ? call.connection.respond(403) : false
        }
        try await queue.resume(item.id)
        try await queue.run(until: item.id)
        #expect(try await queue.item(item.id).reason == "download.unauthorized")
        try await queue.setSource(DownloadSource(world.server.url + "?ticket=2"), of: item.id)
        try await queue.resume(item.id)
        try await queue.run(until: item.id)
        #expect(try await queue.item(item.id).state == .completed)
        #expect(world.isWhole(item.id, count: 8))
        await queue.close()
    }

    @Test func `refuses a resource that changes between two of its ranges, also after a pause`() async throws {
        let world = DownloadWorld()
        let version = Locked("one")
        world.server.fail { call in
            if call.path == "video.m3u8" {
                let head = ["#EXTM3U", "#EXT-X-VERSION:4", "#EXT-X-TARGETDURATION:4", "#EXT-X-KEY:METHOD=AES-128,URI=\"key\""]
                let lines = (0..<8).map { "#EXTINF:4,\n#EXT-X-BYTERANGE:1600@\($0 * 1600)\nfilm.ts" }
                return call.connection.respond(body: Array((head + lines + ["#EXT-X-ENDLIST", ""]).joined(separator: "\n").utf8))
            }
            guard call.path == "film.ts", let range = call.request["Range"]?.dropFirst(6).split(separator: "-"),
                let first = range.first.flatMap({ Int($0) })
            else { return false }
            let tag = version.withLock { $0 }
            if first == 8000, tag == "one" { return call.connection.respond(503) }
            return call.connection.respond(
                206,
                ["ETag: \"\(tag)\"", "Content-Range: bytes \(first)-\(first + 1599)/12800"],
                body: [UInt8](repeating: 1, count: 1600)
            )
        }
        let queue = try world.queue { $0.pace.attempts = 2 }
        let item = try await queue.save(world.server.url)
        #expect(item.reason == "download.unavailable", "\(item.message ?? "")")
        version.withLock { $0 = "two" }
        try await queue.resume(item.id)
        try await queue.run(until: item.id)
        #expect(try await queue.item(item.id).reason == "download.changed")
        await queue.close()
    }

    @Test func `ends at the quota of an item, whatever its playlist promised`() async throws {
        let world = DownloadWorld(count: 8, size: 20_000)
        world.server.setBandwidth(1000)
        let queue = try world.queue()
        var limits = try await queue.queueLimits()
        limits.itemQuota = 50_000
        try await queue.setQueueLimits(limits)
        let item = try await queue.save(world.server.url)
        #expect(item.state == .failed && item.reason == "download.quota")
        #expect(item.done <= 50_000)
        await queue.close()
    }

    @Test func `keeps no ticket of an address in its journal`() async throws {
        let world = DownloadWorld()
        let ticket = "Zm9vYmFyMTIzNDU2Nzg5MGFiY2RlZg"
        let queue = try world.queue { $0.pace.attempts = 2 }
        let base = "http://127.0.0.1:\(world.server.port)/stream/\(ticket)/playlist.m3u8"
        world.server.fail { call in
            guard call.path.hasPrefix("stream/") else { return false }
            if call.path.hasSuffix("playlist.m3u8") {
                let lines = [
                    "#EXTM3U", "#EXT-X-TARGETDURATION:4", "#EXT-X-KEY:METHOD=AES-128,URI=\"/key\"", "#EXTINF:4,", "1.ts",
                    "#EXT-X-ENDLIST", "",
                ]
                return call.connection.respond(body: Array(lines.joined(separator: "\n").utf8))
            }
            return call.connection.respond(503)
        }
        let item = try await queue.save(base)
        #expect(item.reason == "download.unavailable", "\(item.message ?? "")")
        #expect(item.title == "playlist.m3u8")
        world.server.fail { call in call.path.hasPrefix("stream/") ? call.connection.respond(410) : false }
        try await queue.restart(item.id)
        try await queue.run(until: item.id)
        let gone = try await queue.item(item.id)
        #expect(gone.reason == "download.gone" && gone.message?.contains("playlist.m3u8") == true, "\(gone.message ?? "")")
        await queue.close()
        for name in ["downloads.sqlite", "downloads.sqlite-wal"] {
            let text = String(decoding: world.directory.read("reader/downloads/\(name)") ?? [], as: UTF8.self)
            #expect(!text.contains(ticket))
        }
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
        #expect(
            changed.message?.contains("http://127.0.0.1:\(world.server.port)/master.m3u8") == true,
            "\(changed.message ?? "")"
        )
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
        await #expect(throws: DownloadError(.vault, "")) { try await locked.run(until: item.id) }
        // the item is not the cause
        #expect(try await locked.item(item.id).state == .queued)
        await #expect(throws: DownloadError(.vault, "")) { try await locked.add(DownloadSource("https://media.example/2.m3u8")) }
        try await locked.delete(item.id)
        #expect(try await locked.items().isEmpty)
        await locked.close()
    }
}
