// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import Testing

struct `A scrambled transport stream` {
    /// A package of scrambled streams, whose segments are joined to one file of pictures and one of audio, each with indexes.
    private struct Stream {
        let package: ProtectedPackage
        /// Offsets and times of the places at which the joined segments of pictures begin, and the end.
        private(set) var places: [(offset: Int, time: Int)] = [(0, 0)]

        init() async throws {
            package = try await ProtectedPackage { options in
                options.isTransport = true
                options.transport = .cissa
                options.audioKeys = options.videoKeys
            }
            for name in ["audio", "video"] {
                var bytes: [UInt8] = []
                var time = 0
                places = [(0, 0)]
                for line in try package.text("\(name)-1.m3u8").split(separator: "\n") {
                    if line.hasPrefix("#EXTINF:") {
                        let seconds = line.dropFirst("#EXTINF:".count).prefix { $0 != "," }
                        time += Int((Double(seconds) ?? 0) * 90_000)
                    }
                    guard !line.hasPrefix("#") else { continue }
                    bytes += try #require(package.directory.read("out/\(line)"))
                    places.append((bytes.count, time))
                }
                _ = package.directory.write("out/\(name).ts", bytes)
            }
            #expect(places.count == 6)
        }

        /// Writes an index of some of the places.
        func write(_ name: String, _ chosen: [Int]) {
            let lines = chosen.map { "\(places[$0].offset) \(places[$0].time)\n" }
            package.write(name, "# offset time\n" + lines.joined())
        }
    }

    /// The durations of the segments of a list, in seconds.
    private static func durations(_ session: PlaylistProxy.Session) async throws -> [Double] {
        try await ProxyRun.text(try await ProxyRun.media(of: session)).split(separator: "\n").compactMap { line in
            line.hasPrefix("#EXTINF:") ? Double(line.dropFirst(8).prefix { $0 != "," }) : nil
        }
    }

    private static func session(
        _ run: ProxyRun,
        _ source: String,
        index: String? = nil,
        _ keys: GivenKeys
    ) throws -> PlaylistProxy.Session {
        var parameters = MediaSourceParameters()
        parameters.indexURL = index
        return try run.proxy.makeURL(source, .singleFile, parameters, keys: keys)
    }

    @Test(arguments: SourcePlace.allCases, [true, false])
    func `plays as its clear source, cut as its index says where it has one`(place: SourcePlace, hasIndex: Bool) async throws {
        let stream = try await Stream()
        // places that the stream alone would not be cut at
        stream.write("film index #1.txt", [0, 2, 4, 5])
        let origin = try OriginServer(stream.package.path)
        let clear = try await Frames.ffmpeg(try Fixtures.path(ProtectedPackage.source))
        let base = place == .local ? stream.package.path : origin.origin
        let index = place == .local ? "\(base)/film index #1.txt" : "\(base)/film%20index%20%231.txt"
        let run = try ProxyRun { $0.rules = .rfc }
        let session = try Self.session(run, "\(base)/video.ts", index: hasIndex ? index : nil, stream.package.keys)
        let durations = try await Self.durations(session)
        // the last time in a stream is its last clock's
        #expect(hasIndex ? durations == [8, 2] : durations.count == 2 && durations[0] == 6, "\(durations)")
        let played = try await Frames.ffmpeg(session.url)
        #expect(!played.pictures.isEmpty && played.pictures == clear.pictures)
        let heard = try Self.session(run, "\(base)/audio.ts", stream.package.keys)
        let audio = try await Frames.ffmpeg(heard.url).audio
        #expect(!audio.isEmpty && (audio == clear.audio || audio.dropFirst() == clear.audio[...]))
        #expect(run.codes == [])
        if place == .remote {
            #expect(
                origin.requests.contains { $0.path.hasSuffix("index%20%231.txt") || $0.path.hasSuffix("index #1.txt") }
                    == hasIndex
            )
        }
        await run.proxy.stop()
        await origin.stop()
    }

    @Test(arguments: SourcePlace.allCases) func `whose index is named relative to it, or lies elsewhere, plays`(
        place: SourcePlace
    )
        async throws
    {
        let stream = try await Stream()
        stream.write("index.txt", [0, 2, 4, 5])
        let origin = try OriginServer(stream.package.path)
        // a place that the caller named may be anywhere
        let other = try OriginServer(stream.package.path, address: "127.0.0.2")
        let base = place == .local ? stream.package.path : origin.origin
        let run = try ProxyRun { options in
            options.rules = .rfc
            options.allowsPlainHTTP = true
        }
        for index in ["index.txt", "./index.txt"] + (place == .remote ? ["\(other.origin)/index.txt"] : []) {
            let session = try Self.session(run, "\(base)/video.ts", index: index, stream.package.keys)
            #expect(try await Self.durations(session) == [8, 2])
        }
        #expect(run.codes == [])
        await run.proxy.stop()
        await origin.stop()
        await other.stop()
    }

    @Test(arguments: SourcePlace.allCases) func `with a damaged index, or none at its place, has a code`(place: SourcePlace)
        async throws
    {
        let stream = try await Stream()
        let origin = try OriginServer(stream.package.path)
        let base = place == .local ? stream.package.path : origin.origin
        let end = try #require(stream.places.last)
        stream.package.write("words.txt", "no index\n")
        stream.package.write("falling.txt", "0 0\n188 90000\n188 180000\n")
        stream.package.write("odd.txt", "0 0\n100 90000\n\(end.offset) \(end.time)\n")
        stream.package.write("long.txt", "0 0\n\(end.offset + 188) \(end.time)\n")
        let run = try ProxyRun()
        for (name, code, status) in [
            ("words.txt", ProxyError.Code.damaged, 502), ("falling.txt", .damaged, 502), ("odd.txt", .damaged, 502),
            ("long.txt", .damaged, 502), ("absent.txt", .missing, 404),
        ] {
            let session = try Self.session(run, "\(base)/video.ts", index: "\(base)/\(name)", stream.package.keys)
            try await ProxyRun.expectRefusal(session.url, code, status, of: run)
        }
        await run.proxy.stop()
        await origin.stop()
    }

    @Test(arguments: SourcePlace.allCases, [PlaylistProxy.Policy.compatible, .usual])
    func `in an HLS media playlist plays as its clear source`(place: SourcePlace, policy: PlaylistProxy.Policy) async throws {
        let stream = try await Stream()
        let origin = try OriginServer(stream.package.path)
        let base = place == .local ? stream.package.path : origin.origin
        let clear = try await Frames.ffmpeg(try Fixtures.path(ProtectedPackage.source))
        let run = try ProxyRun { $0.policy = policy }
        let session = try run.proxy.makeURL("\(base)/video-1.m3u8", .hls, keys: stream.package.keys)
        let played = try await Frames.ffmpeg(session.url)
        #expect(!played.pictures.isEmpty && played.pictures == clear.pictures)
        for segment in try await ProxyRun.segments(of: session) {
            let bytes = try await ProxyRun.get(segment).body
            #expect(stride(from: 0, to: bytes.count, by: 188).allSatisfy { bytes[$0] == 0x47 && bytes[$0 + 3] & 0xc0 == 0 })
        }
        #expect(run.codes == [])
        // and without its key is refused
        let without = try run.proxy.makeURL("\(base)/video-1.m3u8", .hls)
        let segment = try #require(try await ProxyRun.segments(of: without).first)
        try await ProxyRun.expectRefusal(segment, .missingKey, 403, of: run)
        await run.proxy.stop()
        await origin.stop()
    }
}
