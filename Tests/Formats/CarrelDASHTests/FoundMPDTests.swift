// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH
import CarrelJSON
import CarrelTesting
import Testing

/// MPDs that others made, with what another parser made of them.
struct `MPDs found elsewhere` {
    static let names = FixtureFolder.files(
        ["media/mpd", "media/dash", "media/ext", "drm/marlin", "drm/clearkey"],
        ending: ".mpd"
    )

    /// The instant at which the peer read dynamic MPDs.
    static let now = Instant(milliseconds: 1_700_000_000_000)

    private func address(_ name: String) -> String {
        name.hasPrefix("media/dash/") ? "http://127.0.0.1:8091/dash/x/manifest.mpd" : "https://example.com/dash/manifest.mpd"
    }

    @Test func `are read or refused as the committed list says`() throws {
        guard Fixtures.directory != nil else { try Test.cancel("CARREL_FIXTURES is not set") }
        var text = ""
        for name in Self.names {
            let bytes = try Fixtures.bytes(name)
            text += "\(name): \(verdict(bytes))\n"
        }
        #expect(CommittedList.matches("mpds.txt", text), "mpds.txt is not as committed; UPDATE_GOLDEN=1 accepts it")
    }

    private func verdict(_ bytes: [UInt8]) -> String {
        do throws(Malformed) {
            let mpd = try MPD.parse(bytes.rawSpan)
            let streams = mpd.streams()
            var (all, available, first, last) = (0, 0, Duration.zero, Duration.zero)
            var endless = 0
            for stream in streams {
                let segments = try stream.segments()
                if let count = segments.count { all += count } else { endless += 1 }
                available += segments.available(in: mpd, at: Self.now).count
                if let count = segments.count, count > 0 {
                    first = max(first, segments[0]?.start ?? .zero)
                    last = max(last, segments[count - 1]?.start ?? .zero)
                }
            }
            let systems = Set(streams.flatMap { $0.properties.contentProtections.compactMap(\.system?.rawValue) }).sorted()
            let keys = Set(streams.flatMap(\.keyIDs)).count
            return "\(mpd.kind.rawValue), \(mpd.periods.count) periods, \(streams.count) representations, \(all) segments"
                + (endless > 0 ? " and \(endless) without an end" : "") + (available != all ? ", \(available) available" : "")
                + ", from \(first) to \(last)" + (systems.isEmpty ? "" : ", \(keys) keys of \(systems.joined(separator: " "))")
        } catch {
            return "refused: \(error)"
        }
    }

    @Test func `have the segments that another parser finds, but for known differences`() throws {
        guard Fixtures.directory != nil else { try Test.cancel("CARREL_FIXTURES is not set") }
        let reasons = CommittedList.reasons("differences.txt")
        var different: Set<String> = []
        for name in Self.names {
            guard let peerBytes = Fixtures.bytes(at: "\(Fixtures.directory ?? "")/\(name).peer.json") else { continue }
            let file = try JSON.parse(peerBytes.rawSpan, limits: JSONLimits(byteCount: 1 << 26))
            let bytes = try Fixtures.bytes(name)
            guard let mpd = try? MPD.parse(bytes.rawSpan) else {
                if file["peer_error"] == nil { different.insert(name) }
                continue
            }
            guard file["peer_error"] == nil else { continue }
            let peer = Self.facts(file["manifest"] ?? file)
            var (all, available): (Set<Fact>, Set<Fact>) = ([], [])
            for stream in mpd.streams(url: address(name)) {
                let segments = try stream.segments()
                let range = segments.available(in: mpd, at: Self.now)
                for index in range { if let segment = segments[index] { available.insert(Fact(stream, segment)) } }
                for index in 0..<(segments.count ?? 0) { if let segment = segments[index] { all.insert(Fact(stream, segment)) } }
            }
            // the peer lists all that a timeline has, whenever it is
            if peer != available, peer != all { different.insert(name) }
        }
        #expect(different.sorted() == reasons.keys.sorted())
    }

    /// Everything that the peer's playlists say about segments.
    private static func facts(_ manifest: JSON) -> Set<Fact> {
        var playlists = manifest["playlists"]?.array ?? []
        for (_, kind) in manifest["mediaGroups"]?.object ?? [:] {
            for (_, group) in kind.object ?? [:] {
                for (_, label) in group.object ?? [:] { playlists += label["playlists"]?.array ?? [] }
            }
        }
        var facts: Set<Fact> = []
        for playlist in playlists {
            for segment in playlist["segments"]?.array ?? [] {
                facts.insert(Fact(playlist["attributes"]?["NAME"]?.string ?? "", segment))
            }
        }
        return facts
    }

    struct Fact: Hashable {
        var representation: String
        var url: String
        var start: Int64?
        var duration: Int64?

        init(_ stream: MPDStream, _ segment: MPDSegment) {
            representation = stream.id
            url = segment.url
            start = Int64((segment.start / .microseconds(1)).rounded() / 1000)
            duration = segment.duration.map { Int64(($0 / .microseconds(1)).rounded() / 1000) }
        }

        init(_ representation: String, _ peer: JSON) {
            self.representation = representation
            url = peer["resolvedUri"]?.string ?? ""
            start = peer["presentationTime"]?.double.map { Int64(($0 * 1e6).rounded() / 1000) }
            duration = peer["duration"]?.double.map { Int64(($0 * 1e6).rounded() / 1000) }
        }
    }

    @Test func `are the same when they are written and read again`() throws {
        for name in Self.names {
            let bytes = try Fixtures.bytes(name)
            guard let mpd = try? MPD.parse(bytes.rawSpan) else { continue }
            let written = mpd.write()
            let again = try MPD.parse(written.rawSpan)
            #expect(again == mpd, "\(name)")
        }
    }

    @Test func `cut or with a byte changed, are refused or read`() throws {
        var random = SplitMix(seed: 16)
        for name in Self.names {
            var bytes = try Fixtures.bytes(name)
            guard bytes.count < 12_000 else { continue }
            for _ in 0..<12 {
                let place = Int.random(in: bytes.indices, using: &random)
                let before = bytes[place]
                bytes[place] = UInt8.random(in: 0x20...0x7e, using: &random)
                for count in [bytes.count, Int.random(in: 0...bytes.count, using: &random)] {
                    let part = Array(bytes.prefix(count))
                    guard let mpd = try? MPD.parse(part.rawSpan) else { continue }
                    for stream in mpd.streams() {
                        guard let segments = try? stream.segments() else { continue }
                        _ = segments[0]
                        _ = segments.available(in: mpd, at: Self.now)
                        if let count = segments.count { _ = segments[count - 1] }
                    }
                }
                bytes[place] = before
            }
        }
    }
}
