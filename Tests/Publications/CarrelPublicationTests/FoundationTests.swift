// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFoundation
import CarrelPublication
import CarrelTesting
import FoundationEssentials
import Testing

@Suite("A bridge to Foundation")
struct FoundationTests {
    @Test(arguments: [0, 1, -1, 1_795_000_000_123, -62_135_596_800_000, 253_402_300_799_999])
    func `gives each millisecond back`(milliseconds: Int64) {
        let instant = Instant(milliseconds: milliseconds)
        #expect(Instant(Date(instant)) == instant)
        // dates count from 2001, in doubles
        #expect(abs(Date(instant).timeIntervalSince1970 - Double(milliseconds) / 1000) < 0.0005)
    }

    @Test func `takes dates that no instant is`() {
        #expect(Instant(Date(timeIntervalSince1970: .infinity)).milliseconds == .max)
        #expect(Instant(Date(timeIntervalSince1970: -.infinity)).milliseconds == .min)
        #expect(Instant(Date(timeIntervalSince1970: .nan)).milliseconds == 0)
        #expect(Instant(Date(timeIntervalSince1970: 1e300)).milliseconds == .max)
        #expect(Instant(Date(timeIntervalSince1970: 0.0006)).milliseconds == 1)
    }

    @Test func `opens URLs of files and of servers, and reads data`() async throws {
        let directory = TemporaryDirectory()
        let path = directory.write("a book é.epub", MadeArchive.epub().bytes)
        let asset = PublicationAsset(URL(filePath: path))
        #expect(asset.location == .file(path: path))
        #expect(asset.url?.path(percentEncoded: false) == path)
        let publication = try await Streamer().open(asset: asset, allowUserInteraction: false)
        let chapter = publication.get(publication.readingOrder[0])
        #expect(try await chapter.readData(upTo: 100) == Data("<html/>".utf8))
        #expect(try await chapter.readData(1..<3) == Data("ht".utf8))
        await #expect(throws: ResourceError(.tooLarge, "")) { try await chapter.readData(upTo: 3) }
        let remote = PublicationAsset(try #require(URL(string: "https://books.example/a%20b.epub?x=1")))
        #expect(remote.location == .remote(url: "https://books.example/a%20b.epub?x=1"))
        #expect(remote.url?.absoluteString == "https://books.example/a%20b.epub?x=1")
    }
}
