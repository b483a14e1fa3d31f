// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelMedia
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import ProtectedMedia
import Testing

/// A source of one key with terms.
struct TermKeys: ContentKeySource {
    var key: [UInt8]
    var relaxesOutput = true
    var end: Instant?

    func key(_ name: ContentKeyName) async -> ContentKeyAnswer {
        .granted(ContentKeyGrant(key: key, relaxesOutput: relaxesOutput, end: end))
    }
}

struct `A DCF source` {
    /// The key of all DCF fixtures.
    static let key = Hex.decode("4151ee2a6a25190e8d1e9bb2a4f6b640") ?? []
    private static let names = [
        "tiny.cbc.dcf", "tiny.ctr.dcf", "note.cbc.dcf", "note.ctr.dcf", "mp3.cbc.dcf", "epub.cbc.dcf", "epub.ctr.dcf",
    ]

    private static func given() -> GivenKeys {
        var keys = GivenKeys()
        keys.add(Secret(key), for: nil)
        return keys
    }

    private static func clear(_ name: String) throws -> [UInt8] {
        let entry = try #require(ProtectedFixture.payloads.first { $0.name == "dcf/\(name)" }).entry
        let source = try #require(entry["clear_source"]?.string)
        return try #require(Fixtures.bytes(at: try Fixtures.path("media/src/\(source)")))
    }

    private static func request(_ url: String, _ method: HTTPMethod = .get, _ headers: HTTPFields) async throws -> ClientResponse
    {
        let client = HTTPClient()
        return try await client.send(ClientRequest(method, url, headers: headers))
    }

    @Test(arguments: names, SourcePlace.allCases)
    func `is a stream of its clear bytes with its media type`(name: String, place: SourcePlace) async throws {
        let folder = try Fixtures.path("media/dcf")
        let origin = try OriginServer(folder)
        let run = try ProxyRun()
        let source = place == .local ? "\(folder)/\(name)" : "\(origin.origin)/\(name)"
        let session = try run.proxy.makeURL(source, .singleFile, keys: Self.given())
        #expect(session.url.hasSuffix("/content"))
        let got = try await ProxyRun.get(session.url)
        let expected = try Self.clear(name)
        #expect(got.status == 200 && got.body == expected)
        let entry = ProtectedFixture.payloads.first { $0.name == "dcf/\(name)" }?.entry
        #expect(got.headers["Content-Type"] == entry?["content_type"]?.string)
        #expect(got.headers["Accept-Ranges"] == "bytes")
        #expect(run.codes == [])
        await run.proxy.stop()
        await origin.stop()
    }

    @Test(arguments: SourcePlace.allCases) func `has single and several ranges, HEAD and If-Range`(place: SourcePlace)
        async throws
    {
        let folder = try Fixtures.path("media/dcf")
        let origin = try OriginServer(folder)
        let run = try ProxyRun()
        let source = place == .local ? "\(folder)/mp3.cbc.dcf" : "\(origin.origin)/mp3.cbc.dcf"
        let url = try run.proxy.makeURL(source, .singleFile, keys: Self.given()).url
        let clear = try Self.clear("mp3.cbc.dcf")

        let head = try await Self.request(url, .head, [:])
        #expect(head.status == .ok && head.body.isEmpty)
        #expect(head.headers["Content-Length"] == "\(clear.count)")
        let tag = try #require(head.headers["ETag"])

        for (field, range) in [("bytes=0-0", 0..<1), ("bytes=17-50000", 17..<50001), ("bytes=-9", clear.count - 9..<clear.count)]
        {
            let part = try await Self.request(url, .get, ["Range": field])
            #expect(part.status == .partialContent && part.body == Array(clear[range]))
            #expect(part.headers["Content-Range"] == "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(clear.count)")
        }
        let several = try await Self.request(url, .get, ["Range": "bytes=0-9,5000-5009"])
        #expect(several.status == .partialContent)
        #expect(several.headers["Content-Type"]?.hasPrefix("multipart/byteranges") == true)
        let text = several.body
        for range in [0..<10, 5000..<5010] {
            let wanted = Array(clear[range])
            #expect((0...text.count - 10).contains { Array(text[$0..<$0 + 10]) == wanted })
        }
        let same = try await Self.request(url, .get, ["Range": "bytes=0-9", "If-Range": tag])
        #expect(same.status == .partialContent && same.body.count == 10)
        let other = try await Self.request(url, .get, ["Range": "bytes=0-9", "If-Range": "\"another\""])
        #expect(other.status == .ok && other.body == clear)
        let beyond = try await Self.request(url, .get, ["Range": "bytes=\(clear.count)-"])
        #expect(beyond.status.rawValue == 416)
        let unchanged = try await Self.request(url, .get, ["If-None-Match": tag])
        #expect(unchanged.status.rawValue == 304)
        await run.proxy.stop()
        await origin.stop()
    }

