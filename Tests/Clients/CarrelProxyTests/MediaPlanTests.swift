// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaPlanning
import CarrelMediaSource
import CarrelSavedMedia
import CarrelTesting
import ProtectedMedia
import Testing

struct `The plan of a download` {
    private let directory = TemporaryDirectory()

    private static func plan(
        _ source: String,
        _ type: MediaSourceType,
        _ parameters: MediaSourceParameters = MediaSourceParameters(),
        _ change: (inout MediaSelection) -> Void = { _ in }
    ) async throws(ProxyError) -> MediaPlan {
        var selection = MediaSelection()
        change(&selection)
        let origin = try MediaOrigin(source, client: HTTPClient(), fields: [:], MediaOrigin.Permissions())
        return try await MediaPlanner(origin, type, parameters).plan(selection)
    }

    private static func error(
        _ source: String,
        _ type: MediaSourceType,
        _ change: (inout MediaSelection) -> Void = { _ in }
    ) async -> ProxyError? {
        do throws(ProxyError) { _ = try await plan(source, type, MediaSourceParameters(), change) } catch { return error }
        return nil
    }

    // MARK: - Selection

    private func write(_ name: String, _ lines: [String]) -> String {
        directory.write(name, lines.joined(separator: "\n") + "\n")
    }

    /// A source with four variants, three languages and two subtitles; the segments are addresses alone.
    private func master() -> String {
        for name in ["v100", "v265", "v300", "v900", "en", "da", "de", "sub-en", "sub-da"] {
            let type = name.hasPrefix("sub") ? "vtt" : "aac"
            _ = write(
                "\(name).m3u8",
                [
                    "#EXTM3U", "#EXT-X-TARGETDURATION:6", "#EXT-X-KEY:METHOD=AES-128,URI=\"\(name).key\"", "#EXTINF:6,",
                    "\(name)-1.\(type)", "#EXTINF:4.5,", "\(name)-2.\(type)", "#EXT-X-ENDLIST",
                ]
            )
        }
        var lines = ["#EXTM3U"]
        for (language, isDefault) in [("en", "NO"), ("da", "YES"), ("de", "NO")] {
            lines.append(
                "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"\(language)\",LANGUAGE=\"\(language)\",DEFAULT=\(isDefault),AUTOSELECT=YES,URI=\"\(language).m3u8\""
            )
        }
        for language in ["en", "da"] {
            lines.append(
                "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"s\",NAME=\"\(language)\",LANGUAGE=\"\(language)\",URI=\"sub-\(language).m3u8\""
            )
        }
        for bits in [900, 100, 300, 265] {
            lines.append("#EXT-X-STREAM-INF:BANDWIDTH=\(bits)000,CODECS=\"avc1.42c01e,mp4a.40.2\",AUDIO=\"a\",SUBTITLES=\"s\"")
            lines.append("v\(bits).m3u8")
        }
        return write("master.m3u8", lines)
    }

    /// The names of the documents and of the first pieces.
    private static func names(_ plan: MediaPlan) -> [String] {
        plan.streams.map { $0.pieces[0].address.split(separator: "/").last.map(String.init) ?? "" }
    }

    @Test func `of HLS has the default renditions, and the lowest variant of at least 265 kbit/s`() async throws {
        let plan = try await Self.plan(master(), .hls)
        #expect(Self.names(plan) == ["v265-1.aac", "da-1.aac"])
        #expect(plan.streams.map(\.kind) == [.video, .audio] && plan.streams.map(\.language) == [nil, "da"])
        #expect(plan.streams.map(\.bandwidth) == [265_000, 0])
        let names = plan.documents.map { $0.address.split(separator: "/").last.map(String.init) ?? "" }
        #expect(names == ["master.m3u8", "v265.m3u8", "da.m3u8"])
        #expect(plan.streams[0].pieces.map(\.duration) == [.seconds(6), .milliseconds(4500)])
        #expect(plan.streams[0].pieces.map(\.start) == [.zero, .seconds(6)] && plan.duration == .milliseconds(10_500))
        #expect(plan.streams.allSatisfy { $0.pieces.allSatisfy(\.isEncrypted) } && plan.isProtected)
        #expect(plan.protections == [.hls("AES-128")])
        let keys = plan.keys.map { key -> String in
            guard case .address(let address)? = key.names.first, key.names.count == 1 else { return "" }
            return address.split(separator: "/").last.map(String.init) ?? ""
        }
        #expect(keys == ["v265.key", "da.key"] && plan.keys.allSatisfy { $0.method == "AES-128" && $0.keyFormat == nil })
        #expect(plan.choices.variants.map(\.bandwidth) == [900_000, 100_000, 300_000, 265_000])
        #expect(plan.choices.audio.map(\.language) == ["en", "da", "de"])
        #expect(plan.choices.audio.map(\.isDefault) == [false, true, false])
        #expect(plan.choices.texts.map(\.name) == ["en", "da"])
        // the bit rate of a variant includes its renditions
        #expect(plan.expectedBytes == Int64(265_000 / 8 * 10.5))
    }

