// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelJSON
import CarrelMP4
import CarrelMedia
import CarrelTesting
import CarrelThreads
import ProtectedMedia
import Testing

struct `A stream of encrypted content` {
    private static let iv = AESBlock(high: 7, low: 8)

    /// Which source holds the bytes.
    enum Place: CaseIterable { case memory, file, server }

    /// Sources keep their files and threads alive.
    struct Opened {
        var stream: MediaStream
        var folder: TemporaryDirectory?
    }

    private func open(
        _ bytes: [UInt8],
        _ place: Place,
        _ kind: MediaStream.Kind,
        _ keys: some ContentKeySource,
        clock: any WallClock = SystemClock()
    ) async throws -> Opened {
        switch place {
        case .memory: return Opened(stream: try await MediaStream.open(MemorySource(bytes), as: kind, keys: keys, clock: clock))
        case .file:
            let folder = TemporaryDirectory()
            let file = try LocalFile(folder.write("a", bytes))
            let threads = BlockingThreadPool(name: "read", count: 1)
            let source = FileSource(file, threads: threads)
            return Opened(stream: try await MediaStream.open(source, as: kind, keys: keys, clock: clock), folder: folder)
        case .server:
            let source = HTTPSource("https://media.example/a", client: RangeServer(bytes))
            return Opened(stream: try await MediaStream.open(source, as: kind, keys: keys, clock: clock))
        }
    }

    private var keys: GivenKeys {
        var keys = GivenKeys()
        keys.add(streamKey, for: .content("cid:one@example"))
        keys.add(streamKey, for: .address("https://keys.example/1"))
        return keys
    }

    private func kinds(_ count: Int) throws -> [(MediaStream.Kind, [UInt8])] {
        let clear = numbered(count)
        let raw = MediaStream.RawFormat(
            key: .address("https://keys.example/1"),
            iv: Self.iv,
            counterWidth: .low64,
            contentType: "audio/mpeg"
        )
        var inFront = raw
        inFront.iv = nil
        return [
            (.dcf(), try streamedDCF(.cbc, clear)),
            (.dcf(), try streamedDCF(.counter, clear)),
            (.dcf(), try streamedDCF(.none, clear)),
            (.aes128CBC(raw), try encrypted(clear, .cbc, iv: Self.iv)),
            (.aes128CBC(inFront), Self.iv.bytes + (try encrypted(clear, .cbc, iv: Self.iv))),
            (.aes128CTR(raw), try encrypted(clear, .counter, iv: Self.iv)),
            (.aes128CTR(inFront), Self.iv.bytes + (try encrypted(clear, .counter, iv: Self.iv))),
        ]
    }

    /// A source that says it is as long as numbers go.
    private struct EndlessSource: MediaSource {
        func open() -> MediaSourceInformation { MediaSourceInformation(length: .max) }
        func read(_ range: Range<Int64>) -> [UInt8] { [UInt8](repeating: 0, count: range.count) }
        func close() {}
    }

    @Test func `is read up to any number, from any place`() async throws {
        let raw = MediaStream.RawFormat(key: .address("https://keys.example/1"), iv: Self.iv)
        let clear = numbered(100)
        let short = try await open(try encrypted(clear, .counter, iv: Self.iv), .memory, .aes128CTR(raw), keys).stream
        #expect(try await short.read(upTo: 10) == Array(clear[..<10]))
        #expect(try await short.read(upTo: .max) == Array(clear[10...]))
        #expect(try await short.read(upTo: .min).isEmpty)
        let endless = try await MediaStream.open(EndlessSource(), as: .aes128CTR(raw), keys: keys)
        endless.seek(to: .max - 20)
        #expect(try await endless.read(upTo: .max).count == 20)
        #expect(try await endless.read(.max - 9..<Int64.max).count == 9)
        await #expect(throws: Malformed.self) { _ = try await MediaStream.open(EndlessSource(), as: .dcf(), keys: keys) }
    }

    @Test(arguments: Place.allCases, [0, 1, 16, 1000, 70_000])
    func `is read in order, in pieces of any size`(place: Place, count: Int) async throws {
        let clear = numbered(count)
        for (kind, bytes) in try kinds(count) {
            let opened = try await open(bytes, place, kind, keys)
            let stream = opened.stream
            #expect(stream.size == Int64(count))
            #expect(stream.contentType == "audio/mpeg")
            for piece in [1, 15, 16, 17, 4096, 1 << 20] where count / piece < 2000 {
                stream.seek(to: 0)
                var all: [UInt8] = []
                while true {
                    let bytes = try await stream.read(upTo: piece)
                    if bytes.isEmpty { break }
                    all += bytes
                    #expect(stream.tell() == Int64(all.count))
                }
                #expect(all == clear)
            }
            await stream.close()
        }
    }

