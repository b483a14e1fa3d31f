// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A live HLS source` {
    private static let seconds = unsafe getenv("CARREL_LONG") == nil ? 30 : 300

    @Test func `of ffmpeg, encrypted, plays without a gap`() async throws {
        let folder = TemporaryDirectory()
        folder.write("live.key", Array(0..<16))
        let origin = MadeOrigin(folder: folder.path)
        folder.write("key.info", "\(origin.url("live.key"))\n\(folder.file("live.key"))\n")
        let encoder = try LivePackets.encoder(
            Self.seconds + 20,
            [
                "-f", "hls", "-hls_time", "1", "-hls_list_size", "6", "-hls_flags", "delete_segments+temp_file",
                "-hls_key_info_file",
                folder.file("key.info"), folder.file("live.m3u8"),
            ]
        )
        try await eventually { folder.read("live3.ts") != nil }
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(origin.url("live.m3u8"), .hls)
        try await LivePackets.expectNoGap(session.url, seconds: Self.seconds)
        #expect(run.errors.withLock { $0 } == [])
        await run.proxy.stop()
        await encoder.terminate()
    }

    @Test(.enabled(if: unsafe getenv("CARREL_LONG") != nil, "only with CARREL_LONG=1"), arguments: ["mpegts", "fmp4"])
    func `of an encoder that is started again plays on`(kind: String) async throws {
        let folder = TemporaryDirectory()
        folder.write("live.key", Array(0..<16))
        let origin = MadeOrigin(folder: folder.path)
        folder.write("key.info", "\(origin.url("live.key"))\n\(folder.file("live.key"))\n")
        // fragments of this encoder are in the clear
        let form =
            kind == "fmp4" ? ["-hls_segment_type", "fmp4"] : ["-hls_key_info_file", folder.file("key.info")]
        let arguments =
            ["-f", "hls", "-hls_time", "1", "-hls_list_size", "6", "-hls_flags", "delete_segments+temp_file+omit_endlist"] + form
            + [folder.file("live.m3u8")]
        var encoder = try LivePackets.encoder(60, arguments)
        try await eventually { folder.read("live7.\(kind == "fmp4" ? "m4s" : "ts")") != nil }
        let run = try ProxyRun { $0.policy = .open }
        let session = try run.proxy.makeURL(origin.url("live.m3u8"), .hls)
        let ffmpeg = try requirePeer("ffmpeg")
        async let played = runProcess(
            [ffmpeg, "-v", "error", "-nostdin", "-i", session.url, "-t", "40", "-map", "0:v:0", "-f", "framemd5", "-"],
            timeout: .seconds(120)
        )
        try await Task.sleep(for: .seconds(8))
        await encoder.terminate()
        encoder = try LivePackets.encoder(60, arguments)
        try await Task.sleep(for: .seconds(15))
        let list = try await ProxyRun.text(session.url.replacing("index.m3u8", with: "media.m3u8?video=0"))
        let first = try #require(list.split(separator: "#EXT-X-MEDIA-SEQUENCE:").last?.prefix { $0.isNumber })
        #expect((Int(first) ?? 0) > 12, "\(list)")
        #expect(list.contains("#EXT-X-DISCONTINUITY-SEQUENCE:1") || list.contains("#EXT-X-DISCONTINUITY\n"))
        try await Task.sleep(for: .seconds(10))
        await encoder.terminate()
        origin.put("live.m3u8", String(decoding: folder.read("live.m3u8") ?? [], as: UTF8.self) + "#EXT-X-ENDLIST\n")
        let pictures = try await played.text.split(separator: "\n").filter { !$0.hasPrefix("#") }.count
        // before the restart, and after it
        #expect(pictures > 25 * 18, "\(pictures)")
        #expect(run.errors.withLock { $0 }.allSatisfy { $0.code == .windowPassed || $0.code == .missing })
        await run.proxy.stop()
    }

    /// A list of segments of one second, and of discontinuities in front of some.
    private static func list(_ numbers: Range<Int>, marks: Set<Int> = [], discontinuities: Int = 0, isEnded: Bool = false)
        -> String
    {
        var text = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:\(numbers.lowerBound)\n"
        text += "#EXT-X-DISCONTINUITY-SEQUENCE:\(discontinuities)\n#EXT-X-KEY:METHOD=AES-128,URI=\"live.key\"\n"
        for number in numbers {
            if marks.contains(number) { text += "#EXT-X-DISCONTINUITY\n" }
            text += "#EXTINF:1.0,\nlive\(number).ts\n"
        }
        return isEnded ? text + "#EXT-X-ENDLIST\n" : text
    }

    @Test func `names an initialization section alike in all its lists`() async throws {
        let folder = "media/dash/number-clear"
        let origin = MadeOrigin()
        for name in ["one", "two"] { origin.put("\(name).mp4", try Fixtures.bytes("\(folder)/v-init.mp4")) }
        let run = try ProxyRun { options in
            options.policy = .open
            options.output = .fragments
        }
        let session = try run.proxy.makeURL(origin.url("live.m3u8"), .hls)
        func reload(_ numbers: Range<Int>, _ map: String) async throws -> String {
            let list = Self.list(numbers).split(separator: "\n").map {
                $0.hasPrefix("#EXT-X-KEY") ? "#EXT-X-MAP:URI=\"\(map)\"" : $0.replacing(".ts", with: ".m4s")
            }
            origin.put("live.m3u8", list.joined(separator: "\n") + "\n")
            run.clock.advance(by: .milliseconds(600))
            let text = try await ProxyRun.text(session.url.replacing("index.m3u8", with: "media.m3u8?video=0"))
            let lines = text.split(separator: "\n").filter { $0.hasPrefix("#EXT-X-MAP") }
            #expect(lines.count == 1, "\(text)")
            return session.url.replacing("index.m3u8", with: lines.first?.split(separator: "\"").dropFirst().first ?? "")
        }
        let first = try await reload(10..<14, "one.mp4")
        #expect(try await ProxyRun.get(first).status == 200)
        #expect(try await reload(12..<16, "one.mp4") == first)
        let second = try await reload(20..<24, "two.mp4")
        #expect(second != first)
        // a player may have an older list
        for url in [first, second] { #expect(try await ProxyRun.get(url).status == 200) }
        #expect(try await ProxyRun.get(first.replacing("t=", with: "t=1")).status == 404)
        #expect(run.codes == [.windowPassed])
        await run.proxy.stop()
    }

    /// The numbers of a list, as its addresses have them.
    private static func numbers(_ text: String) -> (list: LiveList, numbers: [Int]) {
        let numbers = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
            .compactMap { $0.split(separator: "&").first { $0.hasPrefix("n=") }.flatMap { Int($0.dropFirst(2)) } }
        return (LiveList(text), numbers)
    }

    @Test func `keeps the numbers of its source, also while that is away`() async throws {
        let origin = MadeOrigin()
        origin.put("live.key", Array(0..<16))
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(origin.url("live.m3u8"), .hls)
        func reload(_ text: String?) async throws -> (list: LiveList, numbers: [Int]) {
            if let text { origin.put("live.m3u8", text) }
            run.clock.advance(by: .milliseconds(600))
            return Self.numbers(try await ProxyRun.text(session.url.replacing("index.m3u8", with: "media.m3u8?video=0")))
        }
        var (list, numbers) = try await reload(Self.list(10..<14))
        #expect(list.media == 10)
        #expect(numbers == [10, 11, 12, 13])
        (list, numbers) = try await reload(Self.list(12..<16, marks: [13]))
        #expect((list.media, list.discontinuities) == (12, 0))
        #expect(numbers == [12, 13, 14, 15])
        #expect(list.segments.map { $0 <= 0 } == [true, true, true, true])
        // a cache gives an older one
        (list, numbers) = try await reload(Self.list(11..<15))
        #expect(numbers == [12, 13, 14, 15])
        origin.isAway = true
        (list, numbers) = try await reload(nil)
        #expect(numbers == [12, 13, 14, 15])
        #expect(!list.isEnded)
        origin.isAway = false
        (list, numbers) = try await reload(Self.list(14..<18, discontinuities: 1))
        #expect((list.media, list.discontinuities) == (14, 1))
        let gone = session.url.replacing("index.m3u8", with: "segment.ts?period=0&video=0&n=12&t=0")
        #expect(try await ProxyRun.get(gone).status == 404)
        #expect(run.errors.withLock { $0.last?.code } == .windowPassed)
        // a segment that is late
        let newest = session.url.replacing("index.m3u8", with: "segment.ts?period=0&video=0&n=17&t=0")
        async let late = ProxyRun.get(newest)
        try await Task.sleep(for: .milliseconds(300))
        origin.put("live17.ts", try Fixtures.bytes("media/hls/av-ts-implicit-iv_0.ts"))
        _ = try? await late
        #expect(origin.requests.count { $0 == "live17.ts" } > 2)
        (list, numbers) = try await reload(Self.list(14..<18, discontinuities: 1, isEnded: true))
        #expect(list.isEnded)
        await run.proxy.stop()
    }
}
