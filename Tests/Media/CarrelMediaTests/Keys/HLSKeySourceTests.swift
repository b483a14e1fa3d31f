// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelHLS
import CarrelMedia
import Testing

struct `A source of the keys of a remote playlist` {
    private static let key = [UInt8](1...16)

    @Test(arguments: [16, 32]) func `fetches the key at the address of the key line`(length: Int) async {
        let key = [UInt8](repeating: 9, count: length)
        let server = KeyServer { _ in MediaHTTPResponse(status: 200, body: key) }
        let source = HLSKeySource(
            playlist: "https://media.example/film/video.m3u8",
            client: server,
            fields: [MediaHTTPField("Authorization", "a")]
        )
        #expect(await source.bytes(.address("../keys/1?token=x")) == key)
        let request = server.requests.withLock { $0 }.first
        #expect(request?.url == "https://media.example/keys/1?token=x")
        #expect(request?.fields == [MediaHTTPField("Authorization", "a")])
        #expect(request?.limit == 64)
        #expect(await source.bytes(.address("https://media.example/keys/1?token=x")) == key)
        #expect(server.count == 1)
    }

    @Test(arguments: [
        ContentKeyName.address("data:text/plain;base64,AAAA"), .address("skd://asset"), .address("key.bin"), .id(key), .track(1),
        .content("cid:1"), .group("g"),
    ])
    func `does not know other names`(name: ContentKeyName) async {
        let server = KeyServer { _ in MediaHTTPResponse(status: 200, body: Self.key) }
        #expect(await HLSKeySource(client: server).isUnknown(name))
        #expect(server.count == 0)
    }

    @Test func `refuses with the reason, and asks again`() async {
        let secret = "https://user:pass@media.example/key?token=secret#secret"
        for (response, reason) in [
            (MediaHTTPResponse(status: 403, body: Self.key), "the key server returned status 403"),
            (MediaHTTPResponse(status: 200, body: []), "the key server returned 0 bytes, and keys have 16 or 32"),
            (MediaHTTPResponse(status: 200, body: Self.key + [1]), "the key server returned 17 bytes, and keys have 16 or 32"),
            (nil, "the key server gave no usable response"),
        ] as [(MediaHTTPResponse?, String)] {
            let server = KeyServer { _ in response }
            let source = HLSKeySource(client: server)
            #expect(await source.refusal(.address(secret)) == reason)
            #expect(await source.refusal(.address(secret)) == reason)
            #expect(server.count == 2)
        }
    }

    @Test func `sends one request at a time for a key`() async {
        let (opened, open) = AsyncStream.makeStream(of: Void.self)
        let server = KeyServer(gate: { for await _ in opened {} }) { request in
            MediaHTTPResponse(status: 200, body: request.url.hasSuffix("1") ? Self.key : [UInt8](17...32))
        }
        let source = HLSKeySource(playlist: "https://media.example/a", client: server)
        let keys = await withTaskGroup { group in
            for i in 0..<40 { group.addTask { await source.bytes(.address("\(i % 2)")) } }
            while server.count < 2 { await Task.yield() }
            for _ in 0..<200 { await Task.yield() }
            open.finish()
            return await group.reduce(into: [[UInt8]?]()) { $0.append($1) }
        }
        #expect(server.count == 2)
        #expect(keys.count(where: { $0 == Self.key }) == 20)
        #expect(keys.count(where: { $0 == [UInt8](17...32) }) == 20)
    }

    @Test func `keeps a bounded number of keys`() async {
        let server = KeyServer { _ in MediaHTTPResponse(status: 200, body: Self.key) }
        let source = HLSKeySource(playlist: "https://media.example/a", client: server, limit: 4)
        for i in 0..<100 { _ = await source.bytes(.address("\(i)")) }
        #expect(server.count == 100)
        _ = await source.bytes(.address("99"))
        #expect(server.count == 100)
        _ = await source.bytes(.address("1"))
        #expect(server.count == 101)
    }

    @Test func `decrypts the segments of a remote playlist`() async throws {
        let playlist =
            "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-KEY:METHOD=AES-128,URI=\"keys/a\"\n"
            + "#EXTINF:4,\n1.ts\n#EXTINF:4,\n2.ts\n#EXT-X-ENDLIST\n"
        guard case .media(let media) = try Playlist.parse(Array(playlist.utf8).rawSpan) else {
            Issue.record("not a media playlist")
            return
        }
        let server = KeyServer { request in
            MediaHTTPResponse(status: request.url == "https://media.example/b/keys/a" ? 200 : 404, body: [UInt8](1...16))
        }
        let source = HLSKeySource(playlist: "https://media.example/b/c.m3u8", client: server)
        for (i, segment) in media.segments.enumerated() {
            let number = UInt64(7 + i)
            let bytes = try encrypted(numbered(1000), .cbc, iv: AESBlock(high: 0, low: number))
            var sink = BytesSink()
            var decrypter = try await MediaSegmentDecrypter(segment.keys.first, segment: number, keys: source)
            try await decrypter.decrypt(bytes.rawSpan, to: &sink)
            try await decrypter.finish(to: &sink)
            #expect(sink.bytes == numbered(1000))
        }
        #expect(server.count == 1)
    }

    @Test func `leaves secrets of addresses out of the errors of a segment`() async throws {
        let source = HLSKeySource(client: KeyServer { _ in MediaHTTPResponse(status: 404) })
        let line = EncryptionKey(uri: "https://user:pass@media.example/key?token=secret#secret")
        do {
            _ = try await MediaSegmentDecrypter(line, segment: 1, keys: source)
            Issue.record("not refused")
        } catch let error as MediaError {
            #expect(error.code == .refusedKey)
            #expect(error.message.contains("media.example/key?… is refused: the key server returned status 404"))
            for secret in ["pass", "secret"] { #expect(!error.message.contains(secret)) }
        }
    }
}
