// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS
import CarrelJSON
import CarrelTesting
import Testing

/// Playlists that others made, with what another parser made of them.
struct `Playlists found elsewhere` {
    static let names = FixtureFolder.files(
        ["media/playlists", "media/hls", "media/ext", "drm/hls", "drm/marlin"],
        ending: ".m3u8"
    )

    /// Valid by the specification, among them unusual ones.
    static let valid = [
        "hls/aac-packed-bigseq", "hls/aac-packed-explicit-iv", "hls/aac-ts-rot-explicit", "hls/av-ts-implicit-iv",
        "hls/mp3-packed-byterange", "hls/mp3-packed-implicit-iv", "hls/mp3-packed-rot-seq100", "hls/mp3-ts-implicit-iv",
        "hls/sample-aes/iframes", "hls/sample-aes/stream", "playlists/m3u8-parser/absoluteUris",
        "playlists/m3u8-parser/allowCache", "playlists/m3u8-parser/diff-init-key", "playlists/m3u8-parser/disc-sequence",
        "playlists/m3u8-parser/discontinuity", "playlists/m3u8-parser/domainUris", "playlists/m3u8-parser/encrypted",
        "playlists/m3u8-parser/event", "playlists/m3u8-parser/fmp4", "playlists/m3u8-parser/iFramesOnly",
        "playlists/m3u8-parser/media", "playlists/m3u8-parser/missingEndlist", "playlists/m3u8-parser/playlist",
    ]

    /// Invalid on purpose, as their names say.
    static let invalid = [
        "emptyMediaSequence", "emptyPlaylistType", "emptyTargetDuration", "invalidMediaSequence", "invalidPlaylistType",
        "invalidTargetDuration", "manifestExtTTargetdurationNegative", "manifestNoExtM3u", "missingExtinf",
        "missingSegmentDuration", "multipleTargetDurations", "negativeMediaSequence", "streamInfInvalid", "twoMediaSequences",
        "versionInvalid", "headerOnly", "empty",
    ]

    @Test(arguments: invalid)
    func `are refused when they are invalid`(name: String) throws {
        let bytes = try Fixtures.bytes("media/playlists/m3u8-parser/\(name).m3u8")
        #expect(throws: Malformed.self) { try Playlist.parse(bytes.rawSpan) }
    }

    @Test(arguments: valid)
    func `are read as another parser reads them`(name: String) throws {
        let playlist = try media(try Fixtures.bytes("media/\(name).m3u8"))
        let peerBytes = try Fixtures.bytes("media/\(name).m3u8.peer.json")
        let peer = try #require(try JSON.parse(peerBytes.rawSpan)["manifest"])
        let segments = peer["segments"]?.array ?? []
        #expect(playlist.segments.map(Facts.init) == segments.map(Facts.init))
        #expect(Int(playlist.targetDuration) == peer["targetDuration"]?.int)
        #expect(playlist.isEnded == (peer["endList"]?.bool ?? false))
        #expect(try media(try playlist.write()) == playlist)
    }

    /// One line a playlist: strict reading, lenient reading with the kinds of its warnings.
    @Test func `are read or refused as the committed list says`() throws {
        guard Fixtures.directory != nil else { try Test.cancel("CARREL_FIXTURES is not set") }
        var text = ""
        for name in Self.names {
            let bytes = try Fixtures.bytes(name)
            text += "\(name)\n  strict: \(verdict(bytes, .strict))\n  lenient: \(verdict(bytes, .lenient))\n"
        }
        #expect(CommittedList.matches("playlists.txt", text), "playlists.txt is not as committed; UPDATE_GOLDEN=1 accepts it")
    }

    private func verdict(_ bytes: [UInt8], _ strictness: PlaylistStrictness) -> String {
        do throws(Malformed) {
            let reading = try Playlist.read(bytes.rawSpan, strictness: strictness)
            let what =
                switch reading.playlist {
                case .media(let playlist): "media, \(playlist.segments.count) segments"
                case .multivariant(let playlist): "multivariant, \(playlist.variants.count) variants"
                }
            return ([what] + reading.warnings.map { "\($0.code.rawValue) at \($0.offset)" }).joined(separator: "; ")
        } catch {
            return "refused: \(error)"
        }
    }

    @Test func `are the playlists of another parser, but for known differences`() throws {
        guard Fixtures.directory != nil else { try Test.cancel("CARREL_FIXTURES is not set") }
        let reasons = CommittedList.reasons("differences.txt")
        var different: Set<String> = []
        for name in Self.names {
            let path = "\(Fixtures.directory ?? "")/\(name).peer.json"
            guard let peerBytes = Fixtures.bytes(at: path), let peer = try JSON.parse(peerBytes.rawSpan)["manifest"] else {
                continue
            }
            let bytes = try Fixtures.bytes(name)
            let same: Bool
            switch try? Playlist.read(bytes.rawSpan, strictness: .lenient).playlist {
            case .media(let playlist):
                same = playlist.segments.map(Facts.init) == (peer["segments"]?.array ?? []).map(Facts.init)
            case .multivariant(let playlist):
                let variants = playlist.variants.map { "\($0.uri) \($0.bandwidth)" }
                let others = (peer["playlists"]?.array ?? []).map {
                    "\($0["uri"]?.string ?? "") \($0["attributes"]?["BANDWIDTH"]?.int ?? -1)"
                }
                same = variants == others
            case nil: same = false
            }
            if !same { different.insert(name) }
        }
        #expect(different.sorted() == reasons.keys.sorted())
    }

