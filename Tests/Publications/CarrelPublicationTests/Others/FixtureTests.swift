// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelTesting
import Testing

@testable import CarrelPublication

@Suite("The files of others")
struct FixtureTests {
    private static func oracles() throws -> JSON {
        let bytes = try Fixtures.bytes("readium/oracles.json")
        return try JSON.parse(bytes.rawSpan)
    }

    @Test(arguments: FixtureTable.all.keys.sorted())
    func `open, are refused or give warnings as they should`(name: String) async throws {
        let path = try Fixtures.path("readium/\(name)")
        let warnings = WarningList()
        var outcome: FixtureTable.Outcome
        do throws(Publication.OpeningError) {
            let publication = try await Streamer(onAskCredentials: nil)
                .open(asset: PublicationAsset(path: path), allowUserInteraction: false, warnings: warnings)
            let type = publication.format.mediaType.description
            outcome = publication.isRestricted ? .restricted(type) : .opens(type)
        } catch {
            outcome = .refused(error.code.identifier)
            #expect(!error.message.isEmpty && error.message.first?.isUppercase == false && !error.message.hasSuffix("."))
        }
        let expected = try #require(FixtureTable.all[name])
        if case .opens(let type, let words) = expected {
            #expect(outcome == .opens(type), "\(warnings.warnings)")
            let messages = warnings.warnings.map(\.message)
            for word in words { #expect(messages.contains { $0.contains(word) }, "\(messages)") }
            #expect(messages.count <= words.count, "\(messages)")
        } else {
            #expect(outcome == expected)
        }
    }

    @Test func `are all used by a test, or it is said why not`() async throws {
        let folder = FolderFetcher(path: try Fixtures.path("readium"))
        let names = Set(try await folder.paths().map(\.string))
        #expect(names.count > 230)
        // of these the oracles are the table
        let passwords = Set(try #require(try Self.oracles()["pdf"]?.object).map(\.name))
        var known = Set(FixtureTable.all.keys).union(PackageFixtureTests.names).union(NavigationFixtureTests.names)
            .union(EncryptionFixtureTests.names).union(JSONSchemas.names).union(passwords).union(FixtureTable.unused.keys)
        for (test, used) in FixtureTable.elsewhere {
            let literals = Self.literals(try #require(Fixtures.bytes(at: "\(Repository.path)/Tests/\(test)")))
            for name in used {
                known.insert(name)
                let last = String(try #require(name.split(separator: "/").last))
                let years: [String] = ["2016", "2026"].map { last.replacing($0, with: "\\(year)") }
                let isRead = ([last] + years).contains { name in literals.contains { $0.hasSuffix(name) } }
                #expect(isRead, "\(test) does not read \(name)")
            }
        }
        #expect(names.subtracting(known).sorted() == [])
        #expect(known.subtracting(names).sorted() == [])
        #expect(FixtureTable.unused.values.allSatisfy { !$0.isEmpty })
    }

    /// The text literals of a Swift source, verbatim, without literals in comment lines.
    private static func literals(_ source: [UInt8]) -> [Substring] {
        let lines = String(decoding: source, as: UTF8.self).split(separator: "\n")
        return lines.flatMap { line -> [Substring] in
            guard !line.drop(while: { $0 == " " }).hasPrefix("//") else { return [] }
            // every other piece between quotes
            let pieces = line.split(separator: "\"", omittingEmptySubsequences: false)
            return stride(from: 1, to: pieces.count, by: 2).map { pieces[$0] }
        }
    }

    @Test func `are as they were when their oracles were computed`() async throws {
        let sums = try #require(try Self.oracles()["files_sha256"]?.object)
        #expect(sums.count > 230)
        for (name, value) in sums {
            let bytes = try Fixtures.bytes("readium/\(name)")
            #expect(Hex.encode(SHA256.hash(bytes.rawSpan)) == value["sha256"]?.string, "\(name)")
        }
    }

    @Test func `in archives have the content that other readers find in them`() async throws {
        let archives = try #require(try Self.oracles()["zip"]?.object)
        var count = 0
        for (name, value) in archives {
            let path = try Fixtures.path("readium/\(name)")
            let entries = try #require(value["entries"]?.object)
            guard entries.allSatisfy({ $0.value["error"] == nil }), FixtureTable.all[name] != .refused("opening.parsing-failed")
            else {
                continue
            }
            let archive = try await ArchiveFetcher(try FileResource(Link(href: "a.zip"), path: path))
            let password = value["password"]?.string
            let fetcher: any Fetcher = password.map { UnlockedArchive(archive, password: Secret(Array($0.utf8))) } ?? archive
            for (entry, oracle) in entries {
                let link = try #require(ResourcePath(decoded: entry).map { Link($0) })
                let bytes = try await fetcher.get(link).read(upTo: 1 << 20)
                #expect(Hex.encode(SHA256.hash(bytes.rawSpan)) == oracle["plain_sha256"]?.string, "\(name) \(entry)")
                #expect(bytes.count == oracle["length"]?.int)
                count += 1
            }
        }
        #expect(count == 31)
    }
}
