// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient
import CarrelLicenseKeys
import CarrelPlayer
import CarrelPlayerTesting
import CarrelRights
import CarrelTesting
import CarrelThreads
import CarrelTokens
import Testing

struct `The code of the documentation` {
    @Test func `reads an ebook in the six steps of the seed, against a server`() async throws {
        let book = try await BookWorld()
        let clear = try await BookWorld.epub()
        let path = book.write("book.dcf", try BookWorld.dcf(clear))
        let folder = book.world.folder("first")
        let vault = try await book.world.vault(folder)
        let statuses = Locked<[Int]>([])
        let bytes = try await readEbook(
            path,
            token: try await book.token(),
            server: book.world.url,
            folder: folder,
            vault: vault,
            show: { address in
                let response = try await HTTPClient().send(ClientRequest(address))
                statuses.withLock { $0.append(response.status.rawValue) }
            }
        )
        #expect(bytes == clear && statuses.withLock { $0 } == [200])
    }

    @Test func `of the page is that code, in at most twenty lines`() throws {
        func text(_ path: String) throws -> String {
            String(decoding: try #require(Fixtures.bytes(at: "\(Repository.path)/\(path)")), as: UTF8.self)
        }
        func words(_ text: some StringProtocol) -> String { text.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
        let example = try words(text("Tests/Clients/CarrelLicensedPublicationsTests/Examples/EbookSteps.swift"))
        let page = try text("docs/protected-publications.md")
        let start = try #require(page.firstRange(of: "```swift\n// 1. Initialize"))
        let rest = page[start.lowerBound...].dropFirst("```swift\n".count)
        let end = try #require(rest.firstRange(of: "```\n"))
        let block = rest[..<end.lowerBound]
        #expect(block.split(separator: "\n").count <= 20)
        #expect(example.contains(words(block)))
        let steps = (1...6).map { block.firstRange(of: "// \($0). ")?.lowerBound }
        #expect(steps.allSatisfy { $0 != nil } && steps.compactMap(\.self).sorted() == steps.compactMap(\.self))
    }

    @Test func `opens a book, and an entry of a container`() async throws {
        let book = try await BookWorld()
        let path = book.write("book.dcf", try BookWorld.dcf(try await BookWorld.epub()))
        #expect(try await open(path, book.engine) == "The title outside: there is no license for it on this device")
        try await book.license()
        #expect(try await open(path, book.engine) == "A long book: 3 parts")
    }
}
