// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient
import CarrelTesting
import CarrelThreads
import ProtectedPublications
import Testing

@Suite("The code of the web reader's documentation")
struct ReadInBrowserTests {
    private let directory = TemporaryDirectory()

    @Test func `serves a page for the browser`() async throws {
        let book = try await ProtectedPublication.epub(at: directory.file("book.epub"), chapters: 1)
        let statuses = Locked<[Int]>([])
        try await read(
            book.path,
            notesIn: directory.file("notes"),
            show: { address in
                let response = try await HTTPClient().send(ClientRequest(address))
                statuses.withLock { $0.append(response.status.rawValue) }
            },
            finish: {}
        )
        #expect(statuses.withLock { $0 } == [200])
    }
}