    @Test(arguments: SourcePlace.allCases) func `that is shorter than it says has a code of its own`(place: SourcePlace)
        async throws
    {
        let folder = TemporaryDirectory()
        let whole = try Fixtures.bytes("media/dcf/mp3.cbc.dcf")
        let origin = try OriginServer(folder.path)
        let run = try ProxyRun()
        for count in [14, 21, 200, 5000, whole.count - 16, whole.count - 1] {
            _ = folder.write("short.dcf", Array(whole.prefix(count)))
            let source = place == .local ? folder.file("short.dcf") : "\(origin.origin)/short.dcf"
            let session = try run.proxy.makeURL(source, .singleFile, keys: Self.given())
            try await ProxyRun.expectRefusal(session.url, .wrongLength, 502, of: run)
        }
        await run.proxy.stop()
        await origin.stop()
    }

    @Test func `is sent with the caller's media type`() async throws {
        let run = try ProxyRun()
        var parameters = MediaSourceParameters()
        parameters.contentType = "text/markdown"
        let session = try run.proxy.makeURL(
            try Fixtures.path("media/dcf/note.ctr.dcf"),
            .singleFile,
            parameters,
            keys: Self.given()
        )
        #expect(try await ProxyRun.get(session.url).headers["Content-Type"] == "text/markdown")
        await run.proxy.stop()
    }

    @Test func `is detected by content if its name does not reveal it`() async throws {
        let directory = TemporaryDirectory()
        let bytes = try #require(Fixtures.bytes(at: try Fixtures.path("media/dcf/note.ctr.dcf")))
        let source = directory.write("note", bytes)
        let run = try ProxyRun { $0.usesLongURLs = true }
        let session = try run.proxy.makeURL(source, .singleFile, keys: Self.given())
        #expect(session.url.contains("/index.m3u8"))
        let redirect = try await ProxyRun.get(session.url)
        #expect(redirect.status == 307)
        let location = try #require(redirect.headers["Location"])
        let got = try await ProxyRun.get(URIReference.resolve(location, against: session.url))
        #expect(String(decoding: got.body, as: UTF8.self) == String(decoding: try Self.clear("note.ctr.dcf"), as: UTF8.self))
        #expect(got.status == 200)
        #expect(run.errors.withLock { $0 } == [])
        await run.proxy.stop()
    }

    @Test func `is refused where the license asks for output controls`() async throws {
        let path = try Fixtures.path("media/dcf/note.ctr.dcf")
        let run = try ProxyRun()
        let refused = try run.proxy.makeURL(path, .singleFile, keys: TermKeys(key: Self.key, relaxesOutput: false))
        try await ProxyRun.expectRefusal(refused.url, .outputControl, 403, of: run)
        let taken = try run.proxy.makeURL(path, .singleFile, keys: TermKeys(key: Self.key))
        #expect(try await ProxyRun.get(taken.url).status == 200)
        await run.proxy.stop()
    }