    @Test(arguments: Place.allCases)
    func `is read from any place`(place: Place) async throws {
        let clear = numbered(1000)
        for (kind, bytes) in try kinds(1000) {
            let opened = try await open(bytes, place, kind, keys)
            let stream = opened.stream
            var random = SplitMix(seed: 1)
            for _ in 0..<100 {
                let from = Int.random(in: 0...1000, using: &random)
                let count = Int.random(in: 0...200, using: &random)
                stream.seek(to: Int64(from))
                #expect(stream.tell() == Int64(from))
                #expect(try await stream.read(upTo: count) == Array(clear[from..<min(1000, from + count)]))
                #expect(try await stream.read(Int64(from)..<Int64(from + count)) == Array(clear[from..<min(1000, from + count)]))
            }
            stream.seek(to: -5)
            #expect(stream.tell() == 0)
            stream.seek(to: .max)
            #expect(stream.tell() == 1000)
            #expect(try await stream.read(upTo: 10).isEmpty)
            #expect(try await stream.read(upTo: -1).isEmpty)
        }
    }

    @Test func `in CBC fetches one block before the place it reads`() async throws {
        let server = RangeServer(try streamedDCF(.cbc, numbered(300_000)))
        let source = HTTPSource("https://media.example/a", client: server)
        let stream = try await MediaStream.open(source, as: .dcf(), keys: keys)
        #expect(server.state.withLock { $0.requests } == ["bytes=0-65535"])
        stream.seek(to: 200_000)
        #expect(try await stream.read(upTo: 16) == Array(numbered(300_000)[200_000..<200_016]))
        let file = try DCFFile(BytesReader(server.state.withLock { $0.body }))
        let start = try #require(file.objects.first).payload.start
        #expect(server.state.withLock { $0.requests }.last == "bytes=\(start + 199_984)-\(start + 200_015)")
    }

    @Test func `is read by tasks that never get the same bytes`() async throws {
        let clear = numbered(100_000)
        let opened = try await open(try streamedDCF(.counter, clear), .file, .dcf(), keys)
        let pieces = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<100 { group.addTask { try await opened.stream.read(upTo: 1000) } }
            var pieces: [[UInt8]] = []
            for try await piece in group { pieces.append(piece) }
            return pieces
        }
        #expect(pieces.reduce(0) { $0 + $1.count } == clear.count)
        #expect(opened.stream.tell() == 100_000)
    }

    @Test func `gives nothing once it is closed`() async throws {
        for (kind, bytes) in try kinds(100) {
            for place in Place.allCases {
                let opened = try await open(bytes, place, kind, keys)
                await opened.stream.close()
                await opened.stream.close()
                await #expect(throws: MediaError(.closed, "")) { _ = try await opened.stream.read(upTo: 1) }
            }
        }
    }

    @Test func `reads the object that it is asked for`() async throws {
        let oracle = try #require(ProtectedFixture.all.first { $0.name == "dcf/multi-object.dcf" })
        let bytes = try Fixtures.bytes("media/dcf/multi-object.dcf")
        let expected = try #require(oracle.entry["objects"]?.array)
        for (number, expected) in expected.enumerated() {
            let stream = try await MediaStream.open(MemorySource(bytes), as: .dcf(object: number + 1), keys: oracle.keys)
            let clear = try await stream.read(upTo: 1 << 20)
            #expect(Hex.encode(SHA256.hash(clear.rawSpan)) == expected["plaintext_sha256"]?.string)
            #expect(stream.headers?.contentID == expected["content_id"]?.string)
        }
        for number in [Int.min, 0, 4, Int.max] {
            await #expect(throws: MediaError(.unsupported, "")) {
                _ = try await MediaStream.open(MemorySource(bytes), as: .dcf(object: number), keys: oracle.keys)
            }
        }
    }
}

struct `The key of a stream` {
    private let name = ContentKeyName.content("cid:one@example")