    @Test func `has the chosen languages, subtitles and bit rate`() async throws {
        let source = master()
        let chosen = try await Self.plan(source, .hls) { selection in
            selection.bitrate = 301_000
            selection.audio = .chosen(["de", "en"])
            selection.texts = .chosen(["da"])
        }
        #expect(Self.names(chosen) == ["v900-1.aac", "en-1.aac", "de-1.aac", "sub-da-1.vtt"])
        let all = try await Self.plan(source, .hls) { selection in
            selection.bitrate = 1_000_000
            (selection.audio, selection.texts) = (.all, .all)
        }
        #expect(Self.names(all) == ["v900-1.aac", "en-1.aac", "da-1.aac", "de-1.aac", "sub-en-1.vtt", "sub-da-1.vtt"])
        let none = try await Self.plan(source, .hls) { ($0.audio, $0.texts) = (.none, .none) }
        #expect(Self.names(none) == ["v265-1.aac"])
        let refused = await Self.error(source, .hls) { $0.audio = .chosen(["fr"]) }
        #expect(refused?.code == .usage && refused?.message == "the source has no audio in 'fr': it has da, de, en")
        // the same selection gives the same plan
        let again = try await Self.plan(source, .hls) { selection in
            selection.bitrate = 301_000
            selection.audio = .chosen(["de", "en"])
            selection.texts = .chosen(["da"])
        }
        #expect(again.streams.map(\.pieces) == chosen.streams.map(\.pieces))
    }

    // MARK: - Refusals