    @Test func `is refused by the seed's policy with given keys, and taken with a license that relaxes the output`() async throws
    {
        let path = try Fixtures.path("media/dcf/note.ctr.dcf")
        let run = try ProxyRun { $0.policy = .compatible }
        let refused = try run.proxy.makeURL(path, .singleFile, keys: Self.given())
        try await ProxyRun.expectRefusal(refused.url, .outputControl, 403, of: run)
        let taken = try run.proxy.makeURL(path, .singleFile, keys: TermKeys(key: Self.key))
        #expect(try await ProxyRun.get(taken.url).body == (try Self.clear("note.ctr.dcf")))
        await run.proxy.stop()
    }

    @Test func `of an origin without ranges fails with a code of its own`() async throws {
        let origin = try OriginServer(try Fixtures.path("media/dcf"), hasRanges: false)
        let run = try ProxyRun()
        let session = try run.proxy.makeURL("\(origin.origin)/mp3.cbc.dcf", .singleFile, keys: Self.given())
        try await ProxyRun.expectRefusal(session.url, .noRanges, 502, of: run)
        await run.proxy.stop()
        await origin.stop()
    }

    @Test func `without a key, or with another one, is a status`() async throws {
        let path = try Fixtures.path("media/dcf/mp3.cbc.dcf")
        let run = try ProxyRun()
        let without = try run.proxy.makeURL(path, .singleFile)
        try await ProxyRun.expectRefusal(without.url, .missingKey, 403, of: run)
        let wrong = try run.proxy.makeURL(path, .singleFile, keys: TermKeys(key: Array(repeating: 9, count: 16)))
        try await ProxyRun.expectRefusal(wrong.url, .damaged, 502, of: run)
        await run.proxy.stop()
    }

    @Test func `whose key ends is refused from then on, and the listener hears it`() async throws {
        let clock = ManualClock(Instant(milliseconds: 1_000_000_000_000))
        let run = try ProxyRun()
        let keys = TermKeys(key: Self.key, end: Instant(milliseconds: 1_000_000_010_000))
        let session = try run.proxy.makeURL(try Fixtures.path("media/dcf/mp3.cbc.dcf"), .singleFile, keys: keys, clock: clock)
        #expect(try await ProxyRun.get(session.url).status == 200)
        clock.advance(by: .seconds(10))
        try await ProxyRun.expectRefusal(session.url, .expiredKey, 403, of: run)
        #expect(run.codes == [.expiredKey])
        await run.proxy.stop()
    }

    @Test func `that is replaced while it is read ends, and never mixes two versions`() async throws {
        let bytes = try #require(Fixtures.bytes(at: try Fixtures.path("media/dcf/mp3.cbc.dcf")))
        var other = bytes
        other[bytes.count / 2] ^= 0xff
        let changes: [(tag: String, bytes: [UInt8], isSame: Bool)] = [
            ("\"one\"", bytes, true), ("\"two\"", other, false), ("\"one\"", bytes + [0], false), ("W/\"two\"", bytes, true),
        ]
        for change in changes {
            let origin = MadeOrigin()
            origin.put("film.dcf", bytes)
            origin.setTag("film.dcf", "\"one\"")
            let run = try ProxyRun()
            let session = try run.proxy.makeURL(origin.url("film.dcf"), .singleFile, keys: Self.given())
            let first = try await Self.request(session.url, .get, ["Range": "bytes=0-15"])
            #expect(first.status.rawValue == 206)
            origin.put("film.dcf", change.bytes)
            origin.setTag("film.dcf", change.tag)
            let end = bytes.count * 3 / 4
            let rest = try? await Self.request(session.url, .get, ["Range": "bytes=\(end - 16)-\(end)"])
            #expect((rest?.body.count == 17) == change.isSame, "\(change.tag)")
            #expect((run.codes == []) == change.isSame)
            await run.proxy.stop()
        }
    }
}
