// SPDX-License-Identifier: Apache-2.0

import ProtectedMedia
import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelTesting

/// A package made for a test.
struct PackagingRun {
    static let videoKey = key("00112233445566778899aabbccddeeff", "000102030405060708090a0b0c0d0e0f")
    static let audioKey = key("ffeeddccbbaa99887766554433221100", "f0e0d0c0b0a090807060504030201000")

    let directory = TemporaryDirectory()
    let summary: PackageSummary
    let options: PackagingOptions

    /// The folder of the package.
    var path: String { directory.file("out") }

    static func key(_ id: String, _ key: String) -> PackagingKey {
        guard let id = Hex.decode(id).flatMap({ KeyID($0.rawSpan) }), let key = Hex.decode(key),
            let made = try? PackagingKey(id: id, key: Secret(key))
        else { preconditionFailure("a key of the test is damaged") }
        return made
    }

    static func options(_ scheme: CommonEncryptionScheme?, _ layout: PackagingOptions.Layout = .segments) -> PackagingOptions {
        var options = PackagingOptions()
        options.scheme = scheme
        options.layout = layout
        options.segmentDuration = 2000
        options.videoKeys = [videoKey]
        options.audioKeys = [audioKey]
        return options
    }

    init(_ fixtures: [String], texts: [PackagingText] = [], _ options: PackagingOptions) async throws {
        var sources: [PackagingSource] = []
        for name in fixtures {
            let path = name.hasPrefix("/") ? name : try Fixtures.path("media/\(name)")
            sources.append(try await PackagingSource(name: name, LocalFile(path)))
        }
        self.options = options
        let packager = try Packager(sources, texts: texts, options)
        let folder = try PackageFolder(directory.file("out"))
        summary = try packager.write(to: folder)
        try folder.commit()
    }

    /// A file of the package.
    func bytes(_ name: String) throws -> [UInt8] {
        guard let bytes = directory.read("out/\(name)") else { throw Fixtures.Missing.of(name) }
        return bytes
    }

    func text(_ name: String) throws -> String { String(decoding: try bytes(name), as: UTF8.self) }

    /// The initialization segment and all media segments of a track, as one file.
    func whole(_ track: PackageSummary.Track) throws -> [UInt8] {
        if options.layout == .ranges { return try bytes("\(track.name).mp4") }
        var all = try bytes("\(track.name)/init.mp4")
        for i in 0..<track.segmentCount { all += try bytes("\(track.name)/\(i + 1).m4s") }
        return all
    }

    /// All keys.
    var keys: GivenKeys {
        var keys = GivenKeys()
        for key in options.videoKeys + options.audioKeys { keys.add(key.key, for: .id(key.id.bytes)) }
        return keys
    }

    /// A file decrypted.
    static func clear(_ bytes: [UInt8], _ keys: GivenKeys) async throws -> MP4File {
        let file = try MP4File(BytesReader(bytes))
        var copy = try ClearCopy(file, keys: try await TrackDecrypter.keys(of: file, from: keys))
        var sink = BytesSink()
        try copy.write(to: &sink)
        return try MP4File(BytesReader(sink.bytes))
    }

    /// The digest of the samples of a file's picture or sound.
    static func digest(_ path: String, _ handler: String) throws -> String? {
        try MP4File(LocalFile(path)).digest(of: handler)
    }
}

extension Fixtures.Missing {
    static func of(_ name: String) -> Fixtures.Missing { Fixtures.Missing(path: name) }
}
