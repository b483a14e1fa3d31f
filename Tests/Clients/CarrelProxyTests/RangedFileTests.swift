// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS
import CarrelHTTP
import CarrelHTTPClient
import CarrelMP4
@testable import CarrelMediaSource
@testable import CarrelPresentation
@testable import CarrelProxy
import CarrelTesting
import CarrelThreads
import Testing

struct `A file with an index` {
    private static func session(_ run: ProxyRun) throws -> PlaylistProxy.Session {
        let (path, keys) = try `A DASH source`.source("ondemand-cbcs")
        return try run.proxy.makeURL(path, .dash, keys: keys)
    }

    private static func get(_ url: String, _ range: String?, condition: String? = nil) async throws -> (
        status: Int, body: [UInt8], range: String?
    ) {
        var request = ClientRequest(url, maxResponseBytes: 64 << 20)
        if let range { request.headers["Range"] = range }
        if let condition { request.headers["If-Range"] = condition }
        let response = try await HTTPClient().send(request)
        return (response.status.rawValue, response.body, response.headers["Content-Range"])
    }

    /// The ranges that the first variant's playlist names, and the file's address.
    private static func ranges(_ session: PlaylistProxy.Session) async throws -> (url: String, ranges: [Range<Int>]) {
        let media = try #require(try await ProxyRun.addresses(session.url).first)
        let lines = try await ProxyRun.text(media).split(separator: "\n")
        let ranges = lines.compactMap { line -> Range<Int>? in
            guard let match = line.wholeMatch(of: /#EXT-X-BYTERANGE:(\d+)@(\d+)/), let length = Int(match.1),
                let offset = Int(match.2)
            else { return nil }
            return offset..<offset + length
        }
        let files = Set(try await ProxyRun.addresses(media))
        #expect(files.count == 1 && ranges.count > 2)
        return (try #require(files.first), ranges)
    }

    @Test func `is served as one file with byte ranges, and plays like the clear source`() async throws {
        let run = try ProxyRun {
            $0.output = .fragments
            $0.rules = .rfc
        }
        let session = try Self.session(run)
        _ = try await Self.ranges(session)
        let clear = try await Frames.ffmpeg(try Fixtures.path("media/src/av-h264-aac.mp4"))
        let played = try await Frames.ffmpeg(session.url)
        #expect(played.pictures == clear.pictures)
        #expect(played.audio.dropFirst() == clear.audio[...])
        #expect(played.complaints == "")
        #expect(run.errors.withLock { $0 } == [])
        await run.proxy.stop()
    }

    @Test func `is read by any range`() async throws {
        let run = try ProxyRun {
            $0.output = .fragments
            $0.rules = .rfc
        }
        let (url, ranges) = try await Self.ranges(try Self.session(run))
        var whole: [UInt8] = []
        for range in ranges {
            let part = try await Self.get(url, "bytes=\(range.lowerBound)-\(range.upperBound - 1)")
            #expect(part.status == 206 && part.body.count == range.count)
            #expect(part.range == "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(ranges[ranges.count - 1].upperBound)")
            whole += part.body
        }
        let first = ranges[0].lowerBound
        // within a segment, over the end of one, the last bytes, and without an end
        let inner = [first + 9..<first + 10, ranges[0].upperBound - 100..<ranges[1].upperBound + 7, first..<first + whole.count]
        for range in inner {
            let part = try await Self.get(url, "bytes=\(range.lowerBound)-\(range.upperBound - 1)")
            #expect(part.body == Array(whole[range.lowerBound - first..<range.upperBound - first]), "\(range)")
        }
        #expect(try await Self.get(url, "bytes=-50").body == whole.suffix(50))
        #expect(try await Self.get(url, "bytes=\(ranges[1].lowerBound)-").body == Array(whole[(ranges[1].lowerBound - first)...]))
        // players that read a file from its beginning find the movie there, in the clear
        let head = try await Self.get(url, "bytes=0-\(first - 1)")
        #expect(head.status == 206 && head.body.count == first)
        let movie = try MP4File(BytesReader(head.body))
        #expect(movie.tracks.count == 1 && movie.tracks[0].entries.allSatisfy { $0.protection == nil })
        #expect(try await Self.get(url, "bytes=0-").body == head.body + whole)
        #expect(try await Self.get(url, "bytes=999999999-").status == 416)
        #expect(try await Self.get(url, nil).status == 416)
        #expect(try await Self.get(url, "bytes=\(first)-", condition: "\"tag\"").status == 416)
        #expect(try await Self.get(url, "bytes=\(first)-\(first),\(first + 5)-\(first + 6)").status == 416)
        #expect(try await Self.get(url.replacing("video=0", with: "video=7"), "bytes=\(first)-").status == 404)
        await run.proxy.stop()
    }

    @Test(arguments: [RenditionName(video: 0), RenditionName(text: 0)])
    func `is named by byte ranges if its bytes keep their places, unlike subtitles`(name: RenditionName) throws {
        var list = SegmentList()
        list.segments = [SegmentList.Segment(name: SegmentName(name), duration: .seconds(2))]
        list.segments[0].byteRange = 700..<900
        let text = try PlaylistText(rules: .rfc, isFragmented: true, isEncrypted: false).media(list, of: name)
        let lines = String(decoding: text, as: UTF8.self)
        #expect(lines.contains("track.mp4?") == !name.isText && lines.contains("BYTERANGE") == !name.isText)
        #expect(lines.contains("text.vtt?") == name.isText)
    }

    @Test func `has an address for each segment by the rules of older players, and where the output is encrypted`() async throws {
        for change in [{ $0.rules = .compatible }, { $0.encryptsOutput = true }] as [(inout PlaylistProxy.Options) -> Void] {
            let run = try ProxyRun {
                $0.output = .fragments
                $0.rules = .rfc
                change(&$0)
            }
            let media = try #require(try await ProxyRun.addresses(try Self.session(run).url).first)
            let text = try await ProxyRun.text(media)
            #expect(!text.contains("BYTERANGE") && text.contains("segment.m4s?"))
            await run.proxy.stop()
        }
    }
}
