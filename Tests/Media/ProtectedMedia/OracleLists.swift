// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting

/// The entries of the oracles by the suites that read them: each suite takes its list from here.
extension ProtectedFixture {
    /// Files whose samples are encrypted.
    package static let samples = named("cenc/", "dcf/av", "marlin/", "isma/", "ext/media3/")
    /// DCF.
    package static let payloads = named("dcf/").filter { $0.name.hasSuffix(".dcf") }
    /// Playlists of segments that are encrypted as a whole.
    package static let wholeSegments = named("hls/").filter { $0.entry["segments"] != nil }
    /// Segments under keys of 32 bytes.
    package static let aes256 = named("ext/shaka-player/hls-aes-256/")
    /// MPDs of Common Encryption; of one there are other files in its folder only.
    package static let dash = named("dash/", "ext/shaka-player/dash-clearkey/")
    /// Segments by the segment encryption of DASH.
    package static let segmentEncryption = named("ext/shaka-player/dash-aes-128/")

    /// A playlist of samples in AES-CTR.
    package static var sampleCounter: ProtectedFixture {
        get throws { try one("ext/shaka-player/hls-sample-aes/index.m3u8") }
    }

    /// A playlist of a transport stream with encrypted samples.
    package static var sampleStream: ProtectedFixture {
        get throws { try one("hls/sample-aes/stream.m3u8") }
    }

    private static func one(_ name: String) throws -> ProtectedFixture {
        guard let fixture = all.first(where: { $0.name == name }) else { throw Fixtures.Missing(path: name) }
        return fixture
    }
}
