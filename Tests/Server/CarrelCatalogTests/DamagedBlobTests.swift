// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelJSON
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import Glibc
import Testing

/// Files that were truncated or changed without the server's knowledge.
struct `A damaged blob` {
    private func path(_ test: TestService, _ blob: String) -> String {
        test.directory.file("blobs/\(blob.prefix(2))/\(blob)")
    }

    private func cut(_ test: TestService, _ blob: String, to size: Int) {
        #expect(unsafe truncate(path(test, blob), off_t(size)) == 0)
    }

    private func column(_ name: String, _ test: TestService) async throws -> String {
        let sql = ["media": SQL("SELECT media_blob FROM titles"), "sample": SQL("SELECT sample_blob FROM titles")]
        let wanted = try #require(sql[name])
        return try await test.service.database.read { try #require(try $0.row(wanted, [])).text(0) }
    }

    private func expectDamage(_ test: TestService, _ target: String) async throws {
        let answer = try await test.call(.get, target)
        #expect(answer.status == 500, "\(target)")
        #expect(answer.json["code"]?.string == "store.damaged", "\(target)")
        #expect(answer.json["detail"]?.string?.contains("carrel blobs check") == true)
    }

    @Test func `of an edition is refused before the head, page and package, until it is mended`() async throws {
        let test = try await TestService(with: [.streaming, .editionDelivery])
        let made = try await test.ingest(EditionFiles.folder(test.directory), "issue") { $0.price = .free }
        let blob = made.edition.mediaBlob
        let whole = try #require(test.directory.read("blobs/\(blob.prefix(2))/\(blob)"))
        let targets = ["/editions/issue/index.html", "/editions/issue/pics/a.png", "/editions/issue/-/package.zip"]
        for target in targets { #expect(try await test.send(.get, target).status == 200, "\(target)") }
        cut(test, blob, to: 10)
        for target in targets { try await expectDamage(test, target) }
        test.clock.advance(by: .seconds(2))
        for target in targets { try await expectDamage(test, target) }

        let store = try DirectoryBlobStore(path: test.directory.file("blobs"))
        let id = try #require(BlobID(blob))
        #expect(throws: StoreError(.damaged, "")) { try store.open(id).verify(id) }
        let copies = TemporaryDirectory()
        #expect(try !store.mend(id, from: copies.path))
        copies.write(blob, Array(whole.reversed()))
        #expect(try !store.mend(id, from: copies.path), "a copy that is damaged too replaces nothing")
        #expect(test.directory.read("blobs/\(blob.prefix(2))/\(blob)")?.count == 10)
        copies.write(blob, whole)
        #expect(try store.mend(id, from: copies.path))
        try store.open(id).verify(id)
        test.clock.advance(by: .seconds(61))
        for target in targets { #expect(try await test.send(.get, target).status == 200, "\(target)") }
    }

    @Test func `of an audiobook is refused, by the segment and then by the playlist`() async throws {
        let test = try await TestService(.silence, with: [.streaming, .editionDelivery])
        let order = try await test.order()
        let playlist = try await test.playlist(order)
        let blob = try await column("media", test)
        let whole = try #require(test.directory.read("blobs/\(blob.prefix(2))/\(blob)"))
        cut(test, blob, to: whole.count / 2)
        #expect(try await test.send(.get, playlist.segments[0]).status == 200, "what is there is served")
        try await expectDamage(test, try #require(playlist.segments.last))
        test.clock.advance(by: .seconds(61))
        try await expectDamage(test, "/v1/stream/hls/\(order.id)/playlist.m3u8")
        test.directory.write("blobs/\(blob.prefix(2))/\(blob)", whole)
        #expect(try await test.send(.get, try #require(playlist.segments.last)).status == 200)
    }

    @Test func `of a sample is refused when a byte has changed`() async throws {
        let test = try await TestService(.silence, with: [.streaming, .editionDelivery])
        let target = "/Sample.ashx?isbn=\(TestService.isbn)"
        #expect(try await test.send(.get, target).status == 200)
        let blob = try await column("sample", test)
        var bytes = try #require(test.directory.read("blobs/\(blob.prefix(2))/\(blob)"))
        bytes[bytes.count / 2] ^= 1
        test.directory.write("blobs/\(blob.prefix(2))/\(blob)", bytes)
        try await checkProcess(["touch", "-d", "2026-01-01", path(test, blob)])
        try await expectDamage(test, target)
        try await expectDamage(test, target)
    }
}
