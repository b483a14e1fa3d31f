// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelHTTP
import CarrelJSON
import CarrelMedia
import CarrelMediaSource
import CarrelPlayerRights
import CarrelProxy
import CarrelReader
import CarrelThreads
import Glibc

struct ProxyCommand: Command {
    /// The kind of the source.
    enum SourceKind: String, CaseIterable, Sendable, TextValue {
        case auto, file, hls, dash
    }

    enum OutputForm: String, CaseIterable, Sendable, TextValue {
        case ts, fmp4, auto
    }

    enum RuleSet: String, CaseIterable, Sendable, TextValue {
        case compatible, rfc

        static let earlierNames = ["seed": compatible]
    }

    enum PolicyName: String, CaseIterable, Sendable, TextValue {
        case compatible, usual, open

        static let earlierNames = ["seed": compatible]
    }

    var source = ""
    var kind = SourceKind.auto
    var form = OutputForm.ts
    var rules = RuleSet.compatible
    var policy = PolicyName.usual
    var language: String?
    var demuxesAudio = false
    var encryptsOutput = false
    var plays = false
    var player: String?
    var showsTrace = false
    var videoTrack: TrackName?
    var audioTrack: TrackName?
    var subtitles: String?
    var subtitleLanguage = "und"
    var servers = StreamOptions()
    var keys = KeyOptions<GivenKeys>()
    var licenses = LicenseKeyOptions()
    var reader = ReaderFolder()
    var vault = VaultOptions()

    static let name = "proxy"
    static let abstract = "Serve protected media to any player of this machine."
    static let discussion = """
        Prints an address on 127.0.0.1 and serves the source there as plain HLS, or the content of a DCF as it is, until it is \
        interrupted, or until its standard input ends where that is a pipe. The address holds a token: only who knows it, and only \
        the current user, can play the source. The source may be a file, or an address of HLS, DASH, MP4, a scrambled transport \
        stream or a DCF. The token of an MS3 address is redeemed by this device's player, whose license has the keys. \
        Other keys come from --key and --keys, then from the licenses that this device has stored, then from the license server of \
        --clear-key. A stored license counts a play; the vault is opened for the first key that it needs. The source is \
        looked into first: one that cannot be played is an error, and has no address.
        """
    static let examples = [
        Example("carrel proxy https://example.org/film.mpd --keys keys.txt --play", "Plays a protected film in mpv."),
        Example("carrel proxy film.mpd --license film.xml --play", "Redeems a token, stores its license, and plays the film."),
        Example("carrel proxy - --play < address.txt", "Plays an MS3 address, which other users do not see."),
        Example("carrel proxy film.mp4 --key '*:00112233445566778899aabbccddeeff'", "Serves a protected file until Ctrl-C."),
    ]
    static let parameters: [Parameter<Self>] =
        sourceParameters + trackParameters + playingParameters + Parameter.group(\.servers) + Parameter.group(\.keys)
        + Parameter.group(\.licenses) + Parameter.group(\.reader)
        + Parameter.group(\.vault)

    var output: OutputOptions { reader.output }

    private static let sourceParameters: [Parameter<Self>] = [
        .positional(\.source, "source", help: "A file, or an address; - for a line of standard input."),
        .option(\.kind, "--type", value: "kind", help: "What the source is; auto finds it by its name and its bytes."),
        .option(
            \.form,
            "--output",
            value: "form",
            help:
                "The form of segments: MPEG-2 transport streams, or fragmented MP4; auto takes the latter where a codec needs it."
        ),
        .option(\.rules, "--rules", value: "rules", help: "The rules of playlists: those of older players, or RFC 8216."),
        .option(
            \.policy,
            "--policy",
            value: "policy",
            help: "Which sources are taken: compatible takes what the compatible system takes, open takes clear content too."
        ),
        .flag(\.demuxesAudio, "--demux-audio", help: "Send audio beside the pictures."),
        .flag(\.encryptsOutput, "--encrypt-output", help: "Send segments as AES-128 under a key of the session."),
    ]

    private static let trackParameters: [Parameter<Self>] = [
        .option(\.language, "--language", value: "language", help: "The language of audio that is preferred, such as en."),
        .option(
            \.videoTrack,
            "--video-track",
            help: "The pictures: a number from 0, or id: and the id of a set, group or track."
        ),
        .option(\.audioTrack, "--audio-track", help: "The audio, in the same way."),
        .option(
            \.subtitles,
            "--subtitles",
            value: "address",
            help: "A WebVTT file beside the source, or its address.",
            completion: .file
        ),
        .option(\.subtitleLanguage, "--subtitle-language", value: "language", help: "The language of that file, such as de."),
    ]

