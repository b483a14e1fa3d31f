// SPDX-License-Identifier: Apache-2.0

import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelTesting
import Glibc
import ProtectedMedia
import Testing

/// A flash and a beep each second, packaged, in players.
@Suite(.serialized) struct `Pictures and sound of a package` {
    private static let isLong = unsafe getenv("CARREL_LONG") != nil

    /// The package of a film on a server.
    private struct Served {
        let run: PackagingRun
        let server: FolderServer
        var playlist: String { "\(server.origin)/master.m3u8" }
        var manifest: String { "\(server.origin)/manifest.mpd" }

        init(_ film: FlashFilm, _ options: PackagingOptions) async throws {
            let directory = TemporaryDirectory()
            run = try await PackagingRun([try await film.make(in: directory)], options)
            server = FolderServer(run.path)
        }
    }

    private static func options(_ layout: PackagingOptions.Layout = .segments, isTransport: Bool = false) -> PackagingOptions {
        var options = PackagingRun.options(nil, layout)
        options.isTransport = isTransport
        return options
    }

    private static func play(_ film: FlashFilm, _ player: FlashPlayer, _ options: PackagingOptions) async throws {
        let served = try await Served(film, options)
        // of single files on demand GStreamer 1.22 leaves out the last part, and VLC 3.0.24 plays parts twice
        let readsIndex = options.layout == .segments || ![.gstreamer, .vlc].contains(player)
        let hasManifest = player.readsDASH && readsIndex && !options.isTransport
        for url in [served.playlist] + (hasManifest ? [served.manifest] : []) {
            let times = try await player.measure(url)
            #expect(times.isInStep(film == .cutInsideGroup ? 5 : 6), "\(film) \(url): \(times)")
            // VLC's demultiplexer of transport streams keeps the last pictures
            let missing = player == .vlc && options.isTransport ? 5 : 0
            #expect((film.pictures - missing...film.pictures).contains(times.pictures), "\(film) \(url): \(times)")
        }
    }

    @Test(arguments: FlashPlayer.allCases)
    func `are in step in each player`(player: FlashPlayer) async throws {
        try await Self.play(.reordered, player, Self.options())
    }

    @Test(.enabled(if: isLong, "only with CARREL_LONG=1"), arguments: FlashFilm.allCases, FlashPlayer.allCases)
    func `are in step in each player, whatever the film is`(film: FlashFilm, player: FlashPlayer) async throws {
        for layout in [PackagingOptions.Layout.segments, .ranges] { try await Self.play(film, player, Self.options(layout)) }
        try await Self.play(film, player, Self.options(isTransport: true))
    }

    // MARK: - Browsers

    private static func play(_ film: FlashFilm, _ browser: BrowserKind, _ options: PackagingOptions) async throws {
        let served = try await Served(film, options)
        for manifest in [served.playlist, served.manifest] {
            let found = try await FlashBrowser.measure(browser, page: served.server.origin, manifest: manifest)
            guard let times = found else {
                try Test.cancel("\(browser) lacks the codec of \(film)")
            }
            #expect(times.isInStep(1), "\(film) \(manifest): \(times)")
        }
    }

    @Test(arguments: BrowserKind.allCases)
    func `are in step in each browser`(browser: BrowserKind) async throws {
        try await Self.play(.reordered, browser, Self.options())
    }

    @Test(.enabled(if: isLong, "only with CARREL_LONG=1"), arguments: FlashFilm.allCases, BrowserKind.allCases)
    func `are in step in each browser, whatever the film is`(film: FlashFilm, browser: BrowserKind) async throws {
        for layout in [PackagingOptions.Layout.segments, .ranges] { try await Self.play(film, browser, Self.options(layout)) }
    }

    // MARK: - Edits inside a group of pictures

    @Test(arguments: [false, true])
    func `begin together with the edit that begins inside a group of pictures`(isTransport: Bool) async throws {
        let served = try await Served(.cutInsideGroup, Self.options(isTransport: isTransport))
        for player in [FlashPlayer.ffmpeg, .mpv] {
            let times = try await player.measure(served.playlist)
            #expect(times.isInStep(5), "\(times)")
            // the flashes at the first and the second second, 1.3 of which the edit hides
            #expect(times.flashes.contains { abs($0 - (times.start + 0.7)) < 0.045 }, "\(times)")
            // 32, of which mpv gives the first another time
            let hidden = times.times.filter { $0 < times.start + 0.01 }.count
            #expect((31...33).contains(hidden) && times.pictures == 200, "\(hidden): \(times)")
        }
        #expect(try served.run.text("video-1.m3u8").contains("#EXTINF:2.7"))
        guard !isTransport else { return }
        #expect(try served.run.text("manifest.mpd").contains("mediaPresentationDuration=\"PT6.7"))
        let file = try MP4File(BytesReader(served.run.whole(served.run.summary.tracks[0])))
        var samples = file.samples(of: file.tracks[0])
        var last = Int64.min
        while let sample = try samples.next() {
            #expect(sample.compositionOffset >= 0 && sample.decodeTime > last)
            last = sample.decodeTime
        }
    }

    // MARK: - Access points

    @Test(arguments: [PackagingOptions.Layout.segments, .ranges])
    func `name segments independent only if no picture needs another segment`(layout: PackagingOptions.Layout) async throws {
        for (film, isIndependent) in [(FlashFilm.reordered, true), (.openGroups, false)] {
            let run = try await Served(film, Self.options(layout)).run
            let tag = "#EXT-X-INDEPENDENT-SEGMENTS"
            #expect(try run.text("video-1.m3u8").contains(tag) == isIndependent)
            #expect(try run.text("master.m3u8").contains(tag) == isIndependent)
            #expect(try run.text("audio-1.m3u8").contains(tag))
            let name = layout == .ranges ? "subsegmentStartsWithSAP" : "startWithSAP"
            #expect(try run.text("manifest.mpd").contains("\(name)=\"\(isIndependent ? 1 : 3)\""))
        }
    }
}
