// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import Glibc
import ProtectedMedia
import Testing

/// A flash and a beep each second, through the proxy, in players.
@Suite(.serialized) struct `Pictures and sound of the proxy` {
    private static let isLong = unsafe getenv("CARREL_LONG") != nil

    enum Source: CaseIterable {
        case film, playlist, manifest
    }

    private static func play(_ film: FlashFilm, _ source: Source, _ player: FlashPlayer, _ output: PlaylistProxy.Output)
        async throws
    {
        let directory = TemporaryDirectory()
        let path = try await film.make(in: directory)
        let run = try ProxyRun { ($0.output, $0.policy) = (output, .open) }
        var server: FolderServer?
        let session: PlaylistProxy.Session
        if source == .film {
            session = try run.proxy.makeURL(path, .singleFile, keys: GivenKeys())
        } else {
            var options = PackagingOptions()
            options.segmentDuration = 2000
            let packager = try Packager([try await PackagingSource(name: "film", LocalFile(path))], options)
            let folder = try PackageFolder(directory.file("out"))
            _ = try packager.write(to: folder)
            try folder.commit()
            let made = FolderServer(directory.file("out"))
            server = made
            session =
                source == .playlist
                ? try run.proxy.makeURL("\(made.origin)/master.m3u8", .hls, keys: GivenKeys())
                : try run.proxy.makeURL("\(made.origin)/manifest.mpd", .dash, keys: GivenKeys())
        }
        let times = try await player.measure(session.url)
        #expect(times.isInStep(film == .cutInsideGroup ? 5 : 6), "\(film) \(source) \(output): \(times)")
        #expect((film.pictures - 5...film.pictures).contains(times.pictures), "\(film) \(source) \(output): \(times)")
        #expect(run.errors.withLock { $0 } == [])
        await run.proxy.stop()
        withExtendedLifetime(server) {}
    }

    @Test(arguments: Source.allCases, [FlashPlayer.ffmpeg, .mpv])
    func `are in step in fragments`(source: Source, player: FlashPlayer) async throws {
        try await Self.play(.reordered, source, player, .fragments)
    }

    @Test(arguments: [(Source.playlist, FlashPlayer.ffmpeg), (.playlist, .mpv), (.manifest, .gstreamer)])
    func `are in step in transport streams`(source: Source, player: FlashPlayer) async throws {
        try await Self.play(.reordered, source, player, .transportStream)
    }

    @Test(.enabled(if: isLong, "only with CARREL_LONG=1"), arguments: Source.allCases, FlashPlayer.allCases)
    func `are in step in each player, whatever the film is`(source: Source, player: FlashPlayer) async throws {
        for film in FlashFilm.allCases {
            for output in [PlaylistProxy.Output.fragments, .transportStream] { try await Self.play(film, source, player, output) }
        }
    }
}
