// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelTesting
import CarrelZlib
import Testing

@testable import CarrelPublication

@Suite("An encrypted resource")
struct EncryptionTests {
    private let link = Link(href: "text.xhtml")
    private let key = Secret((0..<32).map { UInt8($0 * 5 + 1) })
    private let iv = (0..<16).map { UInt8(200 - $0) }

    private func contentKey() throws -> ContentKey { try ContentKey(key) }

    /// The vector, and the cipher text of bytes that are padded already.
    private func sealed(padded: [UInt8]) throws -> [UInt8] {
        try #require(padded.count % 16 == 0)
        let cipher = try [UInt8](rawCapacity: padded.count + 16) { out in
            var encryptor = try AESCBCEncryptor(key: key, iv: iv)
            try encryptor.update(padded.rawSpan, into: &out)
        }
        return iv + cipher
    }

    /// Padded as XML Encryption does: only the last byte means something.
    private func sealed(_ plain: [UInt8]) throws -> [UInt8] {
        let padding = 16 - plain.count % 16
        let filler = (0..<padding - 1).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 77) }
        return try sealed(padded: plain + filler + [UInt8(padding)])
    }

    private func resource(
        _ bytes: [UInt8],
        isDeflated: Bool = false,
        originalLength: LengthHint? = nil
    ) throws -> AESCBCResource {
        AESCBCResource(BytesResource(link, bytes), key: try contentKey(), isDeflated: isDeflated, originalLength: originalLength)
    }

    private func data(_ count: Int) -> [UInt8] {
        var numbers = SplitMix(seed: 7)
        return (0..<count).map { $0 % 3 == 0 ? UInt8.random(in: 0...63, using: &numbers) : UInt8(truncatingIfNeeded: $0 / 50) }
    }

    private func deflated(_ bytes: [UInt8]) throws -> [UInt8] {
        let member = try #require(Gzip.compress(bytes, level: 9))
        return Array(member[10..<member.count - 8])
    }

    private func check(_ resource: any Resource, has plain: [UInt8]) async throws {
        let end = Int64(plain.count)
        var numbers = SplitMix(seed: 5)
        let random = (0..<60).map { _ in
            let start = Int64.random(in: 0...max(1, end), using: &numbers)
            return start..<start + Int64.random(in: 0...80_000, using: &numbers)
        }
        let edges: [Range<Int64>] = [
            0..<0, 0..<1, max(0, end - 1)..<end, max(0, end - 1)..<end + 10, end..<end + 5, end + 3..<end + 90, 0..<end + 1,
            max(0, end - 17)..<end, max(0, end - 16)..<end + 16, 15..<17, 16..<16, 3..<3, 0..<Int64.max,
        ]
        // in parallel, before the length is known
        try await withThrowingTaskGroup(of: (Range<Int64>, [UInt8]).self) { group in
            for range in random + edges { group.addTask { (range, try await resource.read(range)) } }
            for try await (range, bytes) in group {
                let expected = plain[Int(min(range.lowerBound, end))..<Int(min(range.upperBound, end))]
                #expect(bytes == Array(expected), "\(range)")
            }
        }
        #expect(try await resource.length() == end)
        for size in [1000, 4096, 10_007] {
            var streamed: [UInt8] = []
            try await resource.stream(pieceSize: size) { streamed += $0 }
            #expect(streamed == plain, "pieces of \(size)")
        }
    }

    @Test(arguments: [0, 1, 15, 16, 17, 31, 32, 33, 4096, 262_143, 262_144, 262_145, 600_001])
    func `is decrypted from any place`(count: Int) async throws {
        let plain = data(count)
        try await check(try resource(try sealed(plain)), has: plain)
    }

    @Test(arguments: [200, 4096, 70_000, 3_000_000], [nil, 5 as Int64, 1 << 60])
    func `that was deflated is inflated from any position, with any declared length`(
        count: Int,
        declared: Int64?
    ) async throws {
        let plain = data(count)
        let hint = declared.map { LengthHint($0) }
        let resource = try resource(try sealed(try deflated(plain)), isDeflated: true, originalLength: hint)
        #expect(resource.lengthHint == hint)
        try await check(resource, has: plain)
    }

    @Test(arguments: [0, 17, 100, 255] as [UInt8])
    func `defect 3: is refused without a trap if its last byte is not padding`(last: UInt8) async throws {
        let bytes = try sealed(padded: data(47) + [last])
        let resource = try resource(bytes)
        await #expect(throws: ResourceError(.decryption, "")) { try await resource.length() }
        await #expect(throws: ResourceError(.decryption, "")) { try await resource.read(0..<1000) }
        // what lies before the last block needs no padding
        let first = try await resource.read(0..<32)
        #expect(first == Array(data(47).prefix(32)))
    }

    @Test func `defect 9: is read to its end in pieces, and by many blocks in parallel`() async throws {
        let plain = data(5_000_003)
        let encrypted = ReadRanges(BytesResource(link, try sealed(plain)))
        let resource = AESCBCResource(encrypted, key: try contentKey(), isDeflated: false, originalLength: nil)
        let end = try await resource.read(4_999_000..<6_000_000)
        #expect(end == Array(plain[4_999_000...]))
        #expect(encrypted.byteCount < 1100)
        #expect(encrypted.ranges.count == 2)
    }

    @Test func `that is read in order is read once`() async throws {
        let plain = data(1_000_003)
        let bytes = try sealed(plain)
        let encrypted = ReadRanges(BytesResource(link, bytes))
        let resource = AESCBCResource(encrypted, key: try contentKey(), isDeflated: false, originalLength: nil)
        var streamed: [UInt8] = []
        try await resource.stream(0..<1_000_003, pieceSize: 10_007) { streamed += $0 }
        #expect(streamed == plain)
        // the last two blocks say where it ends
        #expect(encrypted.byteCount == Int64(bytes.count) + 32)
    }

    @Test func `that was deflated and is read in order is read once`() async throws {
        let plain = data(1_000_003)
        let bytes = try sealed(try deflated(plain))
        let encrypted = ReadRanges(BytesResource(link, bytes))
        let resource = AESCBCResource(encrypted, key: try contentKey(), isDeflated: true, originalLength: nil)
        var streamed: [UInt8] = []
        try await resource.stream(0..<1_000_003, pieceSize: 1009) { streamed += $0 }
        #expect(streamed == plain)
        let read = encrypted.ranges.map { min($0.upperBound, Int64(bytes.count)) - $0.lowerBound }.reduce(0, +)
        #expect(read == Int64(bytes.count) + 32)
    }

    @Test(arguments: [
        "", "plain text", "sixteen bytes ok", "sixteen bytes ok sixteen bytes o", "sixteen bytes ok sixteen bytes ..",
    ])
    func `that is not encrypted at all is refused`(text: String) async throws {
        for isDeflated in [false, true] {
            let resource = try resource(Array(text.utf8), isDeflated: isDeflated)
            await #expect(throws: ResourceError(.decryption, ""), "\(isDeflated)") { try await resource.read(0..<1000) }
            await #expect(throws: ResourceError(.decryption, ""), "\(isDeflated)") { try await resource.length() }
        }
    }

    @Test func `that is cut off anywhere is refused when the end is read`() async throws {
        let plain = data(5000)
        let bytes = try sealed(try deflated(plain))
        for count in stride(from: 0, to: bytes.count, by: 7) {
            let resource = try resource(Array(bytes.prefix(count)), isDeflated: true)
            await #expect(throws: ResourceError(.decryption, ""), "\(count)") { try await resource.read(0..<5000) }
        }
    }

    @Test func `of another cipher is refused, and one of another technology left alone`() async throws {
        let fetcher = SingleResourceFetcher(BytesResource(link, Array("cipher text".utf8)))
        func read(_ encryption: Encryption) async throws -> [UInt8] {
            let decrypting = TransformingFetcher.decrypting(with: try contentKey(), properties: ["text.xhtml": encryption])
            return try await TransformingFetcher(fetcher, decrypting).get(link).read(0..<100)
        }
        let gcm = Encryption(algorithm: "http://www.w3.org/2009/xmlenc11#aes256-gcm", scheme: Encryption.lcpScheme)
        await #expect(throws: ResourceError(.decryption, "")) { try await read(gcm) }
        let font = try await read(Encryption(algorithm: "http://www.idpf.org/2008/embedding"))
        #expect(font == Array("cipher text".utf8))
    }

    // MARK: what others made

    @Test(arguments: LCPFixture.all)
    func `of the fixtures is what it was before`(fixture: LCPFixture) async throws {
        let fetcher = try await AssetOpener().fetcher(of: PublicationAsset(path: try fixture.path))
        let key = try await fixture.key(fetcher)
        let properties = try await fetcher.encryptedResources()
        let decrypted = TransformingFetcher(fetcher, TransformingFetcher.decrypting(with: key, properties: properties))
        for (href, oracle) in try #require(try fixture.oracle["resources"]?.object) {
            let path = try #require(ResourcePath(decoded: href))
            let resource = decrypted.get(Link(path))
            guard let expected = oracle["plain_sha256"]?.string else {
                // an obscured font is unchanged
                let stored = try await resource.read(upTo: 1 << 20)
                #expect(Hex.encode(SHA256.hash(stored.rawSpan)) == oracle["stored_sha256"]?.string)
                continue
            }
            #expect(properties[path]?.isLCP == true)
            for (text, sum) in oracle["range_sha256"]?.object ?? JSONObject() {
                let numbers = text.split(separator: "..<").compactMap { Int64($0) }
                let part = try await resource.read(numbers[0]..<numbers[1])
                #expect(Hex.encode(SHA256.hash(part.rawSpan)) == sum.string, "\(text)")
            }
            let whole = try await resource.read(upTo: 4 << 20)
            #expect(Hex.encode(SHA256.hash(whole.rawSpan)) == expected)
            let length = try await resource.length()
            #expect(length == (oracle["plain_length"] ?? oracle["original_length"])?.int.map(Int64.init))
        }
    }
}
