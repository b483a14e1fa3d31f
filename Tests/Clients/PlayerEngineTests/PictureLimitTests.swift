// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelLicenseKeys
import CarrelMedia
import CarrelMediaSource
import CarrelPlayer
import CarrelPlayerTesting
import CarrelProxy
import CarrelRights
import CarrelTesting
import Testing

/// DASH with pictures of several sizes, under a license that limits them.
@Suite(.serialized) struct `A limit on pictures in DASH` {
    /// A representation of the pictures, with the size that the manifest states: `width="…" height="…"`, or nothing.
    private static func representation(_ id: String, _ size: String) -> String {
        #"""
        <Representation id="\#(id)" codecs="avc1.64000C" \#(size) frameRate="25" sar="1:1" bandwidth="149080">
        <SegmentTemplate media="v-$Time$.m4s" initialization="v-init.mp4"/></Representation>
        """#
    }

    /// A copy of the fixture with other representations of its pictures, which are 320x180. Returns the manifest's path.
    private static func manifest(_ representations: [String], in directory: TemporaryDirectory) async throws -> String {
        let path = try Fixtures.path("media/dash/timeline-cenc/manifest.mpd")
        let copy = "cp \"$1\"/*.m4s \"$1\"/*.mp4 \"$2\""
        let folder = String(path.dropLast("/manifest.mpd".count))
        try await checkProcess(["sh", "-c", copy, "sh", folder, directory.path])
        var text = String(decoding: try #require(Fixtures.bytes(at: path)), as: UTF8.self)
        let begin = try #require(text.firstRange(of: "<Representation id=\"v\""))
        let end = try #require(text.firstRange(of: "</Representation>"))
        text.replaceSubrange(begin.lowerBound..<end.upperBound, with: representations.joined(separator: "\n"))
        text.replace(#" maxWidth="320" maxHeight="180""#, with: "")
        return directory.write("manifest.mpd", text)
    }

    /// A player whose license for the pictures limits their size; the license of the sound is without a limit, or there is none.
    private static func player(_ pixels: Int64, hasAudio: Bool, _ world: PlayerWorld) async throws -> PlayerEngine {
        let (engine, source) = (try await world.player(), LicensedSource.all[0])
        let licenses = try await LicensedSource.license(hasAudio ? source.keys : [source.keys[0]], for: engine, world)
        let data = try #require(try await engine.licenses().license(licenses[0])?.data)
        try await engine.addLicense(try await world.reissued(data) { $0.add(.imageConstraint, ["pixels": .integer(pixels)]) })
        return engine
    }

    private static func proxy() throws -> PlaylistProxy {
        let proxy = try PlaylistProxy(options: PlaylistProxy.Options())
        try proxy.start()
        return proxy
    }

    @Test func `leaves out larger renditions and renditions of unknown size, each with its reason`() async throws {
        let (world, directory) = (try await PlayerWorld(), TemporaryDirectory())
        let engine = try await Self.player(100_000, hasAudio: true, world)
        let path = try await Self.manifest(
            [
                Self.representation("small", #"width="320" height="180""#),
                Self.representation("large", #"width="1280" height="720""#), Self.representation("unknown", ""),
            ],
            in: directory
        )
        let proxy = try Self.proxy()
        let session = try proxy.makeURL(path, .dash, keys: LicenseKeys(engine))
        let warnings = try await session.check().warnings
        #expect(warnings.count == 2, "\(warnings)")
        #expect(warnings.contains { $0.contains("large") && $0.contains("1280x720 are more") }, "\(warnings)")
        #expect(warnings.contains { $0.contains("unknown") && $0.contains("size is not known") }, "\(warnings)")
        let top = String(decoding: try await HTTPClient().send(ClientRequest(session.url)).body, as: UTF8.self)
        #expect(top.split(separator: "\n").filter { $0.hasPrefix("#EXT-X-STREAM-INF") }.count == 1, "\(top)")
        let frames = try await LicensedSource.frames(session.url)
        #expect(frames.pictures.count > 100 && frames.audio.count > 100)
        await proxy.stop()
    }

    @Test func `refuses a source of which nothing remains, and names what it left out`() async throws {
        let (world, directory) = (try await PlayerWorld(), TemporaryDirectory())
        let engine = try await Self.player(1000, hasAudio: false, world)
        let path = try await Self.manifest(
            [Self.representation("small", #"width="320" height="180""#), Self.representation("unknown", "")],
            in: directory
        )
        let proxy = try Self.proxy()
        let session = try proxy.makeURL(path, .dash, keys: LicenseKeys(engine))
        let error = try #require(await #expect(throws: ProxyError.self) { try await session.check() })
        #expect(error.code == .outputControl && error.message.contains("at most 1000 pixels"), "\(error)")
        #expect(error.message.contains("small"), "\(error)")
        let response = try await HTTPClient().send(ClientRequest(session.url))
        #expect(response.status == .forbidden)
        await proxy.stop()
    }

    @Test func `measures the segments themselves if the manifest states a smaller size`() async throws {
        let (world, directory) = (try await PlayerWorld(), TemporaryDirectory())
        let engine = try await Self.player(1000, hasAudio: true, world)
        let path = try await Self.manifest([Self.representation("small", #"width="16" height="16""#)], in: directory)
        let proxy = try Self.proxy()
        let session = try proxy.makeURL(path, .dash, keys: LicenseKeys(engine))
        let client = HTTPClient()
        let top = String(decoding: try await client.send(ClientRequest(session.url)).body, as: UTF8.self)
        var refused = 0
        for media in top.split(separator: "\n") where !media.hasPrefix("#") {
            let list = URIReference.resolve(String(media), against: session.url)
            let text = String(decoding: try await client.send(ClientRequest(list)).body, as: UTF8.self)
            for segment in text.split(separator: "\n") where !segment.hasPrefix("#") {
                let request = ClientRequest(URIReference.resolve(String(segment), against: list), maxResponseBytes: 16 << 20)
                #expect(try await client.send(request).status == .forbidden)
                refused += 1
            }
        }
        #expect(refused > 0 && proxy.takeLastError()?.code == .outputControl, "\(top)")
        await proxy.stop()
    }
}
