// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelMP4
import CarrelMedia
import CarrelTesting
import CarrelThreads
import Testing

/// The key under a license that limits the size of pictures.
private struct SmallPictures: ContentKeySource {
    func key(_ name: ContentKeyName) async -> ContentKeyAnswer {
        .granted(ContentKeyGrant(key: streamKey, relaxesOutput: true, maxPixels: 520_000, end: ContentKeyEnd()))
    }
}

struct `A stream of a DCF with tags` {
    private static let length = 400_000

    private static func file(
        _ cipher: DCFCipher,
        _ count: Int = length,
        content: String = "cid:one@example",
        isTagged: Bool = true
    )
        throws -> [UInt8]
    {
        var writer = try DCFWriter(DCFMemorySink()) { AESBlock(high: 7, low: .max - 2) }
        let headers = DCFHeaders(cipher: cipher, contentID: content)
        try writer.write(BytesReader(numbered(count)), contentType: "audio/mpeg", headers, key: streamKey, isTagged: isTagged)
        return try writer.finish().bytes
    }

    private static func open(_ bytes: [UInt8], content: String = "cid:one@example") async throws -> MediaStream {
        var keys = GivenKeys()
        keys.add(streamKey, for: .content(content))
        return try await MediaStream.open(MemorySource(bytes), as: .dcf(), keys: keys)
    }

    private static func code(_ body: () async throws -> Void) async -> MediaError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? MediaError)?.code
        }
    }

    @Test(arguments: [DCFCipher.cbc, .counter])
    func `gives every range, in order and at random`(cipher: DCFCipher) async throws {
        let clear = numbered(Self.length)
        let stream = try await Self.open(try Self.file(cipher))
        #expect(stream.detectsChanges && stream.size == Int64(Self.length))
        for piece in [1000, 65_536, 70_000, 200_000] {
            stream.seek(to: 0)
            var whole: [UInt8] = []
            while true {
                let bytes = try await stream.read(upTo: piece)
                if bytes.isEmpty { break }
                whole += bytes
            }
            #expect(whole == clear, "pieces of \(piece) bytes")
        }
        var random = SplitMix(seed: 27)
        for _ in 0..<200 {
            let from = Int(random.next() % UInt64(Self.length))
            let end = min(Self.length, from + Int(random.next() % 150_000))
            #expect(try await stream.read(Int64(from)..<Int64(end)) == Array(clear[from..<end]))
        }
        await stream.close()
    }

    /// The padding of a content of whole blocks has a block of its own.
    @Test(arguments: [DCFCipher.cbc, .counter], [1, 2, 3])
    func `gives single bytes of contents that end near the end of a block`(cipher: DCFCipher, blocks: Int) async throws {
        for count in (blocks * 65_536 - 1)...(blocks * 65_536 + 1) {
            let (clear, bytes) = (numbered(count), try Self.file(cipher, count))
            for place in [0, count / 2, count - 1] {
                // every stream reads its first block
                let stream = try await Self.open(bytes)
                #expect(stream.size == Int64(count))
                let read = try await stream.read(Int64(place)..<Int64(place) + 1)
                #expect(read == [clear[place]], "byte \(place) of \(count)")
                await stream.close()
            }
            let stream = try await Self.open(bytes)
            #expect(try await stream.read(0..<Int64(count)) == clear, "all of \(count)")
            #expect(try await stream.read(Int64(count) - 1..<Int64(count)) == [clear[count - 1]])
            await stream.close()
        }
    }

    @Test func `checks the block of the padding`() async throws {
        var bytes = try Self.file(.cbc, 65_536)
        let object = try #require(try DCFFile(BytesReader(bytes)).objects.first)
        bytes[Int(object.payload.start) + 65_536 + 3] ^= 1
        let stream = try await Self.open(bytes)
        #expect(await Self.code { _ = try await stream.read(0..<1) } == .altered)
        await stream.close()
    }

    @Test func `is required if the license limits the size of pictures, whatever the headers say`() async throws {
        let keys = SmallPictures()
        let tagged = try await MediaStream.open(MemorySource(try Self.file(.cbc, 1000)), as: .dcf(), keys: keys)
        #expect(try await tagged.read(upTo: 1000).count == 1000)
        await tagged.close()
        let untagged = try Self.file(.cbc, 1000, isTagged: false)
        #expect(
            await Self.code { _ = try await MediaStream.open(MemorySource(untagged), as: .dcf(), keys: keys) } == .outputControl
        )
    }

    @Test(arguments: [DCFCipher.cbc, .counter])
    func `refuses a changed block, and gives the others`(cipher: DCFCipher) async throws {
        var bytes = try Self.file(cipher)
        let object = try #require(try DCFFile(BytesReader(bytes)).objects.first)
        bytes[Int(object.payload.start) + 2 * 65_536 + 7] ^= 4
        let stream = try await Self.open(bytes)
        let block = { (number: Int64) in number << 16..<(number + 1) << 16 }
        #expect(await Self.code { _ = try await stream.read(block(2)) } == .altered)
        #expect(await Self.code { _ = try await stream.read(3 << 16 - 1..<3 << 16 + 1) } == .altered)
        for number: Int64 in [0, 1, 3, 4, 5] { #expect(try await stream.read(block(number)).count == 65_536) }
        await stream.close()
    }

    @Test func `of an empty content is checked when it is opened`() async throws {
        var bytes = try Self.file(.cbc, 0)
        let stream = try await Self.open(bytes)
        #expect(stream.size == 0 && stream.detectsChanges)
        let object = try #require(try DCFFile(BytesReader(bytes)).objects.first)
        bytes[Int(object.payload.start)] ^= 1
        #expect(await Self.code { _ = try await Self.open(bytes) } == .altered)
    }

    @Test func `is required of titles, by their content id`() async throws {
        let title = "urn:carrel:title:1"
        let untagged = try Self.file(.cbc, content: title, isTagged: false)
        #expect(await Self.code { _ = try await Self.open(untagged, content: title) } == .altered)
        let stream = try await Self.open(try Self.file(.cbc, content: title), content: title)
        #expect(stream.detectsChanges)
        let other = try await Self.open(try Self.file(.cbc, isTagged: false))
        #expect(!other.detectsChanges)
    }

    @Test func `takes two requests more than the clear file at most`() async throws {
        let bytes = try Self.file(.counter, 3_000_000)
        let server = RangeServer(bytes)
        var keys = GivenKeys()
        keys.add(streamKey, for: nil)
        let stream = try await MediaStream.open(HTTPSource("https://media.example/a", client: server), as: .dcf(), keys: keys)
        var reads = 0
        while try await !stream.read(upTo: 65_536).isEmpty { reads += 1 }
        // the first read of the clear file is its first request, too
        let plain = RangeServer(numbered(3_000_000))
        let clear = HTTPSource("https://media.example/b", client: plain)
        let length = try await clear.open().length
        for start in stride(from: 0, to: length, by: 65_536) { _ = try await clear.read(start..<min(length, start + 65_536)) }
        let (ours, theirs) = (server.state.withLock { $0.requests.count }, plain.state.withLock { $0.requests.count })
        #expect(reads == 46 && ours <= theirs + 2, "\(ours) requests, and \(theirs) for the clear file")
        await stream.close()
    }
}
