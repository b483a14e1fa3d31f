// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelMedia
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import ProtectedMedia
import Testing

struct `Names of local files` {
    /// A folder whose name has all that is special in references.
    private static let folder = "a #1? 100% %41 ü/b+c"

    private let directory = TemporaryDirectory()

    init() async throws {
        _ = try await runProcess(["/bin/mkdir", "-p", directory.file("in/\(Self.folder)")])
    }

    private func write(_ name: String, _ bytes: [UInt8]) { directory.write("in/\(Self.folder)/\(name)", bytes) }

    private func playlist(_ segments: [String]) -> [UInt8] {
        var text = "#EXTM3U\n#EXT-X-TARGETDURATION:6\n"
        text += "#EXT-X-KEY:METHOD=AES-128,URI=\"schl%C3%BCssel%20%25%231.key\",IV=0x\(String(repeating: "0", count: 32))\n"
        for segment in segments { text += "#EXTINF:6,\n\(segment)\n" }
        return Array((text + "#EXT-X-ENDLIST\n").utf8)
    }

    @Test func `and folders with special characters lead to the files of an HLS source`() async throws {
        // as the file is called, and as the playlist names it
        let names = [
            ("eins #1.ts", "eins%20%231.ts"), ("zwei?.ts", "zwei%3F.ts"), ("drei%41.ts", "drei%2541.ts"),
            ("vier ü.ts", "vier%20ü.ts"),
            ("fünf.ts", "f%c3%bcnf.ts?token=1#part"), ("100% sechs.ts", "100% sechs.ts"), ("sieben #1?.ts", "sieben #1?.ts"),
            ("acht:1;a=b&c+d.ts", "./acht%3A1;a=b&c+d.ts"),
        ]
        // another file, named like the first without its escapes
        write("dreiA.ts", try MarkedSegment(99).encrypted)
        write("schlüssel %#1.key", MarkedSegment.key)
        for (place, name) in names.enumerated() { write(name.0, try MarkedSegment(UInt8(place)).encrypted) }
        write("film #1? %41.m3u8", playlist(names.map(\.1)))
        write("film A.m3u8", Array("#EXTM3U\n".utf8))
        write("top.m3u8", Array("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nfilm%20%231%3F%20%2541.m3u8\n".utf8))
        let escaped = "\(directory.path)/in/\(Self.folder)".split(separator: "/", omittingEmptySubsequences: false)
            .map { PercentEncoding.encode(String($0)) }.joined(separator: "/")
        let run = try ProxyRun()
        for source in [
            directory.file("in/\(Self.folder)/film #1? %41.m3u8"), directory.file("in/\(Self.folder)/top.m3u8"),
            "file://\(escaped)/film%20%231%3F%20%2541.m3u8",
        ] {
            let session = try run.proxy.makeURL(source, .hls)
            let segments = try await ProxyRun.segments(of: session)
            #expect(segments.count == names.count)
            for (place, address) in segments.enumerated() {
                let got = try await ProxyRun.get(address)
                let clear = try MarkedSegment(UInt8(place)).clear
                #expect(got.status == 200 && got.body == clear, "\(names[place])")
            }
        }
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test func `and folders with special characters lead to the files of a DASH source`() async throws {
        let fixture = "media/dash/number-clear"
        let text = String(decoding: try Fixtures.bytes("\(fixture)/manifest.mpd"), as: UTF8.self)
        // the same files under other names, as a template and as a base address have them
        let renamed = text.replacing("\"$RepresentationID$-", with: "\"stück%20%231%3F%2541/$RepresentationID$%20-")
        #expect(renamed != text)
        _ = try await runProcess(["/bin/mkdir", "-p", directory.file("in/\(Self.folder)/stück #1?%41")])
        for name in try FixtureFolder.names(in: Fixtures.path(fixture)) where name.hasPrefix("v-") || name.hasPrefix("a-") {
            write("stück #1?%41/\(name.prefix(1)) \(name.dropFirst())", try Fixtures.bytes("\(fixture)/\(name)"))
        }
        write("film #1?%20.mpd", Array(renamed.utf8))
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(directory.file("in/\(Self.folder)/film #1?%20.mpd"), .dash)
        let segments = try await ProxyRun.segments(of: session)
        #expect(segments.count == 3)
        for address in segments { #expect(try await ProxyRun.get(address).status == 200) }
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test(arguments: [
        "..%2foutside.ts", "%2e%2e%2Foutside.ts", "%2E%2E/outside.ts", "x%2F..%2f..%2foutside.ts",
        "film.m3u8%00/../../outside.ts",
        "..%252foutside.ts", "//localhost/etc/passwd", "//example.org/etc/passwd", "file:%2F%2Fetc/passwd", "%2Fetc%2Fpasswd",
        "?/../../outside.ts",
    ])
    func `that lead out of the folder open nothing`(name: String) async throws {
        directory.write("in/outside.ts", try MarkedSegment(1).encrypted)
        write("schlüssel %#1.key", MarkedSegment.key)
        directory.write("in/\(Self.folder.prefix { $0 != "/" })/outside.ts", try MarkedSegment(1).encrypted)
        write("film.m3u8", playlist([name]))
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(directory.file("in/\(Self.folder)/film.m3u8"), .hls)
        let address = try #require(try await ProxyRun.segments(of: session).first)
        let got = try await ProxyRun.get(address)
        #expect([403, 404, 502].contains(got.status), "\(got.status)")
        #expect(!String(decoding: got.body, as: UTF8.self).contains("root:"))
        await run.proxy.stop()
    }

    @Test func `that look the same as others, or begin with a mark, are told apart`() async throws {
        // two folders of one appearance
        for name in ["caf\u{e9}", "cafe\u{301}"] {
            _ = try await runProcess(["/bin/mkdir", "-p", directory.file("same/\(name)")])
        }
        directory.write("same/schlüssel %#1.key", MarkedSegment.key)
        for name in ["caf\u{e9}", "cafe\u{301}"] {
            directory.write("same/\(name)/schlüssel %#1.key", MarkedSegment.key)
            directory.write("same/\(name)/one.ts", try MarkedSegment(1).encrypted)
            // the mark belongs to the slash in front of it
            directory.write("same/\(name)/\u{301}one.ts", try MarkedSegment(2).encrypted)
        }
        directory.write("same/one.ts", try MarkedSegment(3).encrypted)
        let names = ["one.ts", "%CC%81one.ts", "\u{301}one.ts", "../cafe%CC%81/one.ts", "../one.ts"]
        directory.write("same/caf\u{e9}/\u{301}film.m3u8", playlist(names))
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(directory.file("same/caf\u{e9}/\u{301}film.m3u8"), .hls)
        let segments = try await ProxyRun.segments(of: session)
        for (address, mark) in zip(segments, [1, 2, 2] as [UInt8]) {
            let clear = try MarkedSegment(mark).clear
            #expect(try await ProxyRun.get(address).body == clear)
        }
        for address in segments.suffix(2) { try await ProxyRun.expectRefusal(address, .address, 403, of: run) }
        await run.proxy.stop()
    }

    @Test func `and folders with special characters lead to single files and to subtitles`() async throws {
        let files = ["dcf/mp3.cbc.dcf", "cenc/av.cenc.mp4", "dcf/av.pdcf-cbc.mp4"]
        write("text #1?%41.vtt", Array("WEBVTT\n\n00:00:01.000 --> 00:00:03.000\nA line\n".utf8))
        let run = try ProxyRun()
        for (place, name) in files.enumerated() {
            let fixture = try #require(ProtectedFixture.all.first { $0.name == name })
            let file = "film \(place) #1?%41.\(name.suffix(3))"
            write(file, try Fixtures.bytes("media/\(name)"))
            var parameters = MediaSourceParameters()
            let text = directory.file("in/\(Self.folder)/text #1?%41.vtt")
            parameters.subtitles = .init(name: "Text", language: "de", url: text)
            let source = directory.file("in/\(Self.folder)/\(file)")
            let session = try run.proxy.makeURL(source, .singleFile, parameters, keys: fixture.keys)
            guard place > 0 else {
                // the kind of a name with a question mark is found in the bytes
                let got = try await ProxyRun.get(session.url.replacing("index.m3u8", with: "content"))
                #expect(got.status == 200 && got.body.count > 1000)
                continue
            }
            let segment = try #require(try await ProxyRun.segments(of: session).first)
            #expect(try await ProxyRun.get(segment).status == 200)
            let list = session.url.replacing("index.m3u8", with: "media.m3u8?text=10000")
            let cues = try await ProxyRun.text(try #require(try await ProxyRun.addresses(list).first))
            #expect(cues.contains("A line"))
        }
        #expect(run.codes == [])
        await run.proxy.stop()
    }
}
