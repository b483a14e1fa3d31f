// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelJSON
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
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
        // one takes its time, and the others wait for it
        let products = ["large"] + (1...60).map { "small-\($0)" }
        for product in products {
            var bytes = EditionFiles.pdf
            let padding = [UInt8](repeating: UInt8(ascii: " "), count: product == "large" ? 96 << 20 : 1000)
            bytes.insert(contentsOf: Array("%\(product)".utf8) + padding + [0x0a], at: 9)
            try await test.ingest(test.directory.write("\(product).pdf", bytes), product) { $0.licensed = .only }
        }
        let answers = try await withThrowingTaskGroup { group in
            for product in products {
                group.addTask { (product, try await Self.get(product, from: test.service)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let refused = answers.filter { $0.1.status == 503 }
        #expect(!refused.isEmpty && answers.count { $0.1.status == 200 } == answers.count - refused.count)
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
