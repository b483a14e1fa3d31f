// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

struct `Initialization sections of a live HLS source` {
    private static let top = """
        #EXTM3U
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="a",DEFAULT=YES,URI="audio.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=1000,AUDIO="a"
        video.m3u8

        """

    /// A live list of one-second segments with these initialization sections.
    private static func list(_ first: Int, maps: [String], segments: Int = 1) -> String {
        var text = "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:\(first)\n"
        for (place, map) in maps.enumerated() {
            text += "#EXT-X-MAP:URI=\"\(map)\"\n"
            for number in 0..<segments { text += "#EXTINF:1.00,\nsegment-\(first + place * segments + number).m4s\n" }
        }
        return text
    }

    /// The addresses of the sections of a list.
    private static func maps(_ url: String) async throws -> [String] {
        let lines = try await ProxyRun.text(url).split(separator: "\n").filter { $0.hasPrefix("#EXT-X-MAP") }
        return lines.compactMap { line in
            line.split(separator: "\"").dropFirst().first.map { URIReference.resolve(String($0), against: url) }
        }
    }

    @Test func `stay for a player with an older list, however many another rendition has`() async throws {
        let origin = MadeOrigin()
        let run = try ProxyRun { options in
            options.policy = .open
            options.output = .fragments
        }
        let section = try Fixtures.bytes("media/dash/number-clear/a-init.mp4")
        for name in ["a-0", "a-1"] { origin.put("\(name).mp4", section) }
        origin.put("top.m3u8", Self.top)
        origin.put("audio.m3u8", Self.list(10, maps: ["a-0.mp4"]))
        origin.put("video.m3u8", Self.list(10, maps: ["v.mp4"]))
        origin.put("v.mp4", section)
        let session = try run.proxy.makeURL(origin.url("top.m3u8"), .hls)
        let audio = session.url.replacing("index.m3u8", with: "media.m3u8?audio=0")
        let video = session.url.replacing("index.m3u8", with: "media.m3u8?video=0")
        let old = try #require(try await Self.maps(audio).first)
        origin.put("audio.m3u8", Self.list(11, maps: ["a-1.mp4"]))
        origin.put("video.m3u8", Self.list(11, maps: (0..<400).map { "v-\($0).mp4" }))
        run.clock.advance(by: .milliseconds(600))
        let new = try #require(try await Self.maps(audio).first)
        #expect(new != old)
        #expect(try await Self.maps(video).count == 400)
        #expect(try await ProxyRun.get(old).status == 200)
        #expect(try await ProxyRun.get(new).status == 200)
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    /// A list of 3 MB, read again and again with another section.
    @Test(.timeLimit(.minutes(5))) func `hold none of the lists that had them`() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
            let origin = MadeOrigin()
            let run = try ProxyRun { $0.policy = .open }
            let name = String(repeating: "x", count: 40)
            var body = ""
            for _ in 0..<60_000 { body += "#EXTINF:1.00,\n\(name).m4s\n" }
            let head = "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:1\n"
            origin.put("map.mp4", try Fixtures.bytes("media/dash/number-clear/v-init.mp4"))
            let session = try run.proxy.makeURL(origin.url("live.m3u8"), .hls)
            let list = session.url.replacing("index.m3u8", with: "media.m3u8?video=0")
            var uses: [Double] = []
            for reload in 0..<10 {
                origin.put("live.m3u8", head + "#EXT-X-MAP:URI=\"map.mp4?\(reload)\"\n" + body)
                run.clock.advance(by: .milliseconds(550))
                guard try await ProxyRun.get(list).status == 200 else { fatalError("the list is refused") }
                uses.append(ProcessUse().peakMebibytes)
            }
            await run.proxy.stop()
            print("\nUSES", uses.map { "\(Int($0))" }.joined(separator: " "))
            fflush(nil)
        }
        let line = String(decoding: result.standardOutputContent, as: UTF8.self).split(separator: "\n").first {
            $0.hasPrefix("USES")
        }
        let uses = try #require(line).split(separator: " ").dropFirst().compactMap { Double($0) }
        print("peak of the process after each reload: \(uses)")
        // each list takes 9 MiB with its records
        #expect(uses.count == 10 && uses[9] < uses[3] + 24, "\(uses)")
    }
}
