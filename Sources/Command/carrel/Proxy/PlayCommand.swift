// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelContentKeys
import CarrelDownloads
import CarrelHTTP
import CarrelJSON
import CarrelMedia
import CarrelMediaSource
import CarrelPlayerRights
import CarrelProxy
import CarrelThreads

struct PlayCommand: Command {
    var name = ""
    var printsURL = false
    var player: String?
    var language: String?
    var source = SourceOptions()
    var keys = KeyOptions<GivenKeys>()
    var licenses = LicenseKeyOptions()
    var queue = DownloadQueueOptions()

    static let name = "play"
    static let abstract = "Play a saved stream, or any other source."
    static let discussion = """
        A download is named by its id, its title, or the address of its source. It is played from its files alone with its saved keys, and no \
        request leaves this machine; a download that is not complete is played as far as it is saved. Other sources, protected or clear, are \
        played from their servers. Keys come from --key and --keys, then from the licenses of this device, then from the license server \
        of the list entry, or of --clear-key. The player is mpv, ffplay, vlc or chromium; --print-url serves the media to any other.
        """
    static let examples = [
        Example("carrel play 'Big Film'", "Plays a saved film without a network."),
        Example("carrel play https://example.org/film.m3u8", "Plays a film from its server."),
        Example("carrel play 'Big Film' --streams Streams.json --trace", "Plays an entry of a list, and prints each step."),
        Example("carrel play 'Big Film' --print-url", "Prints an address for any player, and serves it until Ctrl-C."),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(
                \.name,
                "source",
                help:
                    "The id or title of a download, an address, a file, a title of --streams, or - for a line of standard input."
            ),
            .flag(\.printsURL, "--print-url", help: "Print the address first, and serve it as 'carrel proxy' does."),
            .option(
                \.player,
                "--player",
                value: "program",
                help: "The player: mpv, ffplay, vlc or chromium; default: the first of these that is installed."
            ),
            .option(\.language, "--language", value: "language", help: "The language of audio that is preferred, such as en."),
        ] + Parameter.group(\.source) + Parameter.group(\.keys) + Parameter.group(\.licenses) + Parameter.group(\.queue)

    var output: OutputOptions { queue.output }

    func validate() throws(UsageError) {
        guard player == nil || !printsURL else { throw UsageError(.contradiction, "--player and --print-url exclude each other") }
        guard [name, keys.file, licenses.file, source.token].count(where: { $0 == "-" }) <= 1 else {
            throw UsageError(.contradiction, "standard input has one of the source, the keys, the license and the token")
        }
    }

    func run(_ console: Console) async throws {
        if !printsURL, !LocalPlayer(named: player).isInstalled { throw PlayerFailure(status: 127, program: player) }
        let word = name == "-" ? try SourceLine.read() : name
        let trace = queue.tracePrinter(console)
        let resolver = try source.read()
        let saved = SavedSources(queue, console, trace)
        do {
            if let item = try await saved.item(named: word, resolver) {
                try await play(item, saved, trace, console)
            } else {
                try await play(try resolver.source(word), saved.engine, trace, console)
            }
        } catch {
            await saved.close()
            throw error
        }
        await saved.close()
    }

    // MARK: - Saved sources

    private func play(_ item: DownloadItem, _ saved: SavedSources, _ trace: TracePrinter?, _ console: Console) async throws {
        let media = SavedMedia(try await saved.downloads().open(item.id))
        let engine = try await saved.engine.open()
        let keys = SavedKeys(engine, item: item.id, trace: trace?.listener)
        do {
            try await serve(nil, trace, console) { proxy, parameters in
                (try proxy.makeURL(media, parameters, keys: keys), media.type)
            }
            await keys.end()
        } catch {
            await keys.end()
            throw await SavedFailure(error, item, engine) ?? error
        }
    }

    // MARK: - Other sources

