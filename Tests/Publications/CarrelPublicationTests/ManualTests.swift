// SPDX-License-Identifier: Apache-2.0

import CarrelPublication
import CarrelTesting
import Testing

@Suite("The manual of publications")
struct ManualTests {

    @Test(arguments: [
        (
            "publications",
            [
                "Publications/CarrelPublicationTests/Examples/OpenPublication",
                "Publications/CarrelPublicationTests/Examples/SignInProtection",
            ]
        ),
        (
            "lcp",
            [
                "Publications/CarrelLCPTests/Examples/Person", "Publications/CarrelLCPTests/Examples/ShelfProtectionService",
                "Publications/CarrelLCPTests/SeedExampleTests",
            ]
        ),
        (
            "sdk",
            ["OpenPublication", "ListShelf", "PlayFilm", "DecryptFile", "ReadLicensed"].map { "OutsideApp/Sources/\($0)/\($0)" }
                + ["Publications/CarrelPublicationTests/Examples/VaultProtection"]
        ),
        ("reading", ["Clients/CarrelWebReaderTests/Examples/ServePublication"]),
        ("proxy", ["Clients/CarrelProxyTests/Examples/PlayFilm"]),
    ])
    func `shows code that the tests compile and run`(page: String, files: [String]) throws {
        let code = try files.map { Self.words(try text("Tests/\($0).swift")) }
        let parts = try text("docs/\(page).md").split(separator: "```swift\n").dropFirst()
        #expect(parts.count >= files.count)
        for part in parts {
            let end = try #require(part.firstRange(of: "```\n"))
            let block = Self.words(String(part[..<end.lowerBound]))
            #expect(code.contains { $0.contains(block) }, "\(block)")
        }
    }

    @Test(arguments: [
        "CarrelContentKeys", "CarrelFoundation", "CarrelLCP", "CarrelLicensedPublications", "CarrelMedia", "CarrelPlayer",
        "CarrelProxy", "CarrelPublication", "CarrelReader",
        "CarrelVault", "CarrelVaultPKCS11", "CarrelVaultSecretService", "CarrelVaultTPM", "CarrelWebReader",
    ])
    func `has a catalog for each product, whose code the tests compile`(product: String) async throws {
        let catalog = "\(Repository.folder(of: product))/\(product).docc"
        let pages = try await checkProcess(["find", catalog, "-name", "*.md"]).split(separator: "\n").map(String.init)
        let examples = try await checkProcess(
            ["find", "\(Repository.path)/Tests", "-path", "*/Examples/*.swift", "-o", "-name", "SeedExampleTests.swift"]
        ).split(separator: "\n")
        let code = try examples.map { Self.words(String(decoding: try #require(Fixtures.bytes(at: String($0))), as: UTF8.self)) }
        var count = 0
        for page in pages {
            let text = String(decoding: try #require(Fixtures.bytes(at: page)), as: UTF8.self)
            for part in text.split(separator: "```swift\n").dropFirst() {
                let end = try #require(part.firstRange(of: "```\n"))
                let block = Self.words(String(part[..<end.lowerBound]))
                #expect(code.contains { $0.contains(block) }, "\(page): \(block)")
                count += 1
            }
        }
        #expect(count > 0)
    }

    @Test func `opens a publication in ten lines`() async throws {
        let directory = TemporaryDirectory()
        var pasteboard = Pasteboard()
        let opened = try await openPublication(
            at: directory.write("book.epub", MadeArchive.epub().bytes),
            copying: "words",
            to: &pasteboard,
            askTheUser: { _ in nil }
        )
        #expect(opened.bytes == Array("<html/>".utf8))
        #expect(opened.navigator.publication.metadata.title == "Book")
        #expect(pasteboard.texts == ["words"])
    }

    /// The words of code, without its indentation.
    private static func words(_ text: String) -> String { text.split(whereSeparator: \.isWhitespace).joined(separator: " ") }

    private func text(_ path: String) throws -> String {
        String(decoding: try #require(Fixtures.bytes(at: "\(Repository.path)/\(path)")), as: UTF8.self)
    }
}
