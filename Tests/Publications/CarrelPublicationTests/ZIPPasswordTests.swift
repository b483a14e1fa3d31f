// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelTesting
import CarrelThreads
import Testing

@testable import CarrelPublication

@Suite("An archive with a password")
struct ZIPPasswordTests {
    private let directory = TemporaryDirectory()

    private func unlock(_ path: String, _ password: String) async throws -> UnlockedArchive {
        let archive = try await ArchiveFetcher(try FileResource(Link(href: "a.zip"), path: path))
        return UnlockedArchive(archive, password: .init(Array(password.utf8)))
    }

    @Test(arguments: [
        ("libzip/encrypt.zip", "foo"), ("libzip/encrypt_plus_extra.zip", "foo"), ("libzip/encrypt-1234.zip", "1234"),
        ("libzip/encrypt-aes128.zip", "foofoofoo"), ("libzip/encrypt-aes192.zip", "foofoofoo"),
        ("libzip/encrypt-aes256.zip", "foofoofoo"),
        ("libzip/encrypt-aes256-noentropy.zip", "no-entropy"), ("libzip/encrypt-pkware-noentropy.zip", "no-entropy"),
        ("zip-rs/aes_archive.zip", "helloworld"),
    ])
    func `of others is opened by its password and by no other`(name: String, password: String) async throws {
        let path = try Fixtures.path("readium/zip/\(name)")
        #expect(try await unlock(path, password).isRight())
        for wrong in ["", "x", password + "x", String(password.dropLast())] {
            #expect(try await !unlock(path, wrong).isRight(), "\(wrong)")
        }
        let archive = try await unlock(path, password)
        for link in try await archive.links() {
            let resource = archive.get(link)
            let whole = try await resource.read(upTo: 1 << 20)
            #expect(try await resource.length() == Int64(whole.count))
            let middle = Int64(whole.count / 2)
            #expect(try await resource.read(middle..<middle + 7) == Array(whole[Int(middle)...].prefix(7)))
        }
    }

    @Test(arguments: ["AES128", "AES192", "AES256", "ZipCrypto"], ["0", "5"])
    func `made by 7z is read from any place`(method: String, level: String) async throws {
        let tool = try requirePeer("7z")
        var numbers = SplitMix(seed: 5)
        let bytes = (0..<600_000).map { $0 % 2 == 0 ? UInt8.random(in: 0...255, using: &numbers) : 7 }
        directory.write("data.bin", bytes)
        directory.write("small.txt", "small")
        let arguments = [tool, "a", "-tzip", "-mem=\(method)", "-mx=\(level)", "-popen sesame", "z.zip", "data.bin", "small.txt"]
        try await checkProcess(arguments, directory: directory.path)
        let archive = try await unlock(directory.file("z.zip"), "open sesame")
        #expect(try await archive.isRight())
        let resource = archive.get("data.bin")
        #expect(try await resource.read(upTo: 600_000) == bytes)
        for _ in 0..<20 {
            let start = Int64.random(in: 0..<600_000, using: &numbers)
            let end = min(600_000, start + Int64.random(in: 0..<70_000, using: &numbers))
            #expect(try await resource.read(start..<end) == Array(bytes[Int(start)..<Int(end)]))
        }
        #expect(try await !unlock(directory.file("z.zip"), "open sesam").isRight())
    }

    @Test func `asks until the password is right, or the user gives up`() async throws {
        let tool = try requirePeer("7z")
        directory.write("1.png", [1, 2, 3])
        try await checkProcess([tool, "a", "-tzip", "-mem=AES256", "-psesame", "comic.cbz", "1.png"], directory: directory.path)
        let asset = PublicationAsset(path: directory.file("comic.cbz"))
        let answers = Locked<[String?]>(["wrong", "also wrong", "sesame"])
        let seen = Locked<[String]>([])
        let streamer = Streamer(
            parsers: [ComicParser()],
            ignoresDefaultParsers: true,
            onAskCredentials: { dialog, _ in
                seen.withLock { $0.append(dialog.message.description) }
                return answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            }
        )
        await #expect(throws: Publication.OpeningError(.credentialsRequired, "")) {
            try await streamer.open(asset: asset, allowUserInteraction: false)
        }
        await #expect(throws: Publication.OpeningError(.incorrectCredentials, "")) {
            try await streamer.open(asset: asset, allowUserInteraction: false, credentials: "wrong")
        }
        #expect(seen.withLock { $0 }.isEmpty)
        let publication = try await streamer.open(asset: asset, allowUserInteraction: true)
        #expect(seen.withLock { $0.count } == 3)
        #expect(publication.credentials == "sesame")
        #expect(publication.protectionName == "Password")
        #expect(publication.format.conforms(to: .informalComic))
        #expect(try await publication.get("1.png").read(upTo: 10) == [1, 2, 3])
        await #expect(throws: Publication.OpeningError(.cancelled, "")) {
            try await streamer.open(asset: asset, allowUserInteraction: true, credentials: "wrong")
        }
    }

    @Test func `that only says it is encrypted fails cleanly`() async throws {
        let path = try Fixtures.path("readium/zip/zip-rs/ignore_encryption_flag.zip")
        #expect(try await !unlock(path, "x").isRight())
    }
}

private struct ComicParser: PublicationParser {
    func parse(
        _ asset: PublicationAsset,
        format: Format,
        fetcher: any Fetcher,
        warnings: (any WarningLogger)?
    ) async throws(Publication.OpeningError) -> Publication.Builder? {
        Publication.Builder(
            manifest: Manifest(metadata: Metadata(title: "Comic"), readingOrder: [Link(href: "1.png")]),
            format: format,
            fetcher: fetcher
        )
    }
}
