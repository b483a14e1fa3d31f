import CarrelPublication
import CarrelTesting
import CarrelThreads
import Testing

@testable import CarrelWebReader

@Suite("A document that is opened to be drawn")
struct DrawnDocumentsTests {
    /// Gives nothing until nobody waits for it any more.
    private final class Stalled: Resource {
        let link = Link(href: "a.pdf")
        private let state = Locked((begun: 0, ended: 0))

        var begun: Int { state.withLock { $0.begun } }
        var ended: Int { state.withLock { $0.ended } }

        func length() async throws(ResourceError) -> Int64 { 1000 }

        func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
            state.withLock { $0.begun += 1 }
            try? await Task.sleep(for: .seconds(600))
            state.withLock { $0.ended += 1 }
            throw ResourceError(.cancelled, "nobody waits for it")
        }
    }

    private func wait(until isSo: () -> Bool) async throws {
        for _ in 0..<500 where !isSo() { try await Task.sleep(for: .milliseconds(10)) }
        try #require(isSo())
    }

    @Test func `is opened once for all who wait, as long as somebody does`() async throws {
        _ = (try requirePeer("pdftoppm"), try requirePeer("pdftotext"))
        let stalled = Stalled()
        let manifest = Manifest(metadata: Metadata(title: "Slow"))
        let publication = Publication.Builder(manifest: manifest, format: .pdf, fetcher: SingleResourceFetcher(stalled)).build()
        let drawn = DrawnDocuments(publication, Poppler())
        let path = try #require(ResourcePath(href: "a.pdf"))
        func ask() -> Task<Void, any Error> { Task { _ = try await drawn.document(at: path) } }
        let first = ask()
        try await wait { stalled.begun == 1 }
        let second = ask()
        try await Task.sleep(for: .milliseconds(100))
        first.cancel()
        try await Task.sleep(for: .milliseconds(200))
        #expect(stalled.begun == 1 && stalled.ended == 0, "one still waits")
        second.cancel()
        try await wait { stalled.ended == 1 }
        for asker in [first, second] { await #expect(throws: (any Error).self) { try await asker.value } }
        // who comes later is not given what was ended
        let third = ask()
        try await wait { stalled.begun == 2 }
        third.cancel()
        try await wait { stalled.ended == 2 }
    }

    @Test func `is opened no longer when another one is asked for`() async throws {
        _ = (try requirePeer("pdftoppm"), try requirePeer("pdftotext"))
        let stalled = Stalled()
        let manifest = Manifest(metadata: Metadata(title: "Slow"))
        let publication = Publication.Builder(manifest: manifest, format: .pdf, fetcher: SingleResourceFetcher(stalled)).build()
        let drawn = DrawnDocuments(publication, Poppler())
        let (path, other) = (try #require(ResourcePath(href: "a.pdf")), try #require(ResourcePath(href: "none.pdf")))
        let first = Task { _ = try await drawn.document(at: path) }
        try await wait { stalled.begun == 1 }
        await #expect(throws: (any Error).self) { try await drawn.document(at: other) }
        try await wait { stalled.ended == 1 }
        await #expect(throws: (any Error).self) { try await first.value }
    }
}