    private static let playingParameters: [Parameter<Self>] = [
        .flag(\.plays, "--play", help: "Play it, and end with the player."),
        .option(
            \.player,
            "--player",
            value: "program",
            help: "The player of --play: mpv, ffplay, vlc or chromium; default: the first of these that is installed."
        ),
        .flag(\.showsTrace, "--trace", help: "Write a line for each segment to standard error."),
    ]

    func validate() throws(UsageError) {
        guard player == nil || plays else { throw UsageError(.contradiction, "--player needs --play") }
        try licenses.validate()
        guard ([source, keys.file] + licenses.files).count(where: { $0 == "-" }) <= 1 else {
            throw UsageError(.contradiction, "standard input has either the source or the keys or the license")
        }
    }

    func run(_ console: Console) async throws {
        if plays, !LocalPlayer(named: player).isInstalled { throw PlayerFailure(status: 127, program: player) }
        let source = source == "-" ? try SourceLine.read() : source
        let engine = ReaderEngine(folder: reader, vault: vault)
        guard MS3URL.seems(source) else {
            let given = try keys.keys()
            let device = DeviceLicenses(engine, console)
            do {
                if let license = try licenses.license() { try await device.add(license) }
                let keys = ContentKeySources([given, device] + (try licenses.server()))
                try await serve(source, keys, nil, device, console)
            } catch {
                await device.close()
                throw error
            }
            return await device.close()
        }
        // report a malformed address before prompting for a passphrase
        _ = try MS3URL(source)
        guard licenses.isEmpty else {
            throw UsageError(.contradiction, "the keys of an MS3 address come with its token, not by --license or --clear-key")
        }
        try await engine.use(console) {
            try await serve(source, ContentKeySources([]), PlayerRights($0), DeviceLicenses(engine, console), console)
        }
    }

    private func serve(
        _ source: String,
        _ keys: ContentKeySources,
        _ rights: PlayerRights?,
        _ device: DeviceLicenses,
        _ console: Console
    ) async throws {
        let stop = StopSignals()
        var parameters = MediaSourceParameters()
        parameters.language = language
        parameters.videoTrack = videoTrack?.selector ?? .any
        parameters.audioTrack = audioTrack?.selector ?? .any
        var options = options
        servers.apply(to: &options, &parameters)
        if let subtitles {
            parameters.subtitles = .init(name: "Subtitles", language: subtitleLanguage, url: try SourceLine.resolved(subtitles))
        }
        let proxy = try PlaylistProxy(options: options) { error in
            console.warning(error.message, hint: error.recommendation)
        } trace: { [showsTrace] event in
            if showsTrace { console.note("\(event)") }
        }
        try proxy.start()
        let type = type(of: try MS3URL.seems(source) ? MS3URL(source).contentURL : source)
        let session = try proxy.makeURL(source, type, parameters, keys: keys, rights: rights)
        var serving = SessionServing(plays: plays, player: player)
        if !showsTrace {
            let line = PlayerProgressLine(console, session)
            serving.companion = { await line.run() }
        }
        let end: SessionServing.End
        do {
            end = try await serving.serve(session, console, stop) { summary in
                report(session, type, summary, await device.licenses, console)
            }
        } catch {
            await proxy.stop()
            throw error
        }
        await proxy.stop()
        if case .player(let status) = end, status != 0 { throw PlayerFailure(status: status, program: player) }
    }

    /// Prints the address, which is the first line.
    private func report(
        _ session: PlaylistProxy.Session,
        _ type: MediaSourceType,
        _ summary: SourceSummary?,
        _ licenses: [String],
        _ console: Console
    ) {
        guard output.json else { return console.print(session.url) }
        console.print([
            "url": .string(session.url), "page": .string(session.pageURL), "type": .string(type.name),
            "version": .string("\(PlaylistProxy.version)"), "source": summary?.json ?? .null,
            "licenses": .array(licenses.map { .string($0) }),
        ])
    }

    private func type(of source: String) -> MediaSourceType {
        switch kind {
        case .file: return .singleFile
        case .hls: return .hls
        case .dash: return .dash
        case .auto: return MediaSourceType(named: source)
        }
    }

    private var options: ProxyOptions {
        var options = ProxyOptions()
        options.output = form == .fmp4 ? .fragments : .transportStream
        options.allowsFragments = form == .auto
        options.rules = rules == .compatible ? .compatible : .rfc
        options.policy =
            switch policy {
            case .compatible: .compatible
            case .usual: .usual
            case .open: .open
            }
        options.demuxesAudio = demuxesAudio
        options.encryptsOutput = encryptsOutput
        return options
    }
}