    @Test func `are written again byte for byte`() throws {
        for name in Self.names {
            let bytes = try Fixtures.bytes(name)
            guard let playlist = try? Playlist.read(bytes.rawSpan, strictness: .lenient).playlist else { continue }
            let written: [UInt8] =
                switch playlist {
                case .media(let playlist): try playlist.write()
                case .multivariant(let playlist): try playlist.write()
                }
            #expect(written == bytes || written == bytes + [0x0a], "\(name)")
        }
    }

    @Test func `cut or with a byte changed, are refused or read, and written`() throws {
        var random = SplitMix(seed: 16)
        for name in Self.names {
            var bytes = try Fixtures.bytes(name)
            guard bytes.count < 20_000, !bytes.isEmpty else { continue }
            for _ in 0..<40 {
                let place = Int.random(in: bytes.indices, using: &random)
                let before = bytes[place]
                bytes[place] = UInt8.random(in: 0...255, using: &random)
                let count = Int.random(in: 0...bytes.count, using: &random)
                for strictness in [PlaylistStrictness.strict, .lenient] {
                    let part = Array(bytes.prefix(count))
                    guard let playlist = try? Playlist.read(part.rawSpan, strictness: strictness).playlist else { continue }
                    switch playlist {
                    case .media(let playlist): _ = try playlist.write()
                    case .multivariant(let playlist): _ = try playlist.write()
                    }
                }
                bytes[place] = before
            }
        }
    }

    private static let script = """
        import json, sys, m3u8
        for path in sys.argv[1:]:
            try:
                playlist = m3u8.loads(open(path, encoding="utf-8-sig").read())
                print(json.dumps([[s.uri, s.duration, s.byterange] for s in playlist.segments if s.uri]
                    or [[v.uri, v.stream_info.bandwidth, None] for v in playlist.playlists]))
            except Exception:
                print("null")
        """

    /// A second parser: the Python package m3u8. It makes a segment without an address from parts after the last segment.
    @Test func `equal a second parser's results, except for known differences`() async throws {
        guard Fixtures.directory != nil else { try Test.cancel("CARREL_FIXTURES is not set") }
        let python = "/usr/bin/python3"
        let probe = try await runProcess([python, "-c", "import m3u8"])
        guard probe.status.isSuccess else { try Test.cancel("python3-m3u8 is not installed: nothing to test against") }
        let strict = try Self.names.filter { name in
            let bytes = try Fixtures.bytes(name)
            return (try? Playlist.parse(bytes.rawSpan)) != nil
        }
        let result = try await runProcess([python, "-c", Self.script] + (try strict.map { try Fixtures.path($0) }))
        let lines = result.text.split(separator: "\n")
        try #require(lines.count == strict.count)
        let reasons = CommittedList.reasons("differences-m3u8.txt")
        var different: [String] = []
        for (name, line) in zip(strict, lines) {
            let bytes = try Fixtures.bytes(name)
            let text = Array(line.utf8)
            let peer = (try JSON.parse(text.rawSpan).array ?? []).map { entry in
                let fields = entry.array ?? []
                let number = fields.count > 1 ? fields[1].double ?? -1 : -1
                return
                    "\(fields.first?.string ?? "") \(Int64((number * 1e6).rounded())) \(fields.last?.string?.split(separator: "@").first ?? "")"
            }
            let ours: [String] =
                switch try Playlist.parse(bytes.rawSpan) {
                case .media(let playlist):
                    playlist.segments.map { segment in
                        "\(segment.uri) \(Int64(segment.duration / .microseconds(1))) \(segment.byteRange.map { String($0.length) } ?? "")"
                    }
                case .multivariant(let playlist): playlist.variants.map { "\($0.uri) \($0.bandwidth * 1_000_000) " }
                }
            if ours != peer { different.append(name) }
        }
        #expect(different == reasons.keys.sorted())
    }

    private func media(_ bytes: [UInt8]) throws -> MediaPlaylist {
        guard case .media(let playlist) = try Playlist.parse(bytes.rawSpan) else {
            throw Malformed("playlist is not a media playlist", at: 0)
        }
        return playlist
    }

    /// The properties of a segment that both parsers report.
    struct Facts: Equatable {
        var uri: String?
        var microseconds: Int64?
        var offset: Int?
        var length: Int?
        var key: String?
        var vector: String?
        var discontinuity: Bool

        init(_ segment: MediaSegment) {
            uri = segment.uri
            microseconds = Int64(segment.duration / .microseconds(1))
            offset = segment.byteRange.map { Int($0.offset) }
            length = segment.byteRange.map { Int($0.length) }
            key = segment.keys.first?.uri
            vector = segment.keys.first?.initializationVector.map { Hex.encode($0) }
            discontinuity = segment.discontinuity
        }

        init(_ peer: JSON) {
            uri = peer["uri"]?.string
            microseconds = peer["duration"]?.double.map { Int64(($0 * 1e6).rounded()) }
            offset = peer["byterange"]?["offset"]?.int
            length = peer["byterange"]?["length"]?.int
            key = peer["key"]?["uri"]?.string
            // the peer prints four words in the order of its machine
            let words = peer["key"]?["iv"]?["hex"]?.string.flatMap { Hex.decode($0) }
            vector = words.map { words in Hex.encode(words.indices.map { words[$0 ^ 3] }) }
            discontinuity = peer["discontinuity"]?.bool ?? false
        }
    }
}
