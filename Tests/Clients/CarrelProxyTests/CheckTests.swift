// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import ProtectedMedia
import Testing

struct `The check of a session` {
    private static let sources: [(String, SourceSummary.Kind, MediaProtection?)] = [
        ("dash/timeline-cenc", .dash, .commonEncryption("cenc")), ("dash/number-clear", .dash, nil),
        ("cenc/av.cbcs.mp4", .mp4, .commonEncryption("cbcs")), ("dcf/av.pdcf-ctr.mp4", .mp4, .pdcf(.counter)),
        ("dcf/mp3.cbc.dcf", .dcf, .dcf(.cbc)), ("hls/av-ts-implicit-iv.m3u8", .hls, .hls("AES-128")),
    ]

    @Test(arguments: sources)
    func `tells the facts of a source`(name: String, kind: SourceSummary.Kind, protection: MediaProtection?) async throws {
        let run = try ProxyRun()
        let session: PlaylistProxy.Session
        if name.hasPrefix("dash/") {
            let (path, keys) = try `A DASH source`.source(String(name.dropFirst(5)))
            session = try run.proxy.makeURL(path, .dash, keys: keys)
        } else {
            var keys = ProtectedFixture.all.first { $0.name == name }?.keys ?? GivenKeys()
            if kind == .dcf { keys.add(.init(`A DCF source`.key), for: nil) }
            session = try run.proxy.makeURL(try Fixtures.path("media/\(name)"), kind == .hls ? .hls : .singleFile, keys: keys)
        }
        let summary = try await session.check()
        #expect(summary.kind == kind && !summary.isLive)
        #expect(summary.protections == (protection.map { [$0] } ?? []))
        #expect(summary.variants.isEmpty == (kind == .dcf))
        #expect(summary.duration.map { $0 > .seconds(1) && $0 < .seconds(60) } == (kind == .dcf ? nil : true))
        if kind == .dash || kind == .mp4 {
            #expect(
                summary.variants.allSatisfy { $0.bandwidth > 0 && ($0.width ?? 0) > 0 && $0.codecs?.contains("avc1") == true }
            )
        }
        // the player continues where the check was
        #expect(try await ProxyRun.get(session.url).status == 200)
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test func `reports tracks in addition to the pictures, and the caller's tracks`() async throws {
        let package = try await ProtectedPackage { $0.scheme = .cbcs }
        let run = try ProxyRun { $0.output = .fragments }
        var parameters = MediaSourceParameters()
        parameters.subtitles = .init(name: "Untertitel", language: "de", url: "subtitles.vtt")
        let session = try run.proxy.makeURL(package.playlist, .hls, parameters, keys: package.keys)
        let summary = try await session.check()
        #expect(summary.audio.count == 1 && summary.audio[0].isDefault)
        #expect(summary.texts.map(\.name) == ["Untertitel"] && summary.texts[0].language == "de")
        #expect(summary.protections == [.hls("SAMPLE-AES")])
        await run.proxy.stop()
    }

    @Test func `tells a scrambled stream, and that no key is there`() async throws {
        let package = try await ProtectedPackage { options in
            options.isTransport = true
            options.transport = .cissa
            options.audioKeys = options.videoKeys
        }
        let run = try ProxyRun()
        let good = try run.proxy.makeURL(package.playlist, .hls, keys: package.keys)
        #expect(try await good.check().protections.count == 1)
        let bad = try run.proxy.makeURL(package.playlist, .hls)
        await #expect(throws: ProxyError(.missingKey, "")) { _ = try await bad.check() }
        await run.proxy.stop()
    }

    /// A source without its key, or without anything, and the error of its check.
    static let wrong: [(source: String, type: PlaylistProxy.SourceType, code: ProxyError.Code)] = [
        ("cenc/av.cenc.mp4", .singleFile, .missingKey), ("dcf/mp3.cbc.dcf", .singleFile, .missingKey),
        ("src/note.txt", .singleFile, .unsupported), ("src/note.txt", .dash, .manifest), ("src/note.txt", .hls, .manifest),
        ("cenc/none.mp4", .singleFile, .missing), ("src/av-h264-aac.mp4", .singleFile, .clearContent),
    ]

    @Test(arguments: wrong.indices, SourcePlace.allCases)
    func `throws the error of a player's first requests`(index: Int, place: SourcePlace) async throws {
        let (source, type, code) = Self.wrong[index]
        let origin = try OriginServer(try Fixtures.path("media"))
        let run = try ProxyRun()
        let path = "\(place == .remote ? origin.origin : try Fixtures.path("media"))/\(source)"
        guard place == .remote || source != "cenc/none.mp4" else {
            // what is not there at all is told earlier
            #expect(throws: ProxyError(.unavailable, "")) { _ = try run.proxy.makeURL(path, type) }
            return
        }
        let session = try run.proxy.makeURL(path, type)
        let error = await #expect(throws: ProxyError.self) { _ = try await session.check() }
        #expect(error?.code == code, "\(String(describing: error))")
        // the listener hears what happens to players alone
        #expect(run.codes == [])
        await run.proxy.stop()
        await origin.stop()
    }

