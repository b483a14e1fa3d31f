// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import ProtectedMedia
import Testing

/// The playlists of sync pictures that a session has, read as a player does.
struct PictureList {
    struct Entry {
        var url: String
        /// When it is shown, in seconds.
        var start: Double
        var duration: Double
        /// The address of its description; nil of transport streams.
        var initialization: String?
    }

    var text: String
    var entries: [Entry] = []

    /// The addresses of the playlists of sync pictures in a top playlist.
    static func addresses(of session: PlaylistProxy.Session) async throws -> [String] {
        let top = try await ProxyRun.text(session.url)
        return top.split(separator: "\n").filter { $0.hasPrefix("#EXT-X-I-FRAME-STREAM-INF:") }.compactMap { line in
            line.split(separator: "URI=\"").last?.split(separator: "\"").first
                .map { URIReference.resolve(String($0), against: session.url) }
        }
    }

    init(_ url: String) async throws {
        text = try await ProxyRun.text(url)
        var start = 0.0
        var duration = 0.0
        var initialization: String?
        for line in text.split(separator: "\n") {
            if line.hasPrefix("#EXTINF:") { duration = Double(line.dropFirst(8).prefix { $0 != "," }) ?? 0 }
            if line.hasPrefix("#EXT-X-MAP:") {
                initialization = line.split(separator: "\"").dropFirst().first.map {
                    URIReference.resolve(String($0), against: url)
                }
            }
            guard !line.hasPrefix("#") else { continue }
            let address = URIReference.resolve(String(line), against: url)
            entries.append(Entry(url: address, start: start, duration: duration, initialization: initialization))
            start += duration
        }
    }

    /// The digests of the pictures that ffmpeg decodes of an entry.
    static func pictures(_ entry: Entry) async throws -> [String] {
        var bytes: [UInt8] = []
        if let initialization = entry.initialization { bytes = try await ProxyRun.get(initialization).body }
        bytes += try await ProxyRun.get(entry.url).body
        let directory = TemporaryDirectory()
        let arguments = [
            try requirePeer("ffmpeg"), "-v", "error", "-nostdin", "-i", directory.write("one", bytes), "-map", "0:v:0", "-f",
            "framemd5", "-",
        ]
        return try await runProcess(arguments, timeout: .seconds(60)).text.split(separator: "\n").filter { !$0.hasPrefix("#") }
            .compactMap { $0.split(separator: ",").last.map { String($0.drop { $0 == " " }) } }
    }
}

struct `A playlist of sync pictures` {
    static let outputs: [PlaylistProxy.Output] = [.transportStream, .fragments]

    static func run(_ output: PlaylistProxy.Output) throws -> ProxyRun {
        try ProxyRun { ($0.output, $0.rules) = (output, .rfc) }
    }

    /// Checks that each entry is one picture of the clear source, which has 25 a second.
    static func expectPictures(_ session: PlaylistProxy.Session, _ output: PlaylistProxy.Output, count: Int) async throws {
        let clear = try await Frames.ffmpeg(try Fixtures.path("media/src/av-h264-aac.mp4")).pictures
        let address = try #require(try await PictureList.addresses(of: session).first)
        let list = try await PictureList(address)
        #expect(list.text.contains("#EXT-X-I-FRAMES-ONLY\n") && list.text.contains("#EXT-X-ENDLIST"))
        #expect(list.entries.count == count)
        for entry in list.entries {
            #expect((entry.initialization != nil) == (output == .fragments))
            let pictures = try await PictureList.pictures(entry)
            #expect(pictures == [clear[Int((entry.start * 25).rounded())]], "\(entry.url)")
        }
    }

