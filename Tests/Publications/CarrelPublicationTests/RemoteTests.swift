// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelHTTPServer
import CarrelTesting
import CarrelThreads
import Glibc
import ProtectedPublications
import Testing

@testable import CarrelPublication

@Suite("A publication on a server")
struct RemoteTests {
    private let directory = TemporaryDirectory()

    /// Serves files of the directory, and notes the ranges that were asked for.
    private func withServer(
        ignoringRanges: Bool = false,
        token: String? = nil,
        _ body: (_ base: String, _ asked: Locked<[String]>) async throws -> Void
    ) async throws {
        let asked = Locked<[String]>([])
        let folder = directory
        var router = Router()
        router.on(.get, "/{name}") { request, parameters in
            var request = request
            asked.withLock { $0.append(request.headers["Range"] ?? "all") }
            if let token, request.headers["Authorization"] != "Bearer \(token)" { return HTTPResponse(.unauthorized) }
            guard let bytes = folder.read(parameters["name"]) else { return HTTPResponse(.notFound) }
            if ignoringRanges { request.headers["Range"] = nil }
            let file = Representation(bytes, contentType: "application/octet-stream", etag: "\"v\(bytes.count)\"")
            return HTTPResponse.serving(file, for: request)
        }
        let server = HTTPServer(configuration: ServerConfiguration(), router: router)
        let port = try #require(try server.start().first?.port)
        try await body("http://127.0.0.1:\(port)", asked)
        await server.shutdown(grace: .zero)
    }

