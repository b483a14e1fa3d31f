// SPDX-License-Identifier: Apache-2.0

import CarrelDCF
import CarrelJSON
import CarrelBytes
import CarrelCrypto
import CarrelMedia
import CarrelTesting
import ProtectedMedia
import Testing

@Suite("The examples of the catalog")
struct DecryptMediaTests {
    @Test(.enabled(if: Fixtures.directory != nil)) func `name a protection, and decrypt a file`() async throws {
        let fixture = try #require(ProtectedFixture.named("cenc/").first { $0.entry["keys"]?.array?.count == 1 })
        let path = try #require(Fixtures.directory) + "/media/" + fixture.name
        let key = try #require(fixture.entry["keys"]?.array?.first)
        let id = try #require(key["kid"]?.string.flatMap { Hex.decode($0) })
        let bytes = try #require(key["key"]?.string.flatMap { Hex.decode($0) })
        let words = try await protection(of: path)
        #expect(words.hasPrefix("Common Encryption") && words.hasSuffix(Hex.encode(id)))
        let directory = TemporaryDirectory()
        let length = try await decrypt(path, to: directory.file("clear.mp4"), keyID: id, key: bytes)
        #expect(Int64(Fixtures.bytes(at: directory.file("clear.mp4"))?.count ?? 0) == length)
        #expect(try await protection(of: directory.file("clear.mp4")) == "not protected")
        try await #require(throws: MediaError.self) {
            _ = try await decrypt(path, to: directory.file("wrong.mp4"), keyID: id, key: [UInt8](repeating: 1, count: 16))
        }
        #expect(Fixtures.bytes(at: directory.file("wrong.mp4")) == nil)
    }

    @Test func `decrypt a segment in pieces`() async throws {
        let clear = numbered(1000)
        // the number of the segment is the initialization vector
        let encrypted = try encrypted(clear, .cbc, iv: AESBlock(high: 0, low: 9))
        let key = streamKey.withBytes { bytes in (0..<bytes.byteCount).map { bytes.u8(at: $0) } }
        let pieces = [Array(encrypted[..<17]), Array(encrypted[17...])]
        let line = #"#EXT-X-KEY:METHOD=AES-128,URI="key.bin""#
        let got = try await clearSegment(pieces, number: 9, keyLine: line, of: "https://example.org/a/list.m3u8", key: key)
        #expect(got == clear)
    }

    @Test(.enabled(if: Fixtures.directory != nil)) func `read the end of a protected stream`() async throws {
        let fixture = try #require(ProtectedFixture.payloads.first)
        let path = try #require(Fixtures.directory) + "/media/" + fixture.name
        let source = try await FileSource(path: path)
        let stream = try await MediaStream.open(source, as: .dcf(), keys: fixture.keys)
        let all = try await stream.read(0..<stream.size)
        #expect(try await tail(of: path, count: 100, keys: fixture.keys) == Array(all.suffix(100)))
    }
}
