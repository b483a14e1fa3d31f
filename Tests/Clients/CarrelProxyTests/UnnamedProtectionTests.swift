// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import Testing

struct `Fragments that no key line speaks of` {
    /// A package of Common Encryption without key lines in its playlists.
    private static func package(_ scheme: CommonEncryptionScheme = .cbcs, _ names: [String] = ["video-1", "audio-1"]) async throws
        -> ProtectedPackage
    {
        let package = try await ProtectedPackage { $0.scheme = scheme }
        for name in names {
            let text = try package.text("\(name).m3u8")
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).filter { !$0.hasPrefix("#EXT-X-KEY") }
            #expect(text.contains("#EXT-X-KEY"))
            package.write("\(name).m3u8", lines.joined(separator: "\n"))
        }
        return package
    }

    @Test(arguments: [CommonEncryptionScheme.cbcs, .cenc], [PlaylistProxy.Output.transportStream, .fragments])
    func `are decrypted by the key ids of their initialization sections`(
        scheme: CommonEncryptionScheme,
        output: PlaylistProxy.Output
    ) async throws {
        let package = try await Self.package(scheme)
        for policy in [PlaylistProxy.Policy.usual, .open] {
            try await `An HLS source`.play(package.playlist, output, policy: policy, keys: package.keys)
        }
    }

    @Test(arguments: [PlaylistProxy.Policy.usual, .open], [PlaylistProxy.Output.transportStream, .fragments])
    func `never go out without their keys`(policy: PlaylistProxy.Policy, output: PlaylistProxy.Output) async throws {
        let package = try await Self.package()
        let run = try ProxyRun { options in
            options.policy = policy
            options.output = output
        }
        let session = try run.proxy.makeURL(package.playlist, .hls)
        for list in ["media.m3u8?video=0", "media.m3u8?audio=0"] {
            let addresses = try await ProxyRun.addresses(session.url.replacing("index.m3u8", with: list))
            #expect(!addresses.isEmpty)
            for address in addresses { try await ProxyRun.expectRefusal(address, .missingKey, 403, of: run) }
        }
        await run.proxy.stop()
    }

    @Test func `are refused by the seed's policy, and clear ones by all but the open one`() async throws {
        let package = try await Self.package()
        let seed = try ProxyRun { $0.policy = .compatible }
        let session = try seed.proxy.makeURL(package.playlist, .hls, keys: package.keys)
        try await ProxyRun.expectRefusal(session.url, .unsupported, 415, of: seed)
        await seed.proxy.stop()
        let clear = try await ProtectedPackage { $0.scheme = nil }
        let usual = try ProxyRun()
        let other = try usual.proxy.makeURL(clear.playlist, .hls)
        try await ProxyRun.expectRefusal(other.url, .clearContent, 403, of: usual)
        await usual.proxy.stop()
    }

    @Test func `finds protected tracks together with unencrypted pictures`() async throws {
        let package = try await Self.package(.cbcs, ["audio-1"])
        let clear = try await ProtectedPackage { $0.scheme = nil }
        _ = try await runProcess(["/bin/cp", "-r", "\(clear.path)/video-1", "\(clear.path)/video-1.m3u8", package.path])
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(package.playlist, .hls)
        #expect(try await ProxyRun.get(session.url).status == 200)
        #expect(try await ProxyRun.get(try #require(try await ProxyRun.segments(of: session).first)).status == 200)
        let audio = try await ProxyRun.addresses(session.url.replacing("index.m3u8", with: "media.m3u8?audio=0"))
        try await ProxyRun.expectRefusal(try #require(audio.first), .missingKey, 403, of: run)
        await run.proxy.stop()
        try await `An HLS source`.play(package.playlist, keys: package.keys)
    }

    @Test func `and that come with their movie are decrypted, or refused`() async throws {
        let package = try await Self.package()
        // segments that begin with their initialization section, which the playlist does not name
        for name in ["video-1", "audio-1"] {
            let text = try package.text("\(name).m3u8")
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("#EXT-X-MAP") })
            let file = try #require(line.split(separator: "\"").dropFirst().first)
            let initialization = try #require(package.directory.read("out/\(file)"))
            for segment in text.split(separator: "\n") where !segment.hasPrefix("#") {
                let bytes = try #require(package.directory.read("out/\(segment)"))
                _ = package.directory.write("out/\(segment)", initialization + bytes)
            }
            package.write("\(name).m3u8", text.replacing("\(line)\n", with: ""))
        }
        try await `An HLS source`.play(package.playlist, policy: .open, keys: package.keys)
        let run = try ProxyRun { $0.policy = .open }
        let session = try run.proxy.makeURL(package.playlist, .hls)
        for segment in try await ProxyRun.segments(of: session) {
            try await ProxyRun.expectRefusal(segment, .missingKey, 403, of: run)
        }
        await run.proxy.stop()
    }

    @Test func `inside segments that are encrypted as a whole are refused`() async throws {
        let package = try await Self.package()
        _ = package.directory.write("out/whole.key", MarkedSegment.key)
        for name in ["video-1", "audio-1"] {
            let text = try package.text("\(name).m3u8")
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("#EXT-X-MAP") })
            for segment in text.split(separator: "\n") where !segment.hasPrefix("#") {
                let bytes = try #require(package.directory.read("out/\(segment)"))
                let sealed = try MarkedSegment.encrypted(bytes, [UInt8](repeating: 9, count: 16))
                _ = package.directory.write("out/\(segment)", sealed)
            }
            let key = "#EXT-X-KEY:METHOD=AES-128,URI=\"whole.key\",IV=0x\(String(repeating: "09", count: 16))"
            package.write("\(name).m3u8", text.replacing(line, with: "\(line)\n\(key)"))
        }
        for output in [PlaylistProxy.Output.transportStream, .fragments] {
            let run = try ProxyRun { $0.output = output }
            let session = try run.proxy.makeURL(package.playlist, .hls, keys: package.keys)
            for segment in try await ProxyRun.segments(of: session) {
                try await ProxyRun.expectRefusal(segment, .unsupported, 415, of: run)
            }
            await run.proxy.stop()
        }
    }
}
