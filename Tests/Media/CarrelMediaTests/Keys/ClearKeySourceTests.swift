// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelMP4
import CarrelMedia
import CarrelTesting
import ProtectedMedia
import Testing

struct `A source of ClearKey licenses` {
    private static let id = [UInt8](0x10..<0x20)
    private static let key = [UInt8](repeating: 0xfe, count: 16)

    private static func license(_ keys: [(id: [UInt8], key: [UInt8])], type: String = "oct") -> [UInt8] {
        let list = keys.map { entry -> JSON in
            ["kty": .string(type), "kid": .string(Base64URL.encode(entry.id)), "k": .string(Base64URL.encode(entry.key))]
        }
        return (["keys": .array(list), "type": "temporary"] as JSON).write()
    }

    private static func source(_ body: [UInt8], status: Int = 200) -> (ClearKeySource, KeyServer) {
        let server = KeyServer { _ in MediaHTTPResponse(status: status, body: body) }
        return (ClearKeySource("https://license.example/?token=secret", client: server), server)
    }

    @Test func `posts a license request and takes the key out of the license`() async throws {
        let server = KeyServer { _ in MediaHTTPResponse(status: 200, body: Self.license([(Self.id, Self.key)])) }
        let source = ClearKeySource("https://license.example/a", client: server, fields: [MediaHTTPField("X-Token", "b")])
        #expect(await source.bytes(.id(Self.id)) == Self.key)
        let request = try #require(server.requests.withLock { $0 }.first)
        #expect(request.url == "https://license.example/a")
        // W3C EME §9.1.3: base64url without padding
        #expect(String(decoding: request.body, as: UTF8.self) == #"{"kids":["EBESExQVFhcYGRobHB0eHw"],"type":"temporary"}"#)
        #expect(request.fields.contains(MediaHTTPField("Content-Type", "application/json")))
        #expect(request.fields.contains(MediaHTTPField("X-Token", "b")))
        #expect(request.limit == 64 << 10)
        #expect(await source.bytes(.id(Self.id)) == Self.key)
        #expect(server.count == 1)
    }

    @Test func `takes a license as the specification writes one`() async {
        let text = #"{"keys":[{"kty":"oct","k":"tQ0bJVWb6b0KPL6KtZIy_A","kid":"LwVHf8JLtPrv2GUXFW2v_A"}],"type":"temporary"}"#
        let (source, _) = Self.source(Array(text.utf8))
        let id = Base64URL.decode("LwVHf8JLtPrv2GUXFW2v_A") ?? []
        #expect(await source.bytes(.id(id)) == Base64URL.decode("tQ0bJVWb6b0KPL6KtZIy_A"))
    }

    @Test func `keeps further keys of a license`() async {
        let other = [UInt8](repeating: 3, count: 16)
        let (source, server) = Self.source(Self.license([(other, [UInt8](1...16)), (Self.id, Self.key)]))
        #expect(await source.bytes(.id(Self.id)) == Self.key)
        #expect(await source.bytes(.id(other)) == [UInt8](1...16))
        #expect(server.count == 1)
    }

    @Test func `does not know keys without an id`() async {
        let (source, server) = Self.source(Self.license([(Self.id, Self.key)]))
        for name in [ContentKeyName.track(1), .content("a"), .address("https://a/"), .id([1, 2])] {
            #expect(await source.isUnknown(name))
        }
        #expect(server.count == 0)
    }

