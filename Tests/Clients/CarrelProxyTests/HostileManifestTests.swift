// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelBytes
import CarrelDASH
import CarrelHTTPClient
import CarrelMP4
import CarrelTesting
import CarrelThreads
import Testing

@testable import CarrelMediaSource
@testable import CarrelPresentation
@testable import CarrelProxy

struct `A manifest with numbers that no clock counts` {
    private let origin = MadeOrigin()

    private static func text(_ attributes: String, _ inner: String) -> String {
        "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" minBufferTime=\"PT2S\" \(attributes)>\(inner)</MPD>"
    }

    private static func manifest(_ attributes: String, _ inner: String) throws -> Manifest {
        let bytes = Array(text(attributes, inner).utf8)
        return Manifest(try MPD.parse(bytes.rawSpan, limit: bytes.count), url: "http://made.example/made.mpd", requested: .now)
    }

    private static func set(_ kind: String, _ codecs: String, _ inner: String) -> String {
        """
        <AdaptationSet mimeType="\(kind)/mp4" contentType="\(kind)">\(inner)\
        <Representation id="\(kind)" bandwidth="1" codecs="\(codecs)"/></AdaptationSet>
        """
    }

    private static func template(_ attributes: String, _ inner: String = "") -> String {
        "<SegmentTemplate media=\"$Number$.m4s\" initialization=\"init.mp4\" \(attributes)>\(inner)</SegmentTemplate>"
    }

    @Test func `is not spent while its last segment lasts`() throws {
        let segments = Self.template("duration=\"4000000000000000000\" endNumber=\"1\"")
        let manifest = try Self.manifest(
            "type=\"dynamic\" availabilityStartTime=\"2026-01-01T00:00:00Z\" minimumUpdatePeriod=\"PT10S\"",
            "<Period start=\"PT0S\">\(Self.set("video", "avc1.64000C", segments))</Period>"
        )
        let stream = try #require(manifest.mpd.periods.first?.adaptationSets.first)
        let track = Manifest.Track(representation: stream.representations[0], set: stream)
        #expect(try #require(try manifest.spentTime(of: [track])) > .now())
    }

    @Test func `has pictures and audio that drift apart`() async throws {
        let audio = Self.template("timescale=\"1\"", "<SegmentTimeline><S t=\"0\" d=\"2\" r=\"999\"/></SegmentTimeline>")
        let sets =
            Self.set("video", "avc1.64000C", Self.template("duration=\"900000000000000000\""))
            + Self.set("audio", "mp4a.40.2", audio)
        origin.put(
            "0",
            Self.text(
                "type=\"dynamic\" availabilityStartTime=\"2026-01-01T00:00:00Z\" minimumUpdatePeriod=\"PT10S\"",
                "<Period start=\"PT0S\">\(sets)</Period>"
            )
        )
        let run = try ProxyRun()
        let top = try await ProxyRun.text(try run.proxy.makeURL(origin.url("0"), .dash).url)
        #expect(top.contains("TYPE=AUDIO"), "\(top)")
        await run.proxy.stop()
    }

    @Test func `has as many long periods as it wants`() throws {
        let manifest = try Self.manifest(
            "type=\"static\"",
            String(repeating: "<Period duration=\"P12725000D\"/>", count: 9000)
        )
        #expect(manifest.name(ofPeriod: 0) == 0)
        #expect(manifest.name(ofPeriod: 8999) == 1000 << 40)
    }

    @Test func `has an index of the far future`() async throws {
        var writer = BoxWriter()
        let reference = SegmentIndexBox.Reference(size: 1000, duration: .max)
        SegmentIndexBox(trackID: 1, timescale: 1, earliestTime: 1 << 60, references: [reference]).write(to: &writer)
        origin.put("0", writer.bytes)
        let media = try MediaOrigin(origin.url("0"), client: HTTPClient(), fields: [:], MediaOrigin.Permissions())
        let index = try await IndexCache(media, SessionThreads.forTests).index(at: origin.url("0"), 0..<Int64(writer.bytes.count))
        let set = Self.set("video", "avc1.64000C", "<SegmentBase indexRange=\"0-99\"/>")
        let manifest = try Self.manifest("type=\"static\"", "<Period duration=\"PT10S\">\(set)</Period>")
        let stream = try #require(manifest.mpd.streams(url: manifest.url).first)
        let place = try #require(SegmentPlaces(index, of: stream).places.first)
        #expect(Int64(place.end / .milliseconds(1)) < 1 << 62)
    }
}
