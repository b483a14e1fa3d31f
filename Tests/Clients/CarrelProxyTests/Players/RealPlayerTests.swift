// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

/// The clear film as decoded by each player, once per player.
private actor ClearFilm {
    static let shared = ClearFilm()
    private var decoded: [Player: Decoded] = [:]
    private var shown: [Int: String]?

    func decoded(_ player: Player) async throws -> Decoded {
        if let known = decoded[player] { return known }
        let made = try await Decoded.of(try SourceRow.film, player)
        decoded[player] = made
        return made
    }

    /// Digests of the pictures around the given ones, as Chromium shows them.
    func shown(around numbers: [Int], _ reach: Int) async throws -> [Int: String] {
        if let shown { return shown }
        let origin = try OriginServer(try Fixtures.path("media/src")) { request in
            guard request.path.segments == ["page"] else { return nil }
            return .html("<!doctype html><title>film</title><video src=av-h264-aac.mp4></video>")
        }
        let all = numbers.flatMap { ($0 - reach...$0 + reach) }
        let digests = try await BrowserPictures.shown("\(origin.origin)/page", all).digests
        await origin.stop()
        let made = Dictionary(zip(all, digests)) { first, _ in first }
        try #require(Set(made.values).count == all.count)
        shown = made
        return made
    }
}

/// Every kind of source, played through the proxy by common players, compared with its clear source in the same players.
@Suite(.serialized) struct `A player of this machine` {
    private static let outputs = [PlaylistProxy.Output.transportStream, .fragments]
    private static let isLong = unsafe getenv("CARREL_LONG") != nil

    // GStreamer has a suite of its own
    @Test(arguments: SourceRow.telling, [Player.mpv, .chromium, .vlc])
    func `shows the pictures of the clear source and plays its audio`(row: SourceRow, player: Player) async throws {
        for output in Self.outputs { try await Self.play(row, player, output) }
    }

    @Test(arguments: SourceRow.half(0)) func `shows every other kind of source`(row: SourceRow) async throws {
        try await Self.playBoth(row, .mpv)
    }

    @Test(arguments: SourceRow.ofShakaPackager)
    func `shows what Shaka Packager packed`(row: SourceRow) async throws {
        for output in Self.outputs { try await Self.play(row, .ffmpeg, output) }
    }

    @Test(
        .enabled(if: isLong, "only with CARREL_LONG=1"),
        arguments: SourceRow.all + SourceRow.ofShakaPackager,
        Player.allCases
    )
    func `shows the pictures of the clear source and plays its audio, whatever the source is`(row: SourceRow, player: Player)
        async throws
    {
        for output in Self.outputs { try await Self.play(row, player, output) }
    }

    @Test func `shows a stream of bytes on the page too`() async throws {
        let row = try #require(SourceRow.all.first { $0.testDescription == "remote DCF" })
        try await Self.play(row, .chromium, .transportStream)
    }

    /// Plays both outputs at a time: a player mostly waits.
    static func playBoth(_ row: SourceRow, _ player: Player) async throws {
        try await withThrowingTaskGroup { group in
            for output in outputs { group.addTask { try await play(row, player, output) } }
            try await group.waitForAll()
        }
    }

    private static func play(_ row: SourceRow, _ player: Player, _ output: PlaylistProxy.Output) async throws {
        let source = try await row.make()
        let run = try ProxyRun { $0.output = output }
        let session = try run.proxy.makeURL(source.address, source.type, keys: source.keys)
        switch player {
        case .chromium: try await seek(session, output)
        case .vlc: try await playToEnd(session.url, output)
        default:
            let clear = try await ClearFilm.shared.decoded(player)
            let played = try await Decoded.of(session.url, player)
            #expect(clear.pictures.count == 250 && played.pictures == clear.pictures, "\(output)")
            #expect(played.hasAudio(of: clear.audio), "\(output): \(played.audio.count) of \(clear.audio.count)")
            #expect(played.complaints == [], "\(output): \(run.traces.withLock { $0 }), \(played.log)")
        }
        #expect(run.errors.withLock { $0 } == [])
        await run.proxy.stop()
        await source.end()
    }

    /// Shows pictures of several segments, seeking ahead and back. A source whose pictures begin after its audio shows each of them a little
    /// later than the film does.
    private static func seek(_ session: PlaylistProxy.Session, _ output: PlaylistProxy.Output) async throws {
        let numbers = [10, 120, 231, 60]
        let clear = try await ClearFilm.shared.shown(around: numbers, 3)
        let (digests, seconds) = try await BrowserPictures.shown(session.pageURL, numbers)
        let shifts = (-3...3).filter { shift in
            zip(numbers, digests).allSatisfy { number, digest in clear[number + shift] == digest }
        }
        #expect(shifts.count == 1 && shifts.allSatisfy { abs($0) <= 1 }, "\(output): \(shifts), \(digests)")
        #expect((10..<12).contains(seconds))
    }

    /// VLC writes what it decodes to a file, without waiting for a clock. Its encoder keeps the last few pictures.
    private static func playToEnd(_ url: String, _ output: PlaylistProxy.Output) async throws {
        let vlc = try requirePeer("vlc")
        let directory = TemporaryDirectory()
        let played = directory.file("played.avi")
        let sink = "#transcode{vcodec=mp1v,vb=2000,acodec=s16l,channels=2}:std{access=file,mux=avi,dst=\(played)}"
        let user = try await Self.anotherUser()
        let result = try await runProcess(
            user + [
                vlc, "-I", "dummy", "--ignore-config", "--no-media-library", "--play-and-exit", "--sout", sink, url,
            ],
            environment: ["HOME": directory.path, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"],
            timeout: .seconds(60)
        )
        #expect(result.status.isSuccess, "\(result.errorText)")
        let complaints = result.errorText.split(separator: "\n").filter { line in
            ["access", "adaptive", "demux", "http", "decoder", "stream"].contains { line.contains("\($0) error") }
                // tables before a segment repeat the previous segment's, which ISO/IEC 13818-1 §2.4.3.3 allows once
                && !line.contains("TS duplicate")
        }
        #expect(complaints == [], "\(output)")
        let counts = try await checkProcess([
            try requirePeer("ffprobe"), "-v", "error", "-count_packets", "-show_entries",
            "stream=codec_type,duration,nb_read_packets",
            "-of", "csv=p=0", played,
        ])
        let lines = counts.split(separator: "\n").map { $0.split(separator: ",") }
        let pictures = lines.first { $0.first == "video" }?.last.flatMap { Int($0) } ?? 0
        let frames = lines.first { $0.first == "audio" }?.last.flatMap { Int($0) } ?? 0
        #expect(pictures >= 245 && pictures <= 250 && frames >= 460, "\(output): \(counts)")
    }

    /// VLC refuses to run as root, and the proxy refuses other users: so it runs as the same user, who has another number in its namespace.
    private static func anotherUser() async throws -> [String] {
        guard geteuid() == 0 else { return [] }
        let words = [try requirePeer("unshare"), "--user", "--map-user=1000"]
        guard try await runProcess(words + ["true"]).status.isSuccess else {
            try Test.cancel("unshare gives no user namespaces: VLC does not run as root")
        }
        return words
    }
}