    @Test func `refuses with the reason`() async {
        let one = Self.license([(Self.id, Self.key)])
        let cases: [(Int, [UInt8], String)] = [
            (401, one, "the license server returned status 401"),
            (200, Self.license([([UInt8](0..<16), Self.key)]), "the license has no key with this id"),
            (200, Self.license([]), "the license has no key with this id"),
            (200, Self.license([(Self.id, Self.key)], type: "RSA"), "the license has no key with this id"),
            (200, Self.license([(Self.id, Self.key + [1])]), "the license has a key of 17 bytes, and keys have 16"),
            (200, Self.license([(Self.id, [])]), "the license has a key of 0 bytes, and keys have 16"),
            (200, Array("{}".utf8), "the license is not one of ClearKey"),
            (200, Array("[".utf8), "the license is not one of ClearKey"),
            (200, Array(#"{"keys":[{"kty":"oct","kid":"==","k":"AA"}]}"#.utf8), "the license is not one of ClearKey"),
            (200, one + [UInt8](repeating: 0x20, count: 64 << 10), "the license is longer than 64 KiB"),
        ]
        for (status, body, reason) in cases {
            let (source, server) = Self.source(body, status: status)
            #expect(await source.refusal(.id(Self.id)) == reason)
            #expect(server.count == 1)
        }
        let silent = ClearKeySource("https://license.example/?token=secret", client: KeyServer { _ in nil })
        #expect(await silent.refusal(.id(Self.id)) == "the license server gave no usable response")
    }

    @Test func `refuses a license that is cut off anywhere`() async {
        let whole = Self.license([(Self.id, Self.key)])
        for count in 0..<whole.count {
            let (source, _) = Self.source(Array(whole.prefix(count)))
            #expect(await source.refusal(.id(Self.id)) != nil)
        }
    }

    @Test func `opens a file of Common Encryption`() async throws {
        let fixture = try #require(ProtectedFixture.samples.first { $0.name == "cenc/av.cenc.mp4" })
        let keys = fixture.keys
        let known = (fixture.entry["keys"]?.array ?? []).compactMap { entry -> (id: [UInt8], key: [UInt8])? in
            guard let id = entry["kid"]?.string.flatMap({ Hex.decode($0) }),
                let key = entry["key"]?.string.flatMap({ Hex.decode($0) })
            else { return nil }
            return (id, key)
        }
        #expect(!keys.isEmpty && !known.isEmpty)
        let server = KeyServer { request in
            let kids = (try? JSON.parse(request.body.rawSpan))?["kids"]?.array?.compactMap { $0.string } ?? []
            return MediaHTTPResponse(
                status: 200,
                body: Self.license(known.filter { kids.contains(Base64URL.encode($0.id)) })
            )
        }
        let bytes = try Fixtures.bytes("media/\(fixture.name)")
        let source = ClearKeySource("https://license.example/", client: server)
        var sink = BytesSink()
        try await MediaDecryption(of: BytesReader(bytes), keys: source).write(to: &sink)
        let file = try MP4File(BytesReader(sink.bytes))
        #expect(try file.digest(of: "vide") == fixture.samples("v"))
        #expect(try file.digest(of: "soun") == fixture.samples("a"))
        #expect(server.count == known.count)
    }

    @Test func `opens the film of ExoPlayer's tests with its published license`() async throws {
        let license = try Fixtures.bytes("drm/clearkey/sample_fragmented_clearkey.license.json")
        let film = try Fixtures.bytes("drm/clearkey/sample_fragmented_clearkey.mp4")
        let facts = try Fixtures.bytes("drm/clearkey/sample_fragmented_clearkey.expected.json")
        let expected = try JSON.parse(facts.rawSpan)
        let (source, server) = Self.source(license)
        let file = try MP4File(BytesReader(film))
        let digests = try `The clear samples of a track`.digests(file, try await FileProtection(file, from: source))
        // the digest in the list of expected values has a wrong digit: the oracle of the same file has the right one
        let oracle = try #require(ProtectedFixture.named("ext/media3/sample_fragmented_clearkey.mp4").first)
        #expect(digests["v"] == oracle.samples("v"))
        let key = expected["key_hex"]?.string.flatMap { Hex.decode($0) }
        let request = try #require(server.requests.withLock { $0 }.first)
        let id = Hex.decode(expected["kid_uuid"]?.string?.replacing("-", with: "") ?? "") ?? []
        #expect(await source.bytes(.id(id)) == key && key?.count == 16)
        #expect(String(decoding: request.body, as: UTF8.self) == #"{"kids":["\#(Base64URL.encode(id))"],"type":"temporary"}"#)
    }

    @Test(arguments: ["+/w", "+/w==", "-_w", "-_w=="])
    func `reads licenses in every form of base 64`(end: String) async {
        let start = String(repeating: "A", count: 19)
        let text = #"{"keys":[{"kty":"oct","kid":"\#(Base64.encode(Self.id))","k":"\#(start + end)"}]}"#
        let (source, _) = Self.source(Array(text.utf8))
        #expect(await source.bytes(.id(Self.id)) == Base64URL.decode(start + "-_w"))
    }
}

struct `Several sources of keys` {
    @Test func `answer with the first that knows the key`() async {
        let first = GrantedKeys(answers: [.track(1): .refused("no"), .track(2): .granted(ContentKeyGrant(key: streamKey))])
        let second = GrantedKeys(answers: [
            .track(1): .granted(ContentKeyGrant(key: streamKey)), .track(3): .granted(ContentKeyGrant(key: streamKey)),
            .track(4): .pending,
        ])
        let source = ContentKeySources([first, second])
        #expect(await source.refusal(.track(1)) == "no")
        #expect(await source.bytes(.track(2)) != nil)
        #expect(await source.bytes(.track(3)) != nil)
        guard case .pending = await source.key(.track(4)) else {
            Issue.record("not pending")
            return
        }
        #expect(await source.isUnknown(.track(5)))
        #expect(await ContentKeySources([]).isUnknown(.track(1)))
    }
}

struct `The keys of a stream` {
    @Test func `are bounded`() async throws {
        var keys = ContentKeys()
        let source = GrantedKeys(answers: [.track(1): .granted(ContentKeyGrant(key: streamKey))])
        func id(_ number: Int) -> KeyID? {
            var bytes = [UInt8](repeating: 0, count: 12)
            bytes.append(bigEndian: UInt32(number))
            return KeyID(bytes.rawSpan)
        }
        for number in 0..<ContentKeys.limit { try await keys.resolve(id(number), track: 1, from: source) }
        // known keys are not requested again
        try await keys.resolve(id(0), track: 1, from: source)
        await #expect(throws: MediaError(.malformed, "")) {
            try await keys.resolve(id(ContentKeys.limit), track: 1, from: source)
        }
    }
}
