// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelPlayer
import CarrelProxy
import CarrelPlayerTesting
import CarrelRights
import CarrelTesting
import CarrelTokens
import Testing

/// A protected source of one of the kinds that a proxy takes, with the keys that a license needs for it.
struct LicensedSource: CustomStringConvertible, Sendable {
    /// A key, and the content ID of its license.
    struct Key: Sendable {
        let content: String
        let id: String
        let key: String
    }

    let description: String
    let type: PlaylistProxy.SourceType
    let keys: [Key]
    /// The file of the fixtures, or the file of a package that is made.
    private let name: String
    private let transport: TransportScheme?
    private let isPackage: Bool

    static let video = Key(
        content: "cid:video-of-a-film",
        id: "8da1f89c17bba5d7fcce0d33544cb5a4",
        key: "88576e73d56defe8309278c693790601"
    )
    static let audio = Key(
        content: "cid:audio-of-a-film",
        id: "ea0aef607cd41785a5c680e49ed7b1cf",
        key: "a593b8606d0b403f77fe5aacc84cf0d3"
    )
    /// The clear source of all.
    static let clear = "media/src/av-h264-aac.mp4"

    private init(
        _ description: String,
        _ type: PlaylistProxy.SourceType,
        _ name: String,
        _ keys: [Key] = [video, audio],
        transport: TransportScheme? = nil,
        isPackage: Bool = false
    ) {
        self.description = description
        self.type = type
        self.name = name
        self.keys = keys
        self.transport = transport
        self.isPackage = isPackage
    }

    /// One for each row of the table in docs/proxy.md whose output are pictures and sound.
    static let all: [LicensedSource] = [
        LicensedSource("DASH, Common Encryption", .dash, "media/dash/timeline-cenc/manifest.mpd"),
        LicensedSource("HLS, fragments", .hls, "master.m3u8", isPackage: true),
        LicensedSource("HLS, AES-128", .hls, "master.m3u8", transport: .aes128, isPackage: true),
        LicensedSource("HLS, SAMPLE-AES", .hls, "master.m3u8", transport: .sampleAES, isPackage: true),
        LicensedSource("HLS, scrambled", .hls, "master.m3u8", transport: .cissa, isPackage: true),
        LicensedSource("MP4, Common Encryption", .singleFile, "media/cenc/av.cenc.mp4"),
        LicensedSource("MP4, PIFF", .singleFile, "media/cenc/av.piff-ctr.mp4"),
        LicensedSource(
            "MP4, PDCF",
            .singleFile,
            "media/dcf/av.pdcf-ctr.mp4",
            [
                Key(content: "cid:shared-video@content.example", id: video.id, key: video.key),
                Key(content: "cid:shared-audio@content.example", id: audio.id, key: audio.key),
            ]
        ),
        LicensedSource(
            "MP4, Marlin IPMP",
            .singleFile,
            "media/marlin/av.acbc.mp4",
            [
                Key(content: "urn:marlin:organization:test:cid:video", id: video.id, key: video.key),
                Key(content: "urn:marlin:organization:test:cid:audio", id: audio.id, key: audio.key),
            ]
        ),
    ]

    /// The path of the source; a package is made in a folder.
    func path(in folder: TemporaryDirectory) async throws -> String {
        guard isPackage else { return try Fixtures.path(name) }
        func made(_ key: Key) throws -> PackagingKey {
            let id = try #require(Hex.decode(key.id).flatMap { KeyID($0.rawSpan) })
            return try PackagingKey(id: id, key: Secret(try #require(Hex.decode(key.key))))
        }
        var options = PackagingOptions()
        options.segmentDuration = 2000
        options.videoKeys = [try made(Self.video)]
        options.audioKeys = [try made(Self.audio)]
        options.isTransport = transport != nil
        options.transport = transport
        if transport == nil { options.scheme = .cbcs } else { options.audioKeys = options.videoKeys }
        if transport == .aes128 || transport == .sampleAES { options.keyURI = "skd://{kid}" }
        let source = try await PackagingSource(name: "source", LocalFile(try Fixtures.path(Self.clear)))
        let packager = try Packager([source], texts: [], options)
        let target = try PackageFolder(folder.file("package"))
        _ = try packager.write(to: target)
        try target.commit()
        return folder.file("package/\(name)")
    }

    /// Stores a license for each key.
    static func license(_ keys: [Key], for engine: PlayerEngine, _ world: PlayerWorld) async throws -> [String] {
        var licenses: [String] = []
        for key in keys {
            let token = try await world.action { rules in
                let id = KeyID(hex: key.id) ?? KeyID(label: "")
                rules.contents = [.init(contentID: key.content, keyID: id, key: Secret(Hex.decode(key.key) ?? []))]
                rules.outputControlOverride = .init(imageConstraintLevel: 0)
            }
            licenses.append(try await engine.process(token).license)
        }
        return licenses
    }

    /// The frames of pictures and audio that ffmpeg decodes, as digests.
    static func frames(_ source: String) async throws -> (pictures: [String], audio: [String]) {
        var all: [[String]] = []
        for map in ["0:v:0", "0:a:0"] {
            let result = try await runProcess(
                [try requirePeer("ffmpeg"), "-v", "error", "-nostdin", "-i", source, "-map", map, "-f", "framemd5", "-"],
                timeout: .seconds(120)
            )
            all.append(
                result.text.split(separator: "\n").filter { !$0.hasPrefix("#") }
                    .compactMap { $0.split(separator: ",").last.map { String($0.drop { $0 == " " }) } }
            )
        }
        return (all[0], all[1])
    }
}
