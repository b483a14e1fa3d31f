// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelHome
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import Testing

/// Sweeps of a store whose blobs are old by the clock of the test.
@Suite(.onBothDatabases)
struct `A sweep of the blobs` {
    private func makeBlobs(_ texts: some Sequence<String>, in test: TestService) throws -> [BlobID] {
        try texts.map { text in
            let writer = try test.service.blobs.writer()
            try writer.append(Array(text.utf8).rawSpan)
            return try writer.finish()
        }
    }

    private func blobs(_ test: TestService) throws -> Set<BlobID> {
        var all: Set<BlobID> = []
        try test.service.blobs.each { all.insert($0) }
        return all
    }

    private func trash(_ test: TestService) async throws -> [String] {
        let listed = try await runProcess(["ls", test.directory.file("blobs/trash")])
        return listed.text.split(separator: "\n").map(String.init)
    }

    /// Sweeps the media of the title away, which the database does not name for a while.
    ///
    /// - Returns: the name of their blob.
    private func sweepMedia(of test: TestService) async throws -> String {
        let media = try await test.service.database.write { transaction in
            let row = try #require(try transaction.row(SQL("SELECT media_blob FROM titles"), []))
            try transaction.run(SQL("UPDATE titles SET media_blob = sample_blob"))
            return try row.text(0)
        }
        #expect(try await test.service.blobSweep.run() == 1)
        return media
    }

    private func setMedia(_ media: String, of test: TestService) async throws {
        try await test.service.database.write { transaction in
            _ = try transaction.run(SQL("UPDATE titles SET media_blob = $1"), [.text(media)])
        }
    }

    @Test func `moves what is unused to the trash, and deletes it a week later`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let used = try blobs(test)
        let unused = try makeBlobs(["old"], in: test)
        #expect(try await test.service.blobSweep.run() == 1)
        #expect(try blobs(test) == used)
        #expect(try await trash(test) == ["\(test.clock.now.milliseconds)-\(unused[0])"])
        test.clock.advance(by: .seconds(7 * 24 * 3600 - 1))
        #expect(try await test.service.blobSweep.run() == 0)
        #expect(try await trash(test).count == 1)
        test.clock.advance(by: .seconds(1))
        #expect(try await test.service.blobSweep.run() == 0)
        #expect(try await trash(test).isEmpty)
    }

    @Test func `moves back what the database names again`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let used = try blobs(test)
        let media = try await sweepMedia(of: test)
        #expect(try blobs(test).count == used.count - 1)
        test.clock.advance(by: .seconds(30 * 24 * 3600))
        try await setMedia(media, of: test)
        #expect(try await test.service.blobSweep.run() == 0)
        #expect(try blobs(test) == used)
        #expect(try await trash(test).isEmpty)
        let order = try await test.order()
        #expect(try await test.send(.get, try await test.playlist(order).segments[0]).status == 200)
    }

    @Test func `changes nothing while a replaced database is next to the restored one`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        _ = try makeBlobs(["before"], in: test)
        #expect(try await test.service.blobSweep.run() == 1)
        _ = try makeBlobs(["old"], in: test)
        let all = try blobs(test)
        let replaced = test.directory.write("carrel.db.before-restore", [1])
        test.clock.advance(by: .seconds(30 * 24 * 3600))
        #expect(test.service.blobSweep.isHeld)
        #expect(try await test.service.blobSweep.run(everything: true) == 0)
        #expect(try blobs(test) == all)
        #expect(try await trash(test).count == 1, "the trash stays too")
        try await checkProcess(["rm", replaced])
        #expect(try await test.service.blobSweep.run() == 1)
    }

    @Test func `moves back blobs that a restored database names, while the replaced one still exists`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let used = try blobs(test)
        let media = try await sweepMedia(of: test)
        _ = test.directory.write("carrel.db.before-restore", [1])
        try await setMedia(media, of: test)
        #expect(try await test.service.blobSweep.run() == 0)
        #expect(try blobs(test) == used)
    }

    @Test func `refuses more than a tenth of the store and a hundred blobs, unless everything is allowed`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let used = try blobs(test)
        _ = try makeBlobs((0..<101).map { "unused \($0)" }, in: test)
        let all = try blobs(test)
        let refused = await #expect(throws: ServerError.self) { try await test.service.blobSweep.run() }
        #expect(refused?.code == .sweepRefused)
        #expect(refused?.message.contains("none of 101 of 103 blobs") == true, "\(refused?.message ?? "")")
        #expect(refused?.message.contains("serve --sweep-everything") == true)
        #expect(try blobs(test) == all)
        #expect(try await trash(test).isEmpty)
        #expect(try await test.service.blobSweep.run(everything: true) == 101)
        #expect(try blobs(test) == used)
    }

    @Test func `takes a hundred blobs, or a tenth of a large store`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        _ = try makeBlobs((0..<100).map { "unused \($0)" }, in: test)
        #expect(try await test.service.blobSweep.run() == 100)
        let title = test.title.id
        let named = try makeBlobs((0..<1010).map { "named \($0)" }, in: test)
        _ = try makeBlobs((0..<101).map { "unused again \($0)" }, in: test)
        try await test.service.database.write { transaction in
            for (number, blob) in named.enumerated() {
                let copy = SQL(
                    """
                    INSERT INTO titles (id, kind, source_hash, title, metadata, duration_ms, media_blob, segment_index, created_at)
                    SELECT id || $2, kind, $3, title, metadata, duration_ms, $4, segment_index, created_at FROM titles WHERE id = $1
                    """
                )
                let values: [SQLValue] = [
                    .text(title), .text("-\(number)"), .blob(Array("source \(number)".utf8)), .text(blob.text),
                ]
                _ = try transaction.run(copy, values)
            }
        }
        #expect(try await test.service.blobSweep.run() == 101)
    }
}
