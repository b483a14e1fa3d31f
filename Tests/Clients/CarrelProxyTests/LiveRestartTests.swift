// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import Testing

@Suite(.timeLimit(.minutes(2))) struct `A live HLS source that counts again` {
    private let origin = MadeOrigin()
    private let run: ProxyRun
    private let session: PlaylistProxy.Session

    init() throws {
        run = try ProxyRun()
        origin.put("live.key", MarkedSegment.key)
        session = try run.proxy.makeURL(origin.url("live.m3u8"), .hls)
    }

    /// A list from a player's view.
    private struct Seen: Equatable {
        var media: Int
        var discontinuities: Int
        /// The numbers of segments, negative where a discontinuity is in front.
        var numbers: [Int]

        init(_ media: Int, _ discontinuities: Int, _ numbers: [Int]) {
            (self.media, self.discontinuities, self.numbers) = (media, discontinuities, numbers)
        }

        init(_ text: String) {
            let list = LiveList(text)
            (media, discontinuities, numbers) = (list.media, list.discontinuities, [])
            var sign = 1
            for line in text.split(separator: "\n") {
                if line == "#EXT-X-DISCONTINUITY" { sign = -1 }
                guard !line.hasPrefix("#") else { continue }
                let field = line.split(separator: "&").first { $0.hasPrefix("n=") }
                numbers.append(sign * (field.flatMap { Int($0.dropFirst(2)) } ?? 0))
                sign = 1
            }
        }
    }

    /// A list of segments of one second.
    private static func list(
        _ numbers: Range<Int>,
        _ name: String = "live",
        marks: Set<Int> = [],
        discontinuities: Int = 0,
        date: Int? = nil
    ) -> String {
        var text = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:\(numbers.lowerBound)\n"
        text += "#EXT-X-DISCONTINUITY-SEQUENCE:\(discontinuities)\n#EXT-X-KEY:METHOD=AES-128,URI=\"live.key\"\n"
        if let date { text += "#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:\(date)Z\n" }
        for number in numbers {
            if marks.contains(number) { text += "#EXT-X-DISCONTINUITY\n" }
            text += "#EXTINF:1.0,\n\(name)\(number).ts\n"
        }
        return text
    }

    /// The list that a player sees when the source has another one.
    private func reload(_ text: String) async throws -> Seen {
        origin.put("live.m3u8", text)
        run.clock.advance(by: .milliseconds(600))
        return Seen(try await ProxyRun.text(session.url.replacing("index.m3u8", with: "media.m3u8?video=0")))
    }

    /// A segment under the number that the source has.
    private func put(_ name: String, number: Int, epoch: UInt8) throws -> [UInt8] {
        let made = try MarkedSegment(epoch, number: number)
        origin.put("\(name)\(number).ts", made.encrypted)
        return made.clear
    }

    private func segment(_ number: Int) -> String {
        session.url.replacing("index.m3u8", with: "segment.ts?period=0&video=0&n=\(number)&t=0")
    }

    @Test(arguments: ["other", "live"]) func `continues a list that restarts from 0 as a discontinuity, with its keys' vectors`(
        name: String
    )
        async throws
    {
        #expect(try await reload(Self.list(10..<14)) == Seen(10, 0, [10, 11, 12, 13]))
        let restarted = Self.list(0..<2, name)
        let clear = try put(name, number: 1, epoch: 2)
        // it may be an old list, until it has been the only one for a while
        var seen = try await reload(restarted)
        #expect(seen == Seen(10, 0, [10, 11, 12, 13]))
        for _ in 0..<3 where seen.numbers.first == 10 { seen = try await reload(restarted) }
        #expect(seen == Seen(14, 0, [-14, 15]))
        let got = try await ProxyRun.get(segment(15))
        #expect(got.status == 200 && got.body == clear)
        try await ProxyRun.expectRefusal(segment(12), .windowPassed, 404, of: run)
        #expect(try await reload(Self.list(0..<3, name)) == Seen(14, 0, [-14, 15, 16]))
        #expect(try await reload(Self.list(1..<4, name)) == Seen(15, 1, [15, 16, 17]))
        // and once more, in front of which the source has discontinuities of its own
        #expect(try await reload(Self.list(2..<5, name, marks: [4])) == Seen(16, 1, [16, 17, -18]))
        #expect(try await reload(Self.list(0..<3, "third")) == Seen(19, 2, [-19, 20, 21]))
        #expect(try await reload(Self.list(1..<4, "third")) == Seen(20, 3, [20, 21, 22]))
        await run.proxy.stop()
    }

    @Test func `continues from a number in its window when its list moves, and ignores a cached list`() async throws {
        #expect(try await reload(Self.list(12..<16)) == Seen(12, 0, [12, 13, 14, 15]))
        #expect(try await reload(Self.list(11..<15)) == Seen(12, 0, [12, 13, 14, 15]))
        #expect(try await reload(Self.list(13..<17)) == Seen(13, 0, [13, 14, 15, 16]))
        // that does not move is an old one however long it stays
        for _ in 0..<7 { #expect(try await reload(Self.list(11..<15)) == Seen(13, 0, [13, 14, 15, 16])) }
        #expect(try await reload(Self.list(12..<16)) == Seen(17, 0, [-17, 18, 19, 20]))
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test func `continues immediately with other names or later dates`() async throws {
        #expect(try await reload(Self.list(12..<16, date: 20)) == Seen(12, 0, [12, 13, 14, 15]))
        #expect(try await reload(Self.list(11..<15, date: 19)) == Seen(12, 0, [12, 13, 14, 15]))
        #expect(try await reload(Self.list(10..<13, date: 40)) == Seen(16, 0, [-16, 17, 18]))
        #expect(try await reload(Self.list(10..<12, "other")) == Seen(19, 1, [-19, 20]))
        await run.proxy.stop()
    }

    @Test func `continues far ahead as a discontinuity, but not after a window that only moved on`() async throws {
        #expect(try await reload(Self.list(10..<14)) == Seen(10, 0, [10, 11, 12, 13]))
        #expect(try await reload(Self.list(16..<20)) == Seen(16, 0, [16, 17, 18, 19]))
        #expect(try await reload(Self.list(5000..<5003, discontinuities: 7)) == Seen(20, 0, [-20, 21, 22]))
        #expect(try await reload(Self.list(5001..<5004, discontinuities: 7)) == Seen(21, 1, [21, 22, 23]))
        await run.proxy.stop()
    }

    @Test func `has the same numbers of discontinuities in all its playlists`() async throws {
        let top = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlive.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=2\nhigh.m3u8\n"
        origin.put("top.m3u8", top)
        let session = try run.proxy.makeURL(origin.url("top.m3u8"), .hls)
        func reload(_ text: String, _ variant: Int) async throws -> Seen {
            origin.put(variant == 0 ? "live.m3u8" : "high.m3u8", text)
            run.clock.advance(by: .milliseconds(600))
            return Seen(try await ProxyRun.text(session.url.replacing("index.m3u8", with: "media.m3u8?video=\(variant)")))
        }
        #expect(try await reload(Self.list(1..<5, discontinuities: 3), 0) == Seen(1, 3, [1, 2, 3, 4]))
        #expect(try await reload(Self.list(0..<3, "b"), 0) == Seen(5, 3, [-5, 6, 7]))
        // a playlist that nothing was asked of before the restart
        #expect(try await reload(Self.list(0..<3, "b"), 1) == Seen(5, 3, [-5, 6, 7]))
        #expect(try await reload(Self.list(1..<4, "b"), 0) == Seen(6, 4, [6, 7, 8]))
        #expect(try await reload(Self.list(1..<4, "b"), 1) == Seen(6, 4, [6, 7, 8]))
        #expect(try await reload(Self.list(0..<3, "c"), 1) == Seen(9, 4, [-9, 10, 11]))
        #expect(try await reload(Self.list(0..<3, "c"), 0) == Seen(9, 4, [-9, 10, 11]))
        await run.proxy.stop()
    }
}