    private func open(_ keys: GrantedKeys, clock: any WallClock = SystemClock(), group: DCFGroupKey? = nil) async throws
        -> MediaStream
    {
        try await MediaStream.open(
            MemorySource(streamedDCF(.cbc, numbered(100), group: group)),
            as: .dcf(),
            keys: keys,
            clock: clock
        )
    }

    @Test func `requests a key by group, by content id, and for everything`() async throws {
        let groupKey = Secret([UInt8](repeating: 3, count: 16))
        let group = try DCFGroupKey(
            wrapping: streamKey,
            groupID: "group@example",
            groupKey: groupKey,
            iv: AESBlock(high: 1, low: 1)
        )
        let grant = ContentKeyAnswer.granted(ContentKeyGrant(key: streamKey))
        let groupGrant = ContentKeyAnswer.granted(ContentKeyGrant(key: groupKey))
        let cases: [(ContentKeyName, ContentKeyAnswer)] = [
            (name, grant), (.group("group@example"), groupGrant), (.track(0), grant),
        ]
        for (name, answer) in cases {
            let stream = try await open(GrantedKeys(answers: [name: answer]), group: group)
            #expect(try await stream.read(upTo: 100) == numbered(100))
        }
        await #expect(throws: MediaError(.wrongKey, "")) {
            _ = try await open(GrantedKeys(answers: [.group("group@example"): grant]), group: group)
        }
    }

    @Test func `that is missing, refused, or not there yet is an error that names the content`() async throws {
        let cases: [(ContentKeyAnswer, MediaError.Code, String)] = [
            (.unknown, .missingKey, "no key is given for content id cid:one@example"),
            (.pending, .missingKey, "the license for content id cid:one@example is not there yet"),
            (
                .refused("the loan has ended"), .refusedKey,
                "the key for content id cid:one@example is refused: the loan has ended"
            ),
        ]
        for (answer, code, message) in cases {
            do {
                _ = try await open(GrantedKeys(answers: [name: answer]))
                Issue.record("opened")
            } catch let error as MediaError {
                #expect(error.code == code)
                #expect(error.message == message)
            }
        }
    }

    @Test func `opens a DCF only when it relaxes the controls of the output`() async throws {
        let grant = ContentKeyGrant(key: streamKey, relaxesOutput: false)
        await #expect(throws: MediaError(.outputControl, "")) {
            _ = try await open(GrantedKeys(answers: [name: .granted(grant)]))
        }
        // content in the clear needs no key
        let clear = try await MediaStream.open(MemorySource(streamedDCF(.none, numbered(9))), as: .dcf(), keys: GrantedKeys())
        #expect(try await clear.read(upTo: 9) == numbered(9))
        // other formats are not OMA's
        let bytes = try encrypted(numbered(9), .counter, iv: AESBlock(high: 1, low: 1))
        let raw = MediaStream.RawFormat(key: name, iv: AESBlock(high: 1, low: 1))
        let stream = try await MediaStream.open(
            MemorySource(bytes),
            as: .aes128CTR(raw),
            keys: GrantedKeys(answers: [name: .granted(grant)])
        )
        #expect(try await stream.read(upTo: 9) == numbered(9))
    }

    @Test func `ends when its grant does, also between two reads`() async throws {
        let clock = ManualClock(Instant(milliseconds: 1_000_000))
        let grant = ContentKeyGrant(key: streamKey, end: Instant(milliseconds: 2_000_000))
        let stream = try await open(GrantedKeys(answers: [name: .granted(grant)]), clock: clock)
        #expect(try await stream.read(upTo: 1) == [0])
        clock.set(Instant(milliseconds: 2_000_000))
        await #expect(throws: MediaError(.expiredKey, "")) { _ = try await stream.read(upTo: 1) }
        #expect(stream.tell() == 1)
        await #expect(throws: MediaError(.expiredKey, "")) {
            _ = try await open(GrantedKeys(answers: [name: .granted(grant)]), clock: clock)
        }
    }

    @Test func `that is another is noticed by the padding`() async throws {
        let other = ContentKeyAnswer.granted(ContentKeyGrant(key: Secret([UInt8](repeating: 9, count: 16))))
        let stream = try await open(GrantedKeys(answers: [name: other]))
        await #expect(throws: Malformed.self) { _ = try await stream.read(upTo: 100) }
        let raw = MediaStream.RawFormat(key: name, iv: AESBlock(high: 1, low: 1))
        let bytes = try encrypted(numbered(9), .cbc, iv: AESBlock(high: 1, low: 1))
        await #expect(throws: Malformed.self) {
            _ = try await MediaStream.open(MemorySource(bytes), as: .aes128CBC(raw), keys: GrantedKeys(answers: [name: other]))
        }
    }
}

