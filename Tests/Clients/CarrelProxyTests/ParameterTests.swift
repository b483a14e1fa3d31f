// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import Testing

struct `Parameters of a source` {
    private static let subtitles = "WEBVTT\n\n00:00:01.000 --> 00:00:03.000\nA line\n"

    private static func dash(_ run: ProxyRun, _ change: (inout MediaSourceParameters) -> Void) throws -> PlaylistProxy.Session {
        let (path, keys) = try `A DASH source`.source("number-clear")
        var parameters = MediaSourceParameters()
        change(&parameters)
        return try run.proxy.makeURL(path, .dash, parameters, keys: keys)
    }

    private static func isRefused(_ change: (inout MediaSourceParameters) -> Void) throws -> Bool {
        let run = try ProxyRun()
        do throws(ProxyError) {
            var parameters = MediaSourceParameters()
            change(&parameters)
            _ = try run.proxy.makeURL("https://example.org/film.mpd", .dash, parameters)
            return false
        } catch {
            #expect(!error.message.contains("secret"))
            return error.code == .usage
        }
    }

    // MARK: - Lines

    @Test func `add lines to the top playlist`() async throws {
        let run = try ProxyRun()
        let lines = [
            "#EXT-X-SESSION-DATA:DATA-ID=\"org.example.title\",VALUE=\"A title\"", "# a comment", "#EXT-X-EXAMPLE:1",
            "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"more\",NAME=\"More\",URI=\"https://example.org/more.m3u8\"",
        ]
        let session = try Self.dash(run) { $0.playlistLines = lines }
        let text = try await ProxyRun.text(session.url)
        for line in lines { #expect(text.contains("\(line)\n")) }
        let media = try await ProxyRun.text(try await ProxyRun.media(of: session))
        #expect(!media.contains("EXAMPLE"))
        let played = try await Frames.ffmpeg(session.url)
        #expect(!played.pictures.isEmpty && !played.audio.isEmpty)
        await run.proxy.stop()
    }

    @Test(arguments: [
        "", "media.m3u8", " #x", "#EXTM3U", "#EXTINF:6,", "#EXT-X-ENDLIST", "#EXT-X-STREAM-INF:BANDWIDTH=1", "#EXT-X-VERSION:3",
        "#EXT-X-TARGETDURATION:6", "#x\nmedia.m3u8", "#x\r", "#x\u{0}", "#EXT-X-MEDIA-SEQUENCE:1", "#EXT-X-KEY:METHOD=NONE",
        "#EXT-X-BYTERANGE:1@0", "#EXT-X-MAP:URI=\"x\"", "#EXT-X-PLAYLIST-TYPE:VOD", "#EXT-X-DISCONTINUITY",
        "#EXT-X-MEDIA:TYPE=AUDIO",
        "#EXT-X-SESSION-DATA:VALUE=\"x\"", "#" + String(repeating: "x", count: 4096),
    ])
    func `refuse a line that would break the top playlist`(line: String) throws {
        #expect(try Self.isRefused { $0.playlistLines = [line] })
        #expect(try Self.isRefused { $0.playlistLines = ["#good", line] })
    }

    @Test func `refuse more than 64 lines`() throws {
        #expect(try Self.isRefused { $0.playlistLines = Array(repeating: "#x", count: 65) })
        #expect(try !Self.isRefused { $0.playlistLines = Array(repeating: "#x", count: 64) })
    }

    // MARK: - Fields

    @Test func `add fields to every response to the player`() async throws {
        let run = try ProxyRun()
        let session = try Self.dash(run) { $0.playerFields = ["X-Player": "yes", "Access-Control-Allow-Origin": "*"] }
        let base = session.url.replacing("index.m3u8", with: "")
        let urls = [
            session.url, try await ProxyRun.media(of: session), try #require(try await ProxyRun.segments(of: session).first),
            base + "player.html", base + "nothing",
        ]
        for url in urls {
            let got = try await ProxyRun.get(url)
            #expect(got.headers["X-Player"] == "yes" && got.headers["Access-Control-Allow-Origin"] == "*", "\(url)")
            #expect(got.headers["Cache-Control"] == "no-store")
        }
        await run.proxy.stop()
    }

    @Test(arguments: [
        ("X-A", "secret\r\nX-B: 1"), ("X A", "secret"), ("", "secret"), ("Content-Length", "5"), ("Transfer-Encoding", "chunked"),
        ("Host", "secret"),
        ("Connection", "close"), ("Range", "bytes=0-1"),
    ])
    func `refuse fields that are not theirs`(name: String, value: String) throws {
        #expect(try Self.isRefused { $0.playerFields.append(name, value) })
        #expect(try Self.isRefused { $0.originFields.append(name, value) })
    }

    // MARK: - Numbers

    @Test(arguments: [0, -1, Double.nan, .infinity, 1e7]) func `refuse a duration that is none`(seconds: Double) throws {
        #expect(try Self.isRefused { $0.durationSeconds = seconds })
    }

    @Test(arguments: [-1, 10_000_000_001]) func `refuse a bit rate that is none`(rate: Int) throws {
        #expect(try Self.isRefused { $0.bitrateBitsPerSecond = rate })
    }

    @Test(arguments: [(0, 3_000_000), (512_000, 512_000)]) func `give the bit rate of a source that names none`(
        rate: Int,
        written: Int
    ) async throws {
        let package = try await Self.transport()
        let run = try ProxyRun()
        var parameters = MediaSourceParameters()
        parameters.bitrateBitsPerSecond = rate
        let session = try run.proxy.makeURL("\(package.path)/video-1.m3u8", .hls, parameters, keys: package.keys)
        #expect(try await ProxyRun.text(session.url).contains("BANDWIDTH=\(written)"))
        await run.proxy.stop()
    }

    private static func transport() async throws -> ProtectedPackage {
        try await ProtectedPackage { options in
            options.isTransport = true
            options.transport = .cissa
            options.audioKeys = options.videoKeys
        }
    }

    // MARK: - Subtitles

    /// The address of the subtitles in a top playlist.
    private static func sidecar(_ session: PlaylistProxy.Session) async throws -> String {
        let top = try await ProxyRun.text(session.url)
        let line = try #require(top.split(separator: "\n").first { $0.contains("TYPE=SUBTITLES") })
        #expect(line.contains("NAME=\"Untertitel\"") && line.contains("LANGUAGE=\"de\""))
        let uri = try #require(line.split(separator: "URI=\"").last?.split(separator: "\"").first)
        return URIReference.resolve(String(uri), against: session.url)
    }

    @Test(arguments: [PlaylistProxy.Output.transportStream, .fragments], SourcePlace.allCases)
    func `show subtitles together with the source, on its clock`(output: PlaylistProxy.Output, place: SourcePlace) async throws {
        let directory = TemporaryDirectory()
        let file = directory.write("text.vtt", "\u{feff}" + Self.subtitles)
        let origin = try OriginServer(directory.path)
        let run = try ProxyRun { options in
            options.output = output
            options.rules = .rfc
        }
        let session = try Self.dash(run) { parameters in
            let url = place == .local ? file : "\(origin.origin)/text.vtt"
            parameters.subtitles = .init(name: "Untertitel", language: "de", url: url)
            parameters.durationSeconds = 42.5
        }
        let list = try await Self.sidecar(session)
        let text = try await ProxyRun.text(list)
        #expect(text.contains("#EXTINF:42.5") && text.contains("#EXT-X-ENDLIST"))
        let cues = try await ProxyRun.text(try #require(try await ProxyRun.addresses(list).first))
        let map = "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:900000,LOCAL:00:00:00.000\n"
        #expect(cues == (output == .fragments ? Self.subtitles : Self.subtitles.replacing("WEBVTT\n", with: map)))
        #expect(run.codes == [])
        await run.proxy.stop()
        await origin.stop()
    }

    @Test func `show the time in subtitles at which ffmpeg has the pictures`() async throws {
        let directory = TemporaryDirectory()
        let file = directory.write("text.vtt", Self.subtitles)
        let run = try ProxyRun()
        let session = try Self.dash(run) { $0.subtitles = .init(name: "Untertitel", language: "de", url: file) }
        let segment = directory.write(
            "one.ts",
            try await ProxyRun.get(try #require(try await ProxyRun.segments(of: session).first)).body
        )
        let first = try await checkProcess([
            try requirePeer("ffprobe"), "-v", "error", "-select_streams", "v", "-show_entries", "frame=pts", "-of", "csv=p=0",
            segment,
        ])
        let ticks = first.split { !$0.isNumber }.first.flatMap { Int($0) }
        #expect(ticks == 900_000)
        await run.proxy.stop()
    }

    @Test func `refuse subtitles that are none`() async throws {
        let directory = TemporaryDirectory()
        let file = directory.write("text.vtt", "1\n00:00:01,000 --> 00:00:03,000\nA line\n")
        let run = try ProxyRun()
        let session = try Self.dash(run) { $0.subtitles = .init(name: "Untertitel", language: "de", url: file) }
        let address = try #require(try await ProxyRun.addresses(try await Self.sidecar(session)).first)
        try await ProxyRun.expectRefusal(address, .damaged, 502, of: run)
        await run.proxy.stop()
    }

    // MARK: - Tracks

    private static let top = """
        #EXTM3U
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",LANGUAGE="en-GB",DEFAULT=YES,URI="audio-1.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch",LANGUAGE="de",URI="audio-1.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch 2",LANGUAGE="de",URI="audio-1.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=1000000,CODECS="avc1.64001f,mp4a.40.2",AUDIO="a",STABLE-VARIANT-ID="low"
        video-1.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=2000000,CODECS="hvc1.1.6.L93.B0,mp4a.40.2",AUDIO="a",STABLE-VARIANT-ID="high"
        video-1.m3u8
        """

    private static func outline(_ change: (inout MediaSourceParameters) -> Void) async throws -> (status: Int, lines: [String]) {
        let package = try await transport()
        package.write("top.m3u8", top + "\n")
        let run = try ProxyRun()
        var parameters = MediaSourceParameters()
        change(&parameters)
        let session = try run.proxy.makeURL("\(package.path)/top.m3u8", .hls, parameters, keys: package.keys)
        let got = try await ProxyRun.get(session.url)
        await run.proxy.stop()
        return (got.status, String(decoding: got.body, as: UTF8.self).split(separator: "\n").map { String($0) })
    }

    @Test func `choose the default audio by its language`() async throws {
        for (language, name) in [(nil, "English"), ("de", "Deutsch"), ("de-AT", "Deutsch"), ("en", "English"), ("fr", "English")]
        {
            let lines = try await Self.outline { $0.language = language }.lines.filter { $0.contains("TYPE=AUDIO") }
            #expect(lines.count == 3)
            #expect(
                lines.filter { $0.contains("DEFAULT=YES") }.map { $0.contains("NAME=\"\(name)\"") } == [true],
                "\(language ?? "")"
            )
        }
    }

    @Test func `choose variants by the codecs of the player`() async throws {
        for (codecs, rates) in [([], ["1000000", "2000000"]), (["avc1"], ["1000000"]), (["hvc1"], ["2000000"])] {
            let lines = try await Self.outline { $0.videoCodecs = codecs }.lines.filter { $0.contains("STREAM-INF") }
            #expect(lines.count == rates.count && zip(lines, rates).allSatisfy { $0.contains("BANDWIDTH=\($1)") })
        }
        #expect(try await Self.outline { $0.videoCodecs = ["av01"] }.status == 415)
        #expect(try await Self.outline { $0.audioCodecs = ["ec-3"] }.status == 415)
    }

    @Test func `choose tracks by their ids and places`() async throws {
        for selector in [MediaSourceParameters.TrackSelector.id("high"), .index(1)] {
            let lines = try await Self.outline { $0.videoTrack = selector }.lines.filter { $0.contains("STREAM-INF") }
            #expect(lines.count == 1 && lines[0].contains("BANDWIDTH=2000000"))
        }
        for selector in [MediaSourceParameters.TrackSelector.id("Deutsch"), .index(1)] {
            let lines = try await Self.outline { $0.audioTrack = selector }.lines.filter { $0.contains("TYPE=AUDIO") }
            #expect(lines.count == 1 && lines[0].contains("NAME=\"Deutsch\""))
        }
        #expect(try await Self.outline { $0.audioTrack = .id("a") }.lines.filter { $0.contains("TYPE=AUDIO") }.count == 3)
        for selector in [MediaSourceParameters.TrackSelector.id("none"), .index(7), .index(-1)] {
            #expect(try await Self.outline { $0.videoTrack = selector }.status == 400)
            #expect(try await Self.outline { $0.audioTrack = selector }.status == 400)
        }
    }

    @Test func `choose tracks of a manifest by their ids and places`() async throws {
        let run = try ProxyRun()
        for selector in [MediaSourceParameters.TrackSelector.index(0), .any] {
            let session = try Self.dash(run) { $0.videoTrack = selector }
            #expect(try await ProxyRun.get(session.url).status == 200)
        }
        for selector in [MediaSourceParameters.TrackSelector.index(9), .id("none")] {
            let session = try Self.dash(run) { $0.videoTrack = selector }
            try await ProxyRun.expectRefusal(session.url, .usage, 400, of: run)
        }
        let session = try Self.dash(run) { $0.videoCodecs = ["av01"] }
        _ = try await ProxyRun.get(session.url)
        await run.proxy.stop()
    }
}
