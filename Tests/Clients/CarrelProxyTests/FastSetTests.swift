// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH
import Testing

@testable import CarrelPresentation
@testable import CarrelProxy

struct `Sets of an MPD for fast play` {
    private static let scheme = "http://dashif.org/guidelines/trickmode"

    /// A set of pictures, for fast play of the sets that it names.
    private static func set(_ id: String, for mains: String? = nil) -> String {
        let property = mains.map { "<EssentialProperty schemeIdUri=\"\(scheme)\" value=\"\($0)\"/>" } ?? ""
        return """
            <AdaptationSet id="\(id)" mimeType="video/mp4" contentType="video">\(property)\
            <SegmentTemplate media="$Number$.m4s" initialization="init.mp4" duration="2"/>\
            <Representation id="r\(id)" bandwidth="1" codecs="avc1.64000C"/></AdaptationSet>
            """
    }

    private static func manifest(_ sets: some Sequence<String>) throws -> Manifest {
        let period = "<Period duration=\"PT10S\">\(sets.joined())</Period>"
        let bytes = Array("<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\">\(period)</MPD>".utf8)
        return Manifest(try MPD.parse(bytes.rawSpan), url: "http://made.example/made.mpd", requested: .now)
    }

    private static func pictures(_ manifest: Manifest) throws -> [OfferedTrack] {
        var wishes = TrackWishes()
        wishes.hasPictureLists = true
        return try DASHTracks(manifest, wishes).plan.pictures
    }

    @Test func `are for the sets that they name, or for all`() throws {
        let main = try Self.manifest([Self.set("1"), Self.set("2"), Self.set("3", for: " 2 1  2 9")])
        #expect(try Self.pictures(main).map(\.mains) == [[0, 1]])
        let all = try Self.manifest([Self.set("1"), Self.set("2", for: "")])
        #expect(try Self.pictures(all).map(\.mains) == [nil] && Self.pictures(all).map(\.kind) == [.pictures])
        // the others' are taken from the video that is played
        let other = try Self.manifest([Self.set("1"), Self.set("2"), Self.set("3", for: "2")])
        #expect(try Self.pictures(other).map(\.kind) == [.video])
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["", "1"])
    func `do not multiply with the sets that they are for`(mains: String) throws {
        // the ids of all sets are the same
        let sets = (0..<3000).map { _ in Self.set("1") } + (0..<2000).map { _ in Self.set("f", for: mains) }
        let manifest = try Self.manifest(sets)
        // without the limit, two thousand sets of three thousand numbers each are made
        #expect(try Self.pictures(manifest).count == TrackPlan.limit)
    }

    @Test func `are not looked at for a player that has left`() async throws {
        let manifest = try Self.manifest([Self.set("1")])
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            _ = try Self.pictures(manifest)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