    @Test func `is not needed to tell a folder`() throws {
        let folder = try Fixtures.path("media/cenc")
        let run = try ProxyRun()
        let error = #expect(throws: ProxyError.self) { _ = try run.proxy.makeURL(folder, .singleFile) }
        #expect(error?.code == .unavailable && error?.message == "\(folder) is a folder")
    }

    @Test func `of a manifest without its keys throws, which its playlists do not tell`() async throws {
        let (path, _) = try `A DASH source`.source("timeline-cenc")
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(path, .dash)
        #expect(try await ProxyRun.get(session.url).status == 200)
        await #expect(throws: ProxyError(.missingKey, "")) { _ = try await session.check() }
        await run.proxy.stop()
    }

    @Test(arguments: [false, true]) func `of a live source bears segments that are not there`(hasSegments: Bool) async throws {
        let origin = MadeOrigin()
        for (name, file) in [("v-init.mp4", "v-init.mp4"), ("a-init.mp4", "a-init.mp4")] {
            origin.put(name, try Fixtures.bytes("media/dash/number-clear/\(file)"))
        }
        origin.put("live.mpd", LiveManifest(periods: [.init(start: 0, segments: 10..<20)]).text)
        if hasSegments {
            for kind in ["v", "a"] {
                for time in stride(from: 34_000, to: 40_000, by: 2000) {
                    origin.put("\(kind)-0-\(time).m4s", try Fixtures.bytes("media/dash/number-clear/\(kind)-0001.m4s"))
                }
            }
        }
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(origin.url("live.mpd"), .dash)
        let summary = try await session.check()
        #expect(summary.isLive && summary.duration == nil && summary.kind == .dash && summary.protections.isEmpty)
        // near the edge, where players begin
        #expect(!origin.requests.contains("v-0-20000.m4s") && origin.requests.contains("v-0-34000.m4s"))
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test func `redeems the token of an MS3 address`() async throws {
        let origin = try OriginServer(try Fixtures.path("media/dash/number-clear"))
        let run = try ProxyRun()
        let (good, bad) = (TestRights(), TestRights(answering: .refused("no")))
        let content = TestRights.url("\(origin.origin)/manifest.mpd")
        let session = try run.proxy.makeURL(content, .dash, rights: good)
        #expect(try await session.check().kind == .dash)
        #expect(try await ProxyRun.get(session.url).status == 200)
        #expect(good.asked.count == 1)
        let refused = try run.proxy.makeURL(content, .dash, rights: bad)
        await #expect(throws: ProxyError(.refusedKey, "")) { _ = try await refused.check() }
        await run.proxy.stop()
        await origin.stop()
    }
}

struct `The progress of a session` {
    @Test(arguments: [PlaylistProxy.Output.transportStream, .fragments])
    func `counts the time and the bytes of what a player takes`(output: PlaylistProxy.Output) async throws {
        let (path, keys) = try `A DASH source`.source("timeline-cenc")
        let run = try ProxyRun { $0.output = output }
        let session = try run.proxy.makeURL(path, .dash, keys: keys)
        #expect(session.progress().segments == 0 && session.progress().duration == nil)
        let segments = try await ProxyRun.segments(of: session)
        var bytes = 0
        for segment in segments { bytes += try await ProxyRun.get(segment).body.count }
        let progress = session.progress()
        #expect(progress.segments == segments.count && progress.bytes == bytes)
        #expect(progress.media == progress.duration && progress.run == progress.media && progress.media > .seconds(5))
        #expect(progress.segment == Int64(segments.count - 1) && (progress.bitrate ?? 0) > 1000)
        let began = try #require(progress.runBegan)
        #expect(progress.buffered(at: began) == progress.run)
        #expect(progress.buffered(at: began + .seconds(2)) == progress.run - .seconds(2))
        #expect(progress.buffered(at: began + .seconds(3600)) == .zero)
        // a jump back begins a run
        _ = try await ProxyRun.get(segments[0])
        let jumped = session.progress()
        #expect(jumped.segments == segments.count + 1 && jumped.run < progress.run && jumped.media > progress.media)
        #expect(try #require(jumped.runBegan) > began)
        await run.proxy.stop()
    }
}