    @Test func `of a live source is refused`() async throws {
        let lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:6", "#EXTINF:6,", "1.ts"]
        let live = write("live.m3u8", lines)
        #expect(await Self.error(live, .hls)?.code == .live)
        let top = write("top.m3u8", ["#EXTM3U", "#EXT-X-STREAM-INF:BANDWIDTH=300000", "live.m3u8"])
        #expect(await Self.error(top, .hls)?.code == .live)
        let path = try Fixtures.path("media/dash/number-clear")
        let name = try #require(try FixtureFolder.names(in: path).first { $0.hasSuffix(".mpd") })
        let text = String(decoding: try #require(Fixtures.bytes(at: "\(path)/\(name)")), as: UTF8.self)
        let dynamic = text.replacing("type=\"static\"", with: "type=\"dynamic\" availabilityStartTime=\"2020-01-01T00:00:00Z\"")
        #expect(dynamic != text)
        #expect(await Self.error(directory.write("live.mpd", dynamic), .dash)?.code == .live)
    }

    @Test func `of too many segments, of other files and of files that are absent is refused`() async throws {
        var lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:6"]
        for _ in 0..<1_000_000 { lines += ["#EXTINF:1,", "1"] }
        let long = write("long.m3u8", lines + ["#EXT-X-ENDLIST"])
        let tooLong = await Self.error(long, .hls)
        #expect(tooLong?.code == .manifest, "\(String(describing: tooLong))")
        let text = directory.write("notes.txt", "nothing to play")
        #expect(await Self.error(text, .singleFile)?.code == .unsupported)
        let absent = write("absent.m3u8", ["#EXTM3U", "#EXT-X-STREAM-INF:BANDWIDTH=300000", "gone.m3u8"])
        #expect(await Self.error(absent, .hls)?.code == .missing)
        let away = write("away.m3u8", ["#EXTM3U", "#EXT-X-STREAM-INF:BANDWIDTH=300000", "/etc/passwd"])
        #expect(await Self.error(away, .hls)?.code == .address)
        let empty = write("empty.m3u8", ["#EXTM3U", "#EXT-X-TARGETDURATION:6", "#EXT-X-ENDLIST"])
        #expect(await Self.error(empty, .hls)?.code == .manifest)
    }

    @Test func `of ranges and lengths that no file has is refused`() async throws {
        let range = "#EXT-X-BYTERANGE:4611686018427387903@0"
        let key = "#EXT-X-KEY:METHOD=AES-128,URI=\"film.key\""
        let lines = ["#EXTM3U", "#EXT-X-VERSION:4", "#EXT-X-TARGETDURATION:6", key]
        let segment = ["#EXTINF:6,", range, "film.ts"]
        let huge = write("huge.m3u8", lines + segment + segment + segment + ["#EXT-X-ENDLIST"])
        let outOfBounds = await Self.error(huge, .hls)
        #expect(outOfBounds?.code == .manifest, "\(String(describing: outOfBounds))")
        let server = try OriginServer(directory.path) { request in
            guard request.path.segments.last == "huge.mp4" else { return nil }
            let fields: HTTPFields = ["Content-Range": "bytes 0-0/9223372036854775807"]
            return HTTPResponse(.partialContent, headers: fields, body: .bytes([0]))
        }
        let error = await Self.error("\(server.origin)/huge.mp4", .singleFile)
        #expect(error != nil, "the server says that it has 2^63 bytes")
        await server.stop()
    }

    @Test func `of addresses that fill the memory is refused`() async throws {
        let folder = (0..<60).map { _ in String(repeating: "a", count: 100) }.joined(separator: "/")
        var lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:6", "#EXT-X-KEY:METHOD=AES-128,URI=\"film.key\""]
        for _ in 0..<6_000 { lines += ["#EXTINF:1,", "a"] }
        let list = lines.joined(separator: "\n") + "\n#EXT-X-ENDLIST\n"
        let server = try OriginServer(directory.path) { request in
            guard request.path.segments.last == "long.m3u8" else { return nil }
            return .bytes(Array(list.utf8), type: "application/vnd.apple.mpegurl", isCompressible: false)
        }
        let error = await Self.error("\(server.origin)/\(folder)/long.m3u8", .hls)
        #expect(error?.code == .manifest && error?.message.contains("addresses") == true, "\(String(describing: error))")
        await server.stop()
    }

    // MARK: - Keys

    @Test func `names the keys of HLS fragments, their key lines and their documents, without media`() async throws {
        let package = try await ProtectedPackage { options in
            options.scheme = .cenc
            options.keyURI = "skd://{kid}:abcd"
            let key = ProtectedPackage.key("0f112233445566778899aabbccddeeff", "0f0102030405060708090a0b0c0d0e0f")
            options.videoKeys.append(key)
            options.rotation = 1
        }
        let origin = try OriginServer(package.path)
        let plan = try await Self.plan("\(origin.origin)/master.m3u8", .hls)
        await origin.stop()
        let ids = Set(
            plan.keys.flatMap(\.names).compactMap { name -> String? in
                guard case .id(let id) = name else { return nil }
                return Hex.encode(id)
            }
        )
        let addresses = plan.keys.flatMap(\.names).filter { name in
            if case .address(let url) = name { url.hasPrefix("skd://") } else { false }
        }
        #expect(ids.count + addresses.count >= 3, "\(plan.keys)")
        #expect(!origin.requests.contains { $0.path.hasSuffix(".m4s") }, "\(origin.requests.map(\.path))")
        #expect(plan.isProtected)
    }

    @Test func `names the keys of DASH with what the manifest says, and its pieces`() async throws {
        let path = try Fixtures.path("media/dash/timeline-cenc")
        let name = try #require(try FixtureFolder.names(in: path).first { $0.hasSuffix(".mpd") })
        let plan = try await Self.plan("\(path)/\(name)", .dash)
        #expect(plan.streams.map(\.kind) == [.video, .audio])
        #expect(!plan.keys.isEmpty && plan.keys.allSatisfy { if case .id? = $0.names.first { true } else { false } })
        #expect(plan.protections == [.commonEncryption("cenc")])
        #expect(plan.source.tracks.count == 2 && plan.source.form == .dash)
        for stream in plan.streams {
            #expect(zip(stream.pieces, stream.pieces.dropFirst()).allSatisfy { $0.start < $1.start })
        }
    }

    @Test(arguments: ["cenc/av.cenc.mp4", "dcf/av.pdcf-cbc.mp4"])
    func `of one file has its keys, and parts of 4 MiB`(name: String) async throws {
        let fixture = try #require(ProtectedFixture.all.first { $0.name == name })
        let path = try Fixtures.path("media/\(name)")
        let plan = try await Self.plan(path, .singleFile)
        #expect(plan.isProtected && !plan.keys.isEmpty)
        for key in plan.keys {
            let (answer, _) = await fixture.keys.key(anyOf: key.names)
            if case .granted = answer { continue }
            Issue.record("the fixture has no key of \(key.names)")
        }
        let length = try #require(Fixtures.bytes(at: path)).count
        #expect(plan.expectedBytes == Int64(length) && plan.streams.count == 1 && plan.streams[0].isWhole)
        #expect(plan.streams[0].pieces.reduce(0) { $0 + ($1.range?.count ?? 0) } == length)
        // the headers of fragmented files have no duration
        if !name.hasPrefix("cenc") { #expect(plan.duration.map { $0 > .seconds(1) } == true) }
    }

    @Test func `names the keys of scrambled packets by their messages`() async throws {
        let package = try await ProtectedPackage { options in
            options.isTransport = true
            options.transport = .cissa
            options.audioKeys = options.videoKeys
        }
        let plan = try await Self.plan(package.playlist, .hls)
        #expect(plan.protections.contains(.scrambledTransportStream))
        #expect(plan.keys.contains { $0.names.contains(.id(ProtectedPackage.videoKey.id.bytes)) }, "\(plan.keys)")
    }
}
