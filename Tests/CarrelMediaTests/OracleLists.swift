import CarrelJSON
import Testing

/// The entries of the oracles by the suites that read them: each suite takes its list from here.
extension ProtectedFixture {
    /// Files whose samples are encrypted.
    static let samples = named("cenc/", "dcf/av", "marlin/", "isma/", "ext/media3/")
    /// DCF.
    static let payloads = named("dcf/").filter { $0.name.hasSuffix(".dcf") }
    /// Playlists of segments that are encrypted as a whole.
    static let wholeSegments = named("hls/").filter { $0.entry["segments"] != nil }
    /// Segments under keys of 32 bytes.
    static let aes256 = named("ext/shaka-player/hls-aes-256/")
    /// MPDs of Common Encryption; of one there are other files in its folder only.
    static let dash = named("dash/", "ext/shaka-player/dash-clearkey/")
    /// Segments by the segment encryption of DASH.
    static let segmentEncryption = named("ext/shaka-player/dash-aes-128/")

    /// A playlist of samples in AES-CTR.
    static var sampleCounter: ProtectedFixture {
        get throws { try #require(all.first { $0.name == "ext/shaka-player/hls-sample-aes/index.m3u8" }) }
    }

    /// A playlist of a transport stream with encrypted samples.
    static var sampleStream: ProtectedFixture {
        get throws { try #require(all.first { $0.name == "hls/sample-aes/stream.m3u8" }) }
    }
}

struct `The oracles of the fixtures` {
    @Test func `are all read by a test`() throws {
        try #require(!ProtectedFixture.all.isEmpty)
        var read = Set([try ProtectedFixture.sampleCounter.name, try ProtectedFixture.sampleStream.name])
        let lists = [
            ProtectedFixture.samples, ProtectedFixture.payloads, ProtectedFixture.wholeSegments, ProtectedFixture.aes256,
            ProtectedFixture.dash, ProtectedFixture.segmentEncryption,
        ]
        for list in lists {
            #expect(!list.isEmpty)
            read.formUnion(list.map(\.name))
        }
        #expect(ProtectedFixture.all.map(\.name).filter { !read.contains($0) } == [])
    }
}