    @Test func `is opened by its end, and each resource by one request more`() async throws {
        let zip = try requirePeer("zip")
        let bytes = (0..<500_000).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 9) }
        directory.write("big.bin", bytes)
        directory.write("mimetype", "application/epub+zip")
        try await checkProcess([zip, "-q", "-0", "book.epub", "mimetype", "big.bin"], directory: directory.path)
        try await withServer { base, asked in
            let resource = HTTPResource(Link(href: "book.epub"), url: "\(base)/book.epub", client: HTTPClient())
            let archive = try await ArchiveFetcher(resource)
            #expect(asked.withLock { $0 } == ["bytes=-67584"])
            let part = try await archive.get("big.bin").read(100..<200)
            #expect(part == Array(bytes[100..<200]))
            // where its bytes begin, and the bytes
            #expect(asked.withLock { $0.count } == 2)
        }
    }

    /// Two tracks of 4 MiB in an archive, just opened; the requests for opening it are cleared.
    private func tracks(_ base: String, _ asked: Locked<[String]>) async throws -> any Fetcher {
        if directory.read("tracks.zip") == nil {
            let content = ProtectedPublication.content(0..<4 << 20)
            let entries = ["1.mp3", "2.mp3"].map { MadeArchive.Entry($0, content) }
            directory.write("tracks.zip", MadeArchive(entries).bytes)
        }
        let archive = try await AssetOpener(client: HTTPClient()).fetcher(of: PublicationAsset(url: "\(base)/tracks.zip"))
        asked.withLock { $0 = [] }
        return archive
    }

    @Test func `is read ahead where reads follow each other, and nowhere else`() async throws {
        try await withServer { base, asked in
            var whole: [UInt8] = []
            try await tracks(base, asked).get("1.mp3").stream(pieceSize: 64 << 10) { whole += $0 }
            #expect(whole == ProtectedPublication.content(0..<4 << 20))
            // 64 would be one for each piece
            #expect(asked.withLock { $0.count } <= 8, "\(asked.withLock { $0 })")

            let archive = try await tracks(base, asked)
            let two = [archive.get("1.mp3"), archive.get("2.mp3")]
            for start in stride(from: Int64(0), to: 2 << 20, by: 64 << 10) {
                for track in two {
                    let piece = try await track.read(start..<start + 64 << 10)
                    #expect(piece == ProtectedPublication.content(start..<start + 64 << 10))
                }
            }
            #expect(asked.withLock { $0.count } <= 12, "\(asked.withLock { $0 })")

            let track = try await tracks(base, asked).get("1.mp3")
            _ = try await track.read(3_999_000..<3_999_100)
            asked.withLock { $0 = [] }
            let starts = (0..<20).map { Int64($0 * 7 % 20) * 200_000 + 100_000 }
            for start in starts {
                let part = try await track.read(start..<start + 100)
                #expect(part == ProtectedPublication.content(start..<start + 100))
            }
            // after a header of 35 bytes
            #expect(asked.withLock { $0 } == starts.map { "bytes=\($0 + 35)-\($0 + 134)" })
        }
    }

    /// A standalone manifest, and its tracks next to it on the server.
    @Test(arguments: ["manifest.json", "relative", "absolute"])
    func `with its resources one by one is read ahead, too`(kind: String) async throws {
        let content = ProtectedPublication.content(0..<4 << 20)
        directory.write("1.mp3", content)
        try await withServer { base, asked in
            let track = kind == "absolute" ? "\(base)/1.mp3" : "1.mp3"
            let own = kind == "relative" ? #""links": [{"rel": "self", "href": "\#(base)/manifest.json"}],"# : ""
            let path = directory.write(
                "manifest.json",
                """
                {"metadata": {"title": "A", "conformsTo": "https://readium.org/webpub-manifest/profiles/audiobook"}, \(own)
                 "readingOrder": [{"href": "\(track)", "type": "audio/mpeg", "duration": 9}]}
                """
            )
            let asset = kind == "manifest.json" ? PublicationAsset(url: "\(base)/manifest.json") : PublicationAsset(path: path)
            let book = try await Streamer(onAskCredentials: nil).open(asset: asset, allowUserInteraction: false)
            #expect(book.format.mediaType.description == "application/audiobook+json")
            asked.withLock { $0 = [] }
            var whole: [UInt8] = []
            try await book.get(book.readingOrder[0]).stream(pieceSize: 64 << 10) { whole += $0 }
            #expect(whole == content)
            // its length and its end come first; 65 would be one for each piece
            #expect(asked.withLock { $0.first } == "bytes=-67584")
            #expect(asked.withLock { $0.count } <= 9, "\(asked.withLock { $0 })")
            // reads here and there ask for what they want
            let resource = book.get(book.readingOrder[0])
            _ = try await resource.length()
            asked.withLock { $0 = [] }
            for start in [3_000_000, 100_000, 2_000_000] as [Int64] { _ = try await resource.read(start..<start + 100) }
            #expect(
                asked.withLock { $0 } == ["bytes=3000000-3000099", "bytes=100000-100099", "bytes=2000000-2000099"]
            )
        }
    }

    @Test func `that does not send ranges is refused before it fills the memory`() async throws {
        directory.write("big.bin", [UInt8](repeating: 1, count: 1_000_000))
        directory.write("small.bin", [UInt8](repeating: 2, count: 1000))
        try await withServer(ignoringRanges: true) { base, _ in
            let big = HTTPResource(Link(href: "big.bin"), url: "\(base)/big.bin", client: HTTPClient())
            await #expect(throws: ResourceError(.unavailable, "")) { try await big.length() }
            let small = HTTPResource(Link(href: "small.bin"), url: "\(base)/small.bin", client: HTTPClient())
            let bytes1 = try await small.read(990..<2000)
            #expect(bytes1 == [UInt8](repeating: 2, count: 10))
        }
    }

    @Test func `gets the token that the app has, at its own origin only`() async throws {
        directory.write("a.bin", [1, 2, 3])
        try await withServer(token: "secret") { base, _ in
            try await withServer { other, _ in
                let headers: @Sendable () async throws(ResourceError) -> HTTPFields = { () throws(ResourceError) in
                    ["Authorization": "Bearer secret"]
                }
                let fetcher = HTTPFetcher(base: "\(base)/manifest.json", client: HTTPClient(), headers: headers)
                let bytes2 = try await fetcher.get("a.bin").read(0..<9)
                #expect(bytes2 == [1, 2, 3])
                let bytes3 = try await fetcher.get("\(base)/a.bin").read(0..<9)
                #expect(bytes3 == [1, 2, 3])
                let bytes4 = try await fetcher.get("\(other)/a.bin").read(0..<9)
                #expect(bytes4 == [1, 2, 3])
                let without = HTTPFetcher(base: "\(other)/manifest.json", client: HTTPClient(), headers: headers)
                await #expect(throws: ResourceError(.forbidden, "")) { try await without.get("\(base)/a.bin").read(0..<9) }
                await #expect(throws: ResourceError(.notFound, "")) { try await fetcher.get("none").read(0..<9) }
            }
        }
    }

    @Test func `that changes meanwhile is not mixed up`() async throws {
        directory.write("a.bin", [UInt8](repeating: 1, count: 200_000))
        try await withServer { base, _ in
            let resource = HTTPResource(Link(href: "a.bin"), url: "\(base)/a.bin", client: HTTPClient())
            let bytes5 = try await resource.read(0..<3)
            #expect(bytes5 == [1, 1, 1])
            directory.write("a.bin", [UInt8](repeating: 2, count: 300_000))
            await #expect(throws: ResourceError(.unavailable, "")) { try await resource.read(0..<3) }
        }
    }

    @Test func `in an archive with a password is opened by ranges too`() async throws {
        let sevenZip = try requirePeer("7z")
        let page = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 7) }
        directory.write("1.png", page)
        directory.write("2.png", [1, 2, 3])
        let make = [sevenZip, "a", "-tzip", "-mem=AES256", "-psesame", "-bso0", "comic.cbz", "1.png", "2.png"]
        try await checkProcess(make, directory: directory.path)
        try await withServer { base, asked in
            let asset = PublicationAsset(url: "\(base)/comic.cbz")
            let streamer = Streamer(onAskCredentials: nil)
            await #expect(throws: Publication.OpeningError(.incorrectCredentials, "")) {
                try await streamer.open(asset: asset, allowUserInteraction: false, credentials: "wrong")
            }
            let comic = try await streamer.open(asset: asset, allowUserInteraction: false, credentials: "sesame")
            #expect(comic.readingOrder.map(\.href) == ["1.png", "2.png"])
            asked.withLock { $0 = [] }
            let part = try await comic.get("1.png").read(100_000..<100_100)
            #expect(part == Array(page[100_000..<100_100]))
            // never all of it in one request
            #expect(asked.withLock { $0 }.allSatisfy { $0 != "all" })
        }
    }

    @Test func `that is a PDF document with a password is copied once, and decrypted`() async throws {
        let qpdf = try requirePeer("qpdf")
        let plain = directory.write("plain.pdf", TestPDF(pages: 3).bytes)
        try await checkProcess([qpdf, "--encrypt", "sesame", "captain", "256", "--", plain, directory.file("locked.pdf")])
        try await withServer { base, _ in
            for name in ["plain.pdf", "locked.pdf"] {
                let document = try await Streamer(onAskCredentials: nil)
                    .open(asset: PublicationAsset(url: "\(base)/\(name)"), allowUserInteraction: false, credentials: "sesame")
                #expect(document.metadata.numberOfPages == 3)
                let head = try await document.get(document.readingOrder[0]).read(0..<5)
                #expect(head == Array("%PDF-".utf8))
            }
        }
    }

    @Test(arguments: [
        ("b.xhtml", "https://h/x/b.xhtml"), ("/b", "https://h/b"), ("../b?q=1#f", "https://h/b?q=1"),
        ("a%20b", "https://h/x/a%20b"),
    ])
    func `has addresses relative to its manifest`(href: String, url: String) {
        #expect(HTTPFetcher.resolve(href, "https://h/x/manifest.json?token=1") == url)
    }
}
