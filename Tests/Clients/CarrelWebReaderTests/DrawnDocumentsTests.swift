// SPDX-License-Identifier: Apache-2.0

import CarrelPublication
import CarrelTesting
import CarrelThreads
import Testing

@testable import CarrelWebReader

@Suite("A document that is opened to be drawn")
struct DrawnDocumentsTests {
    /// Returns its beginning, and nothing more until all readers have canceled.
    private final class Stalled: Resource {
        let link = Link(href: "a.pdf")
        private let state = Locked((begun: 0, ended: 0))

        var begun: Int { state.withLock { $0.begun } }
        var ended: Int { state.withLock { $0.ended } }

        func length() async throws(ResourceError) -> Int64 { 3 << 20 }

        func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
            guard range.lowerBound > 0 else {
                buffer += Array("%PDF-1.7\n".utf8) + [UInt8](repeating: 0x20, count: range.count - 9)
                return
            }
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

    @Test func `closes a document when the last reader cancels, and opens it again later`() async throws {
        _ = (try requirePeer("pdftoppm"), try requirePeer("pdftotext"))
        let stalled = Stalled()
        let manifest = Manifest(metadata: Metadata(title: "Slow"))
        let publication = Publication.Builder(manifest: manifest, format: .pdf, fetcher: SingleResourceFetcher(stalled)).build()
        let drawn = DrawnDocuments(publication, Poppler())
        let path = try #require(ResourcePath(href: "a.pdf"))
        for round in 1...2 {
            let asker = Task { _ = try await drawn.document(at: path) }
            try await wait { stalled.begun == round }
            asker.cancel()
            try await wait { stalled.ended == round }
            await #expect(throws: (any Error).self) { try await asker.value }
        }
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
        await #expect(throws: ResourceError(.notFound, "")) { try await drawn.document(at: other) }
        try await wait { stalled.ended == 1 }
        await #expect(throws: ResourceError(.cancelled, "")) { try await first.value }
    }
}