struct `A source of bytes` {
    private func source(_ change: (inout sending RangeServer.State) -> Void) -> (HTTPSource, RangeServer) {
        let server = RangeServer(numbered(200_000))
        server.state.withLock { change(&$0) }
        return (HTTPSource("https://media.example/a", client: server), server)
    }

    private func message(_ code: MediaError.Code = .unavailable, _ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch let error as MediaError {
            #expect(error.code == code)
            return error.message
        } catch {
            Issue.record("\(error)")
            return nil
        }
    }

    @Test func `on a server is read by ranges`() async throws {
        let (source, _) = source { _ in }
        #expect(try await source.open() == MediaSourceInformation(length: 200_000, contentType: "application/vnd.oma.drm.dcf"))
        #expect(try await source.read(10..<20) == Array(numbered(200_000)[10..<20]))
        #expect(try await source.read(65_530..<65_540) == Array(numbered(200_000)[65_530..<65_540]))
        #expect(try await source.read(199_999..<200_000) == numbered(200_000).suffix(1))
        #expect(try await source.read(5..<5).isEmpty)
        let (empty, _) = self.source { $0.body = [] }
        #expect(try await empty.open().length == 0)
    }

    @Test func `on a server must be served by ranges, and stay the same`() async throws {
        let (whole, _) = source { $0.servesRanges = false }
        #expect(
            await message(.noRanges) { _ = try await whole.open() }
                == "https://media.example/a: the server does not serve byte ranges"
        )
        let (shifted, _) = source { $0.shift = 1 }
        #expect(
            await message { _ = try await shifted.open() }
                == "https://media.example/a: the server returned another range than requested"
        )
        for change: @Sendable (inout sending RangeServer.State) -> Void in [{ $0.tag = "\"2\"" }, { $0.body.removeLast() }] {
            let (source, server) = source { _ in }
            _ = try await source.open()
            server.state.withLock { change(&$0) }
            #expect(
                await message { _ = try await source.read(100_000..<100_001) }
                    == "https://media.example/a has changed while it was read"
            )
        }
        let (late, server) = source { _ in }
        _ = try await late.open()
        server.state.withLock { $0.shift = 3 }
        #expect(
            await message { _ = try await late.read(100_000..<100_001) }
                == "https://media.example/a: the server returned another range than requested"
        )
    }

    @Test(arguments: [
        "", "bytes", "bytes 0-9", "bytes 0-9/", "bytes -1-9/10", "bytes 9-0/10", "bytes 0-99999999999999999999/10", "bytes a-b/c",
        "bytes 0-9/9",
        "bytes 0-9223372036854775807/9223372036854775807", "bytes 0 -9/10", "bytes 0-9/+10", "items 0-9/10", "/", "bytes /10",
        "bytes */*",
    ])
    func `on a server refuses a damaged range`(text: String) async {
        struct Client: MediaHTTPClient {
            let text: String

            func get(_ url: String, fields: [MediaHTTPField], limit: Int) -> MediaHTTPResponse {
                MediaHTTPResponse(status: 206, fields: [MediaHTTPField("Content-Range", text)], body: numbered(10))
            }
        }
        #expect(await message { _ = try await HTTPSource("a", client: Client(text: text)).open() } != nil)
    }

    @Test func `on disk must be a regular file`() async throws {
        let folder = TemporaryDirectory()
        #expect(await message { _ = try LocalFile(folder.file("none")) } != nil)
        #expect(await message { _ = try LocalFile(folder.path) } != nil)
        let file = try LocalFile(folder.write("a", numbered(100)))
        let threads = BlockingThreadPool(name: "read", count: 1)
        let source = FileSource(file, contentType: "a/b", threads: threads)
        #expect(try source.open() == MediaSourceInformation(length: 100, contentType: "a/b"))
        #expect(try await source.read(50..<60) == Array(numbered(100)[50..<60]))
        #expect(try await source.read(100..<100).isEmpty)
        // the file becomes shorter while it is read
        folder.write("a", numbered(10))
        await #expect(throws: Malformed("file ended early", at: 50)) { _ = try await source.read(50..<60) }
        source.close()
        await #expect(throws: MediaError(.closed, "")) { _ = try await source.read(0..<1) }
    }
}
