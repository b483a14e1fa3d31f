// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import ProtectedMedia
import Testing

struct `A DASH source` {
    private static let folders = ["timeline-cenc", "number-clear", "ondemand-cbcs", "ffmpeg-list"]

    /// The keys of all DASH fixtures.
    static func source(_ folder: String) throws -> (path: String, keys: GivenKeys) {
        let path = try Fixtures.path("media/dash/\(folder)")
        let name = try #require(try FixtureFolder.names(in: path).first { $0.hasSuffix(".mpd") })
        return ("\(path)/\(name)", try #require(ProtectedFixture.named("dash/multiperiod-mixed").first).keys)
    }

    @Test(arguments: folders) func `shows ffmpeg the pictures and plays it the audio of the clear source`(folder: String)
        async throws
    {
        let run = try ProxyRun()
        let (path, keys) = try Self.source(folder)
        let session = try run.proxy.makeURL(path, .dash, keys: keys)
        let clear = try await Frames.ffmpeg(try Fixtures.path("media/src/av-h264-aac.mp4"))
        let played = try await Frames.ffmpeg(session.url)
        #expect(played.pictures == clear.pictures)
        // the frame with which the encoder primes is cut off by the edit list of the source alone
        #expect(played.audio.dropFirst() == clear.audio[...])
        #expect(played.complaints == "")
        #expect(run.errors.withLock { $0 } == [])
        await run.proxy.stop()
    }

    /// The media times of each period begin at 0.
    @Test(arguments: [Player.ffmpeg, .mpv, .gstreamer])
    func `of two periods has all pictures in fragments in each player`(player: Player) async throws {
        let run = try ProxyRun { $0.output = .fragments }
        let (path, keys) = try Self.source("multiperiod-mixed")
        let session = try run.proxy.makeURL(path, .dash, keys: keys)
        let clear = try await Frames.ffmpeg(try Fixtures.path("media/src/av-h264-aac.mp4"))
        let played = try await Decoded.of(session.url, player)
        #expect(played.pictures == clear.pictures + clear.pictures)
        // ffmpeg remarks each further `EXT-X-MAP`, and mpv the edit lists of the source
        let known = ["Found duplicated MOOV Atom", "Edit lists are not correctly supported"]
        #expect(played.complaints.filter { line in !known.contains { line.contains($0) } } == [], "\(played.log)")
        #expect(run.errors.withLock { $0 } == [])
        await run.proxy.stop()
    }
}
