// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelHTTP
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import ProtectedMedia
import Testing

/// A kind of source that the proxy takes: all are made of the same clear film.
struct SourceRow: CustomTestStringConvertible, Sendable {
    /// A source, and what it needs while it is played.
    struct Source: Sendable {
        var address: String
        var type: PlaylistProxy.SourceType
        var keys: GivenKeys
        /// The folder of its files.
        var folder = ""
        var directory: TemporaryDirectory?
        var origin: OriginServer?

        func end() async { await origin?.stop() }
    }

    let testDescription: String
    /// Whether every run of the tests has it, not only the long ones.
    var isTelling = false
    let make: @Sendable () async throws -> Source

    /// The clear film.
    static var film: String { get throws { try Fixtures.path(ProtectedPackage.source) } }

    static let all: [SourceRow] = places + playlists + manifests
    static var telling: [SourceRow] { all.filter(\.isTelling) }
    /// Every second of the rows that are not telling: two players share them.
    static func half(_ number: Int) -> [SourceRow] {
        all.filter { !$0.isTelling }.enumerated().filter { $0.offset % 2 == number }.map(\.element)
    }

    // MARK: - Single files

    /// The bytes of a protected file, with its keys.
    private struct Protected: Sendable {
        var bytes: [UInt8]
        var keys: GivenKeys
    }

    /// Each file on this machine, and on a server.
    private static let places: [SourceRow] =
        file("fragmented CENC MP4", isTelling: true) { try fixture("cenc/av.cenc.mp4") }
        + file("progressive CENC MP4") { try fixture("cenc/av-nonfrag.cenc.mp4") }
        + file("cbcs MP4") { try fixture("cenc/av.cbcs.mp4") } + file("PIFF") { try fixture("cenc/av.piff-ctr.mp4") }
        + file("PDCF") { try fixture("dcf/av.pdcf-cbc.mp4") } + file("DCF") { try dcf() }
        + file("scrambled transport stream", isTelling: true) { try await scrambled() }

    private static func file(
        _ name: String,
        isTelling: Bool = false,
        _ make: @escaping @Sendable () async throws -> Protected
    ) -> [SourceRow] {
        SourcePlace.allCases.map { place in
            SourceRow(testDescription: "\(place) \(name)", isTelling: isTelling && place == .remote) {
                let film = try await make()
                let directory = TemporaryDirectory()
                let path = directory.write("film", film.bytes)
                guard place == .remote else {
                    return Source(address: path, type: .singleFile, keys: film.keys, directory: directory)
                }
                let origin = try OriginServer(directory.path)
                let address = "\(origin.origin)/film"
                return Source(
                    address: address,
                    type: .singleFile,
                    keys: film.keys,
                    folder: directory.path,
                    directory: directory,
                    origin: origin
                )
            }
        }
    }

    private static func scrambled() async throws -> Protected {
        let made = try await ScrambledFilm(try film)
        return Protected(bytes: made.bytes, keys: made.keys)
    }

    private static func fixture(_ name: String) throws -> Protected {
        let found = try #require(ProtectedFixture.all.first { $0.name == name })
        return Protected(bytes: try Fixtures.bytes("media/\(name)"), keys: found.keys)
    }

    private static func dcf() throws -> Protected {
        let key = ProtectedPackage.videoKey
        var writer = try DCFWriter(DCFMemorySink()) { AESBlock(high: 1, low: 0) }
        let clear = try Fixtures.bytes(ProtectedPackage.source)
        let headers = DCFHeaders(cipher: .counter, contentID: "cid:\(key.id)", rightsIssuer: "https://example.org/")
        try writer.begin(contentType: "video/mp4", headers, length: Int64(clear.count), key: key.key)
        try writer.append(clear.rawSpan)
        try writer.end()
        var keys = GivenKeys()
        keys.add(key.key, for: .id(key.id.bytes))
        return Protected(bytes: try writer.finish().bytes, keys: keys)
    }

    // MARK: - HLS

    private static let playlists: [SourceRow] = [
        package("HLS of scrambled transport streams") { options in
            options.isTransport = true
            options.transport = .cissa
        },
        package("HLS AES-128 with a key by its content", keys: marlin) { options in
            options.isTransport = true
            options.transport = .aes128
            options.keyURI = "urn:marlin-drm?CID=urn:marlin:kid:{kid}"
        },
        package("HLS AES-128 with a key server", isTelling: true, keys: GivenKeys()) { options in
            options.isTransport = true
            options.transport = .aes128
            options.keyURI = "keys/{kid}"
        },
        package("HLS SAMPLE-AES in transport streams", keys: GivenKeys()) { options in
            options.isTransport = true
            options.transport = .sampleAES
            options.keyURI = "keys/{kid}"
        },
        package("HLS cbcs fragments") { $0.scheme = .cbcs },
        package("HLS cenc fragments") { $0.scheme = .cenc },
        package("HLS cbcs fragments by byte ranges") { options in
            options.scheme = .cbcs
            options.layout = .ranges
        },
    ]

    private static var marlin: GivenKeys {
        var keys = GivenKeys()
        keys.add(ProtectedPackage.videoKey.key, for: .content("urn:marlin:kid:00112233445566778899aabbccddeeff"))
        return keys
    }

    /// A package of our packager on a server, which has its keys at `keys/ID`.
    private static func package(
        _ name: String,
        isTelling: Bool = false,
        keys: GivenKeys? = nil,
        _ change: @escaping @Sendable (inout PackagingOptions) -> Void
    ) -> SourceRow {
        SourceRow(testDescription: name, isTelling: isTelling) {
            let package = try await ProtectedPackage { options in
                change(&options)
                if options.isTransport { options.audioKeys = options.videoKeys }
            }
            let origin = try OriginServer(package.path) { request in
                guard request.path.segments.first == "keys" else { return nil }
                return package.bytes(ofKey: request.path.segments.last ?? "").map { .bytes($0, type: "application/octet-stream") }
            }
            return Source(
                address: "\(origin.origin)/master.m3u8",
                type: .hls,
                keys: keys ?? package.keys,
                folder: package.path,
                directory: package.directory,
                origin: origin
            )
        }
    }

    // MARK: - DASH

    private static let manifests: [SourceRow] = [
        ("clear DASH by numbers", "number-clear", false), ("CENC DASH by a timeline", "timeline-cenc", true),
        ("cbcs DASH on demand", "ondemand-cbcs", false), ("clear DASH by lists", "ffmpeg-list", false),
    ].map { name, folder, isTelling in
        SourceRow(testDescription: name, isTelling: isTelling) {
            let (path, keys) = try `A DASH source`.source(folder)
            let files = try Fixtures.path("media/dash/\(folder)")
            let origin = try OriginServer(files)
            let file = path.split(separator: "/").last.map(String.init) ?? ""
            return Source(address: "\(origin.origin)/\(file)", type: .dash, keys: keys, folder: files, origin: origin)
        }
    }
}
