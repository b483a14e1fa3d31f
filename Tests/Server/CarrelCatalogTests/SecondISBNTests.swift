// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelHome
import CarrelIngest
import CarrelServer
import CarrelServerTesting
import CarrelTesting
import CarrelWorks
import Testing

@Suite(.onBothDatabases)
struct `A second title with an ISBN` {
    private func ingest(_ test: TestService, _ frames: Int, isStrict: Bool, isbn: String? = TestService.isbn) async throws
        -> IngestPipeline.Outcome<Title>
    {
        var options = IngestOptions()
        options.overrides.title = "Another"
        options.overrides.isbn = isbn.flatMap { ISBN($0) }
        options.isStrict = isStrict
        let path = test.directory.write("\(frames).mp3", SilentMP3.frames(frames))
        return try await test.service.ingesting.ingest(path, options)
    }

    @Test func `is taken with a warning that names the first`() async throws {
        let test = try await TestService(.silence, with: .catalog)
        let outcome = try await ingest(test, 2000, isStrict: false)
        #expect(outcome.created)
        #expect(outcome.warnings.count == 1)
        #expect(outcome.warnings.first?.contains("title \(test.title.id) has ISBN \(TestService.isbn) too") == true)
        let again = try await ingest(test, 2000, isStrict: false)
        #expect(!again.created && again.warnings == outcome.warnings)
    }

    @Test func `is refused where that is wanted, and nothing of it is kept`() async throws {
        let test = try await TestService(.silence, with: .catalog)
        let before = try test.blobCount()
        await #expect(throws: ServerError(.conflict, "")) { try await ingest(test, 2000, isStrict: true) }
        #expect(try test.blobCount() == before)
        #expect(try await test.service.titles.list().count == 1)
        let other = try await ingest(test, 2000, isStrict: true, isbn: nil)
        #expect(other.created && other.warnings == [])
        await #expect(throws: ServerError(.conflict, "")) { try await ingest(test, 2000, isStrict: true) }
        #expect(try await test.service.titles.find(other.title.id).metadata.isbn == nil, "nor is it written to one that is there")
    }

    @Test func `is no other than the first when that comes again`() async throws {
        let test = try await TestService(.silence, with: .catalog)
        let again = try await ingest(test, 600 * 44_100 / 1152, isStrict: true)
        #expect(!again.created && again.warnings == [] && again.title.id == test.title.id)
    }
}
