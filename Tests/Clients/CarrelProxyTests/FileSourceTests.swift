// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import ProtectedMedia
import Testing

struct `A single file` {
    /// Protected files, each with the clear one that it was made of.
    private static let files = [
        "cenc/av.cenc.mp4", "cenc/av.cbcs.mp4", "cenc/av.cens.mp4", "cenc/av.cbc1.mp4", "cenc/av-nonfrag.cenc.mp4",
        "cenc/av.piff-ctr.mp4", "cenc/av.piff-cbc.mp4", "dcf/av.pdcf-cbc.mp4", "dcf/av.pdcf-ctr.mp4",
    ]

    @Test(arguments: files) func `shows ffmpeg the pictures and plays it the audio of the clear source`(name: String) async throws
    {
        let run = try ProxyRun()
        let fixture = try #require(ProtectedFixture.all.first { $0.name == name })
        let session = try run.proxy.makeURL(try Fixtures.path("media/\(name)"), .singleFile, keys: fixture.keys)
        let clear = try await Frames.ffmpeg(try Fixtures.path("media/src/av-h264-aac.mp4"))
        let played = try await Frames.ffmpeg(session.url)
        #expect(played.pictures == clear.pictures)
        #expect(played.audio.suffix(clear.audio.count) == clear.audio[...])
        #expect(played.audio.count <= clear.audio.count + 2)
        #expect(played.complaints == "")
        #expect(run.errors.withLock { $0 } == [])
        await run.proxy.stop()
    }

    @Test func `is also served as fragments`() async throws {
        let run = try ProxyRun { $0.output = .fragments }
        let fixture = try #require(ProtectedFixture.all.first { $0.name == "cenc/av.cenc.mp4" })
        let session = try run.proxy.makeURL(try Fixtures.path("media/cenc/av.cenc.mp4"), .singleFile, keys: fixture.keys)
        let clear = try await Frames.ffmpeg(try Fixtures.path("media/src/av-h264-aac.mp4"))
        let played = try await Frames.ffmpeg(session.url)
        #expect(played.pictures == clear.pictures)
        #expect(played.audio.suffix(clear.audio.count) == clear.audio[...])
        #expect(run.errors.withLock { $0 } == [])
        await run.proxy.stop()
    }

    @Test func `of no protection is refused, unless the policy is open`() async throws {
        let path = try Fixtures.path("media/src/av-h264-aac.mp4")
        let usual = try ProxyRun()
        let (status, _, _) = try await ProxyRun.get(try usual.proxy.makeURL(path, .singleFile).url)
        #expect(status == 403)
        #expect(usual.errors.withLock { $0.map(\.code) } == [.clearContent])
        let open = try ProxyRun { $0.policy = .open }
        let session = try open.proxy.makeURL(path, .singleFile)
        let played = try await Frames.ffmpeg(session.url)
        #expect(try await played.pictures == Frames.ffmpeg(path).pictures)
        await usual.proxy.stop()
        await open.proxy.stop()
    }

    @Test func `without its key is an error before any media`() async throws {
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(try Fixtures.path("media/cenc/av.cenc.mp4"), .singleFile)
        let (status, _, _) = try await ProxyRun.get(session.url)
        #expect(status == 403)
        #expect(run.proxy.takeLastError()?.code == .missingKey)
        await run.proxy.stop()
    }
}
