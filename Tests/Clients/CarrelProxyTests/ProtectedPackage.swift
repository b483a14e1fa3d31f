// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelTesting

/// A package that our packager made for a test.
struct ProtectedPackage {
    static let videoKey = key("00112233445566778899aabbccddeeff", "000102030405060708090a0b0c0d0e0f")
    static let audioKey = key("ffeeddccbbaa99887766554433221100", "f0e0d0c0b0a090807060504030201000")
    /// The source of all packages.
    static let source = "media/src/av-h264-aac.mp4"

    let directory = TemporaryDirectory()
    let options: PackagingOptions

    /// The folder of the package.
    var path: String { directory.file("out") }
    /// Its top playlist.
    var playlist: String { "\(path)/master.m3u8" }

    static func key(_ id: String, _ key: String) -> PackagingKey {
        guard let id = Hex.decode(id).flatMap({ KeyID($0.rawSpan) }), let key = Hex.decode(key),
            let made = try? PackagingKey(id: id, key: Secret(key))
        else { preconditionFailure("a key of the test is damaged") }
        return made
    }

    /// - Parameters:
    ///   - texts: subtitles.
    ///   - change: of the options, whose keys are those above.
    /// - Throws: what the packager throws; `Fixtures.Missing`.
    init(texts: [PackagingText] = [], _ change: (inout PackagingOptions) -> Void) async throws {
        var options = PackagingOptions()
        options.segmentDuration = 2000
        options.videoKeys = [Self.videoKey]
        options.audioKeys = [Self.audioKey]
        change(&options)
        self.options = options
        let source = try await PackagingSource(name: "source", LocalFile(try Fixtures.path(Self.source)))
        let packager = try Packager([source], texts: texts, options)
        let folder = try PackageFolder(directory.file("out"))
        _ = try packager.write(to: folder)
        try folder.commit()
    }

    /// All keys by their ids.
    var keys: GivenKeys {
        var keys = GivenKeys()
        for key in options.videoKeys + options.audioKeys { keys.add(key.key, for: .id(key.id.bytes)) }
        return keys
    }

    /// The bytes of a key by the digits of its id.
    func bytes(ofKey id: String) -> [UInt8]? {
        let found = (options.videoKeys + options.audioKeys).first { Hex.encode($0.id.bytes) == id }
        return found?.key.withBytes { bytes in (0..<bytes.byteCount).map { bytes.u8(at: $0) } }
    }

    /// A file of the package.
    func text(_ name: String) throws -> String {
        guard let bytes = directory.read("out/\(name)") else { throw Fixtures.Missing(path: name) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Rewrites a file of the package.
    func write(_ name: String, _ text: String) { _ = directory.write("out/\(name)", text) }
}
