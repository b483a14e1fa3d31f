// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelEditionDelivery
import CarrelHTTP
import CarrelJSON
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import CarrelThreads
import CarrelWorks
import Testing

struct `The tags of a protected edition` {
    /// The result of a process that ended.
    private struct Killed: Error {}

    private static func get(_ product: String, from service: CarrelService) async throws -> (
        status: Int, headers: HTTPFields, body: [UInt8]
    ) {
        let peer = Peer.network(address: "192.0.2.1", port: 1)
        let request = HTTPRequest(.get, "/editions/\(product)/-/licensed.dcf", peer: peer)
        let response = await service.router.respond(to: request)
        return (response.status.rawValue, response.headers, try await response.body.collect(upTo: 128 << 20))
    }

    @Test func `are computed for a bounded number of editions at a time: others are told when to come back`() async throws {
        let test = try await TestService(with: .editionDelivery)
        let products = (1...40).map { "book-\($0)" }
        for product in products {
            var bytes = EditionFiles.pdf
            bytes.insert(contentsOf: Array("%\(product)\n".utf8), at: 9)
            try await test.ingest(test.directory.write("\(product).pdf", bytes), product) { $0.licensed = .only }
        }
        // the one thread is taken, so that 32 files wait and eight are refused
        let delivery = try #require(test.service.capabilities.compactMap { $0 as? EditionDeliveryCapability }.first)
        let (taken, free) = (try #require(BlockingSignal()), try #require(BlockingSignal()))
        let other = Task {
            try await delivery.tagThread.run {
                taken.signal()
                free.wait()
            }
        }
        try await BlockingThreadPool(name: "wait", count: 1).run { taken.wait() }
        let answers = try await withThrowingTaskGroup { group in
            for product in products {
                group.addTask { (product, try await Self.get(product, from: test.service)) }
            }
            var answers: [(String, (status: Int, headers: HTTPFields, body: [UInt8]))] = []
            for try await answer in group {
                answers.append(answer)
                if answers.count == 8 { free.signal() }
            }
            return answers
        }
        try await other.value
        let refused = answers.filter { $0.1.status == 503 }
        #expect(refused.count == 8 && answers.count { $0.1.status == 200 } == 32)
        for (_, answer) in refused {
            #expect(answer.headers["Retry-After"] == "5")
            #expect(try JSON.parse(answer.body.rawSpan)["code"] == "edition.preparing")
        }
        for (product, _) in refused {
            let again = try await Self.get(product, from: test.service)
            #expect(again.status == 200, "\(product)")
        }
    }

    @Test(arguments: [false, true])
    func `are computed again after a process ended before it named them, and nothing is left`(isReplaced: Bool) async throws {
        let shop = try await LicensedShop()
        try await shop.set("also")
        let before = try shop.test.blobCount()
        let (database, dying) = try await shop.test.counted()
        // the write that names the blob of the tags: the file is in the store, and its row is not
        database.before(write: 1) { throw Killed() }
        #expect(try await shop.download(from: dying).status == 500)
        #expect(try shop.test.blobCount() == before + 1)
        #expect(try await shop.edition.protection.tags == nil)
        // the next process finds neither a name nor a half-written file
        let next = try await shop.test.another()
        if isReplaced { try await shop.put(2) }
        let file = try await shop.download(from: next)
        #expect(file.status == 200)
        let tags = try #require(try await shop.edition.protection.tags?.blob)
        #expect(try shop.test.service.blobs.contains(try #require(BlobID(tags))))
        shop.test.clock.advance(by: .seconds(3 * 86_400))
        try await shop.test.service.blobSweep.run()
        // the contents, the cover if there is one, and the tags; a replacement takes the place of the contents
        #expect(try shop.test.blobCount() == before + 1)
        #expect(try await shop.download(from: try await shop.test.another()).body == file.body)
        let player = try await TestPlayer().personalized(by: shop.test)
        let key = try await shop.key(try file.keyID, of: try await shop.license(for: player), by: player)
        #expect(try file.open(key) == LicensedShop.epub(isReplaced ? 2 : 1))
    }
}
