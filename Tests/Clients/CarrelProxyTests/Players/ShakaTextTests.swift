// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import Testing

struct `Subtitles of Shaka Packager` {
    private static let text =
        "WEBVTT\n\n00:00:01.000 --> 00:00:03.000\nFirst words\n\n00:00:05.000 --> 00:00:06.500\nSecond words\n"

    @Test(arguments: ["", ",format=ttml+mp4"], [PlaylistProxy.Output.transportStream, .fragments])
    func `in fragments of WebVTT and of TTML go out as WebVTT`(format: String, output: PlaylistProxy.Output) async throws {
        let package = try await ShakaPackage(
            "cenc",
            .numbers,
            texts: [
                (
                    "words.vtt", Array(Self.text.utf8),
                    "language=de,init_segment={}/text-i.mp4,segment_template={}/text-$Number$.m4s\(format)"
                )
            ]
        )
        let origin = try package.serve()
        let run = try ProxyRun { $0.output = output }
        let session = try run.proxy.makeURL("\(origin.origin)/\(ShakaPackage.manifest)", .dash, keys: ShakaPackage.keys)
        let top = try await ProxyRun.text(session.url)
        let line = try #require(top.split(separator: "\n").first { $0.contains("TYPE=SUBTITLES") }, "\(top)")
        #expect(line.contains("LANGUAGE=\"de\""))
        let uri = try #require(line.split(separator: "URI=\"").last?.split(separator: "\"").first)
        var texts: [String] = []
        for address in try await ProxyRun.addresses(URIReference.resolve(String(uri), against: session.url)) {
            let got = try await ProxyRun.get(address)
            #expect(got.status == 200 && got.headers["Content-Type"]?.hasPrefix("text/vtt") == true)
            texts.append(String(decoding: got.body, as: UTF8.self))
        }
        let all = texts.joined()
        #expect(texts.allSatisfy { $0.hasPrefix("WEBVTT") })
        #expect(all.contains("00:00:01.000 --> 00:00:02.000") || all.contains("00:00:01.000 --> 00:00:03.000"), "\(all)")
        #expect(all.contains("First words") && all.contains("Second words"), "\(all)")
        #expect(run.codes == [])
        await run.proxy.stop()
        await origin.stop()
    }
}