    private func play(
        _ source: DownloadSource,
        _ shared: QueueEngine,
        _ trace: TracePrinter?,
        _ console: Console
    ) async throws {
        let engine = ReaderEngine(folder: queue.folder, vault: queue.vault)
        guard MS3URL.seems(source.address) else {
            let given = try keys.keys()
            let device = DeviceLicenses(engine, sharing: shared)
            do {
                if let license = try licenses.license() { try await device.add(license) }
                let online = try await OnlineKeys(source, queue.folder, shared, trace)
                // a session has the licenses of the device too
                let own: [any ContentKeySource] = online.sources.isEmpty ? [device] : online.sources
                let keys = ContentKeySources([given] + own + (try licenses.server()))
                do {
                    try await serve(source, keys, nil, trace, console)
                } catch {
                    await online.close()
                    throw error
                }
                await online.close()
            } catch {
                await device.close()
                throw error
            }
            return await device.close()
        }
        _ = try MS3URL(source.address)
        try await engine.use(console) {
            try await serve(source, ContentKeySources([]), PlayerRights($0), trace, console)
        }
    }

    private func serve(
        _ source: DownloadSource,
        _ keys: ContentKeySources,
        _ rights: PlayerRights?,
        _ trace: TracePrinter?,
        _ console: Console
    ) async throws {
        let address = try MS3URL.seems(source.address) ? MS3URL(source.address).contentURL : source.address
        let type = MediaSourceType(named: address)
        try await serve(source, trace, console) { proxy, parameters in
            (try proxy.makeURL(source.address, type, parameters, keys: keys, rights: rights), type)
        }
    }

    // MARK: - Serving

    private func serve(
        _ source: DownloadSource?,
        _ trace: TracePrinter?,
        _ console: Console,
        _ start: (PlaylistProxy, MediaSourceParameters) throws -> (PlaylistProxy.Session, MediaSourceType)
    ) async throws {
        let stop = StopSignals()
        var options = ProxyOptions()
        options.policy = .open
        options.rules = .rfc
        options.allowsFragments = true
        var parameters = MediaSourceParameters()
        parameters.language = language
        if let source {
            options.allowsPlainHTTP = source.allowsPlainHTTP
            options.allowsPrivateNetworks = source.allowsPrivateNetworks
            parameters.originFields = source.originFields
        }
        let failure = Locked<ProxyError?>(nil)
        let proxy = try PlaylistProxy(options: options) { error in
            failure.withLock { $0 = $0 ?? (SavedFailure.isFinal(error) ? error : nil) }
            console.warning(error.message, hint: error.recommendation)
        } trace: { event in
            trace?.print(event)
        }
        try proxy.start()
        let (session, type) = try start(proxy, parameters)
        var serving = SessionServing(plays: !printsURL, player: player)
        let playback = PlaybackTrace(session, trace, isOffline: source == nil)
        if trace == nil {
            let line = PlayerProgressLine(console, session)
            serving.companion = { await line.run() }
        } else {
            serving.companion = { await playback.run() }
        }
        let end: SessionServing.End
        do {
            end = try await serving.serve(session, console, stop) { summary in report(session, type, summary, console) }
        } catch {
            await proxy.stop()
            throw error
        }
        let refusal = failure.withLock { $0 }
        var isWhole = false
        if case .player(0) = end { isWhole = refusal == nil }
        playback.end(isWhole: isWhole)
        await proxy.stop()
        guard case .player(let status) = end else { return }
        // a player may end well although it was refused in the middle
        if let refusal { throw SourceFailure(refusal) }
        if status != 0 { throw PlayerFailure(status: status, program: player) }
    }

    /// Prints the address, which is the first line: only with `--print-url`, because it has a token.
    private func report(
        _ session: PlaylistProxy.Session,
        _ type: MediaSourceType,
        _ summary: SourceSummary?,
        _ console: Console
    ) {
        guard printsURL else { return }
        guard output.json else { return console.print(session.url) }
        console.printLine([
            "url": .string(session.url), "page": .string(session.pageURL), "type": .string(type.name),
            "version": .string("\(PlaylistProxy.version)"), "source": summary?.json ?? .null,
        ])
    }
}