    @Test(arguments: outputs, ["number-clear", "timeline-cenc", "ondemand-cbcs"])
    func `of a DASH source has the first sync picture of each segment`(output: PlaylistProxy.Output, folder: String) async throws
    {
        let (path, keys) = try `A DASH source`.source(folder)
        let run = try Self.run(output)
        let session = try run.proxy.makeURL(path, .dash, keys: keys)
        let count = try await ProxyRun.segments(of: session).count
        try await Self.expectPictures(session, output, count: count)
        let played = try await Frames.ffmpeg(session.url)
        #expect(try await played.pictures == Frames.ffmpeg(try Fixtures.path("media/src/av-h264-aac.mp4")).pictures)
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test(arguments: outputs) func `of a file has all of its sync pictures`(output: PlaylistProxy.Output) async throws {
        let fixture = try #require(ProtectedFixture.named("cenc/av.cbcs").first)
        let run = try Self.run(output)
        let session = try run.proxy.makeURL(try Fixtures.path("media/\(fixture.name)"), .singleFile, keys: fixture.keys)
        let address = try #require(try await PictureList.addresses(of: session).first)
        try await Self.expectPictures(session, output, count: try await PictureList(address).entries.count)
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test(arguments: [true, false], ["", "7 8"])
    func `is made of the set for fast play, which is not played`(isFirst: Bool, ids: String) async throws {
        let folder = try Fixtures.path("media/dash/number-clear")
        let origin = MadeOrigin(folder: folder)
        let manifest = String(decoding: try Fixtures.bytes("media/dash/number-clear/manifest.mpd"), as: UTF8.self)
            .replacing("<AdaptationSet segmentAlignment=\"true\" maxWidth", with: "<AdaptationSet id=\"8\" maxWidth")
        let begin = try #require(manifest.firstRange(of: "<AdaptationSet")?.lowerBound)
        let end = try #require(manifest.firstRange(of: "</Period>")?.lowerBound)
        let fast = """
            <AdaptationSet contentType="video" mimeType="video/mp4">
            <EssentialProperty schemeIdUri="http://dashif.org/guidelines/trickmode" value="\(ids)"/>
            <SegmentTemplate timescale="1000" duration="4000" media="fast-$Number$.m4s" initialization="v-init.mp4"/>
            <Representation id="fast" bandwidth="20000" codecs="avc1.64000C" width="160" height="90"/></AdaptationSet>

            """
        var text = manifest
        text.insert(contentsOf: fast, at: isFirst ? begin : end)
        origin.put("fast.mpd", text)
        origin.put("fast-1.m4s", try Fixtures.bytes("media/dash/number-clear/v-0001.m4s"))
        origin.put("fast-2.m4s", try Fixtures.bytes("media/dash/number-clear/v-0003.m4s"))
        let run = try Self.run(.fragments)
        let session = try run.proxy.makeURL(origin.url("fast.mpd"), .dash)
        let addresses = try await PictureList.addresses(of: session)
        #expect(addresses.count == 1)
        let top = try await ProxyRun.text(session.url)
        #expect(top.contains("BANDWIDTH=20000,CODECS=\"avc1.64000C\",RESOLUTION=160x90"))
        let list = try await PictureList(addresses[0])
        for entry in list.entries.prefix(2) { #expect(try await PictureList.pictures(entry).count == 1) }
        #expect(origin.requests.contains("fast-1.m4s") && origin.requests.contains("fast-2.m4s"))
        let before = origin.requests.count { $0.hasPrefix("fast-") }
        let played = try await Frames.ffmpeg(session.url)
        #expect(try await played.pictures == Frames.ffmpeg(try Fixtures.path("media/src/av-h264-aac.mp4")).pictures)
        #expect(origin.requests.count { $0.hasPrefix("fast-") } == before)
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test(arguments: outputs) func `of a live source moves with its window`(output: PlaylistProxy.Output) async throws {
        let origin = MadeOrigin()
        origin.put("v-init.mp4", try Fixtures.bytes("media/dash/number-clear/v-init.mp4"))
        for place in 0..<6 {
            origin.put("v-0-\(place * 2000).m4s", try Fixtures.bytes("media/dash/number-clear/v-0001.m4s"))
        }
        func put(_ places: Range<Int>) {
            let durations = places.map { _ in 2000 }
            let track = MadeManifest.Track.video(durations, first: places.lowerBound * 2000)
            origin.put("live.mpd", MadeManifest(periods: [.init(start: 0, tracks: [track])], isLive: true).text)
        }
        put(0..<3)
        let run = try Self.run(output)
        let session = try run.proxy.makeURL(origin.url("live.mpd"), .dash)
        let address = try #require(try await PictureList.addresses(of: session).first)
        let first = try await PictureList(address)
        #expect(LiveList(first.text) == LiveList(0, 0, [0, 2, 4]) && first.text.contains("#EXT-X-I-FRAMES-ONLY"))
        put(2..<6)
        run.clock.advance(by: .milliseconds(1050))
        let second = try await PictureList(address)
        #expect(LiveList(second.text) == LiveList(2, 0, [4, 6, 8, 10]))
        let entry = try #require(second.entries.last)
        let clear = try await Frames.ffmpeg(try Fixtures.path("media/src/av-h264-aac.mp4")).pictures
        #expect(try await PictureList.pictures(entry) == [clear[0]])
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test func `is not written by the rules or the policy of the compatible system`() async throws {
        let (path, keys) = try `A DASH source`.source("timeline-cenc")
        for (rules, policy) in [
            (PlaylistProxy.Rules.compatible, PlaylistProxy.Policy.usual), (.rfc, .compatible), (.compatible, .compatible),
        ] {
            let run = try ProxyRun { ($0.rules, $0.policy) = (rules, policy) }
            let session = try run.proxy.makeURL(path, .dash, keys: keys)
            #expect(try await PictureList.addresses(of: session) == [])
            let list = session.url.replacing("index.m3u8", with: "media.m3u8?video=0&pictures=1")
            try await ProxyRun.expectRefusal(list, .missing, 404, of: run)
            await run.proxy.stop()
        }
    }

    @Test(arguments: outputs) func `does not keep a player from playing`(output: PlaylistProxy.Output) async throws {
        let mpv = try requirePeer("mpv")
        let (path, keys) = try `A DASH source`.source("timeline-cenc")
        let run = try Self.run(output)
        let session = try run.proxy.makeURL(path, .dash, keys: keys)
        let arguments = [
            mpv, "--no-config", "--no-terminal", "--untimed", "--vo=null", "--ao=null", "--ao-null-untimed=yes", session.url,
        ]
        let result = try await runProcess(arguments, timeout: .seconds(120))
        #expect(result.status == .exited(0), "\(result.errorText)")
        #expect(run.codes == [])
        await run.proxy.stop()
    }
}
