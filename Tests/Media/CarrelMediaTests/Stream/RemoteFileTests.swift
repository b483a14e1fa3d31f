// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelMP4
import CarrelMedia
import CarrelMediaInspection
import CarrelTesting
import CarrelThreads
import Testing

struct `A file of a server` {
    private let url = "https://media.example/film"

    /// Reads on a thread that may wait.
    private func read(_ file: RemoteFile, _ range: Range<Int64>) async throws -> [UInt8] {
        try await BlockingThreadPool(name: "read", count: 1).run { try file.read(range) }
    }

    @Test func `is read by ranges, each block once`() async throws {
        let body = numbered(300_000)
        let server = RangeServer(body)
        let file = try await RemoteFile(url, client: server)
        #expect(file.length == 300_000)
        for range in [0..<10, 65_530..<65_550, 0..<65_536, 131_000..<262_200, 299_990..<300_000, 299_990..<400_000, 5..<5] {
            let wanted = Int64(range.lowerBound)..<Int64(range.upperBound)
            #expect(try await read(file, wanted) == Array(body[range.clamped(to: 0..<300_000)]))
        }
        let requests = server.state.withLock { $0.requests }
        #expect(requests == ["bytes=0-65535", "bytes=65536-131071", "bytes=131072-299999"])
        #expect(file.receivedBytes == 300_000)
    }

    @Test func `keeps four MiB of blocks`() async throws {
        let body = numbered(6 << 20)
        let server = RangeServer(body)
        let file = try await RemoteFile(url, client: server)
        #expect(try await read(file, 0..<6 << 20) == body)
        let first = server.state.withLock { $0.requests.count }
        // the end is kept, the beginning is not
        _ = try await read(file, 5 << 20..<6 << 20)
        #expect(server.state.withLock { $0.requests.count } == first)
        #expect(try await read(file, 0..<100) == Array(body.prefix(100)))
        #expect(server.state.withLock { $0.requests.count } == first + 1)
    }

    @Test func `may come from a server without ranges while it is small`() async throws {
        for count in [0, 1000, 1 << 20] {
            let server = WholeServer(numbered(count))
            let file = try await RemoteFile(url, client: server)
            #expect(file.length == Int64(count))
            #expect(try await read(file, 0..<file.length) == numbered(count))
        }
        let server = WholeServer(numbered(1 << 20 + 1), keepsLimit: false)
        await #expect(throws: MediaError(.noRanges, "")) { _ = try await RemoteFile(url, client: server) }
        let empty = try await RemoteFile(url, client: RangeServer([]))
        #expect(empty.length == 0)
    }

    @Test func `is refused when ranges are wrong or the file changes`() async throws {
        let server = RangeServer(numbered(300_000))
        server.state.withLock { $0.shift = 1 }
        await #expect(throws: MediaError(.unavailable, "")) { _ = try await RemoteFile(url, client: server) }
        server.state.withLock { $0.shift = 0 }
        let file = try await RemoteFile(url, client: server)
        server.state.withLock { $0.tag = "\"2\"" }
        await #expect(throws: MediaError(.unavailable, "")) { _ = try await read(file, 100_000..<100_001) }
        // the first block is here
        #expect(try await read(file, 0..<4) == [0, 1, 2, 3])
        let missing = WholeServer([], status: 404)
        do {
            _ = try await RemoteFile(url, client: missing)
            Issue.record("no error")
        } catch let error as MediaError {
            #expect(error.message == "\(url): the server returned status 404")
        }
    }

    @Test(arguments: ["cenc/av.cenc.mp4", "src/book.m4b", "ext/media3/ts/sample_h264.ts", "dash/timeline-cenc/manifest.mpd"])
    func `is inspected as a local one`(name: String) async throws {
        let body = try Fixtures.bytes("media/\(name)")
        let file = try await RemoteFile(url, client: RangeServer(body))
        let local = try MediaInspection.describe(BytesReader(body))
        let remote = try await BlockingThreadPool(name: "read", count: 1).run {
            try MediaInspection.describe(file, extent: .ends)
        }
        #expect(remote == local)
    }

    @Test func `of a long transport stream is read at its ends alone`() async throws {
        let one = try Fixtures.bytes("media/ext/media3/ts/sample_h264.ts")
        var body: [UInt8] = []
        while body.count < 12 << 20 { body += one }
        let file = try await RemoteFile(url, client: RangeServer(body))
        let facts = try await BlockingThreadPool(name: "read", count: 1).run {
            try MediaInspection.describe(file, extent: .ends)
        }
        #expect(facts["kind"]?.string == "ts")
        #expect(facts["readWhole"]?.bool == false)
        #expect(file.receivedBytes < 4 << 20)
        #expect(try MediaInspection.describe(BytesReader(body))["readWhole"] == nil)
    }
}

/// A server that sends whole files, whatever range is requested.
private struct WholeServer: MediaHTTPClient {
    let body: [UInt8]
    let status: Int
    /// Whether a body that is longer than requested is an error.
    let keepsLimit: Bool

    init(_ body: [UInt8], status: Int = 200, keepsLimit: Bool = true) {
        self.body = body
        self.status = status
        self.keepsLimit = keepsLimit
    }

    func get(_ url: String, fields: [MediaHTTPField], limit: Int) throws -> MediaHTTPResponse {
        guard !keepsLimit || body.count <= limit else { throw MediaError(.unavailable, "too long") }
        return MediaHTTPResponse(status: status, body: body)
    }
}
