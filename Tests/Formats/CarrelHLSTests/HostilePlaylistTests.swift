// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS
import CarrelTesting
import Testing

/// Playlists of 8 MB that end with a line which no playlist of their kind has.
enum HostilePlaylist: String, CaseIterable, Codable, Sendable {
    case plain, titles, keys, richKeys, keyAttributes, dateRanges, longDateRanges, parts, hints, sharedKeys
    case variants, longVariants, renditions, sessionData

    private var isMultivariant: Bool { [.variants, .longVariants, .renditions, .sessionData].contains(self) }

    private func item(_ number: Int) -> String {
        let many = (0..<60).map { "X\($0)=1" }.joined(separator: ",")
        switch self {
        case .plain: return "#EXTINF:10.004898,\nsegments/title-\(number).ts\n"
        case .titles: return "#EXTINF:1,a title that is long enough \(number)\ns\(number)\n"
        case .keys: return "#EXT-X-KEY:METHOD=AES-128,URI=\"k\"\n#EXTINF:1,\na\n"
        case .richKeys:
            return "#EXT-X-KEY:METHOD=AES-128,URI=\"https://k.example/\(number)\",IV=0x00000000000000000000000000000001\n"
                + "#EXT-X-PROGRAM-DATE-TIME:2020-01-15T18:58:53.977Z\n#EXTINF:10.004898,\n#EXT-X-BYTERANGE:9@\(number)\nhttps://m.example/a\n"
        case .sharedKeys:
            // one key changes, and two segments share it with 59 others
            let others = (1..<60).map { "#EXT-X-KEY:METHOD=AES-128,URI=\"a-longer-address\",KEYFORMAT=\"\($0)\"\n" }.joined()
            return (number == 0 ? others : "") + "#EXT-X-KEY:METHOD=AES-128,URI=\"k\"\n#EXTINF:1,\na\n#EXTINF:1,\na\n"
        case .keyAttributes: return "#EXT-X-KEY:METHOD=AES-128,URI=\"k\",\(many)\n#EXTINF:1,\na\n"
        case .dateRanges: return "#EXT-X-DATERANGE:A=1\n"
        case .longDateRanges: return "#EXT-X-DATERANGE:\(many)\n"
        case .parts: return "#EXT-X-PART:URI=\"a\",DURATION=1\n"
        case .hints: return "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"a\"\n"
        case .variants: return "#EXT-X-STREAM-INF:BANDWIDTH=1\na\n"
        case .longVariants: return "#EXT-X-STREAM-INF:BANDWIDTH=1,\(many)\na\n"
        case .renditions: return "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"\(number)\"\n"
        case .sessionData: return "#EXT-X-SESSION-DATA:DATA-ID=\"\(number)\",VALUE=\"\"\n"
        }
    }

    func make() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(8 << 20 + 65_536)
        bytes += Array("#EXTM3U\n#EXT-X-VERSION:7\n".utf8)
        if !isMultivariant { bytes += Array("#EXT-X-TARGETDURATION:11\n".utf8) }
        // session data must differ; for the rest it is enough that many do
        let length = self == .sessionData ? 3 << 20 : 1 << 18
        var items: [UInt8] = []
        var number = 0
        while items.count < length {
            items += Array(item(number).utf8)
            number += 1
        }
        repeat { bytes += items } while bytes.count < 8 << 20
        return bytes + Array((isMultivariant ? "#EXTINF:1,\na\n" : "#EXT-X-STREAM-INF:BANDWIDTH=1\na\n").utf8)
    }

    /// Reads it in this process, and prints what that costs.
    func measure(_ strictness: PlaylistStrictness) {
        let bytes = make()
        PeakCost.measure {
            do { _ = try Playlist.read(bytes, strictness: strictness) } catch { return }
            fatalError("a hostile playlist was read")
        }
    }
}

@Suite(.serialized) struct `Hostile playlists` {
    @Test(arguments: HostilePlaylist.allCases)
    func `are refused in little time and memory`(playlist: HostilePlaylist) async throws {
        let strict = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [playlist = playlist as HostilePlaylist] in
            playlist.measure(.strict)
        }
        let lenient = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [playlist = playlist as HostilePlaylist] in
            playlist.measure(.lenient)
        }
        for result in [strict, lenient] {
            let cost = try #require(PeakCost(output: result.standardOutputContent))
            guard !PeakCost.isSanitized else { continue }
            #expect(cost.seconds < PeakCost.refusalSeconds && cost.mebibytes < 32, "\(cost)")
        }
    }

    @Test func `beyond 64 MiB are refused unread`() {
        let bytes = [UInt8](repeating: 0x0a, count: 64 << 20 + 1)
        #expect(throws: Malformed("playlist is longer than 67108864 bytes", at: 64 << 20)) { try Playlist.read(bytes) }
    }
}

struct `Keys of a playlist` {
    /// A playlist whose segments have keys, ranges, dates and titles of their own.
    private static let text = """
        #EXTM3U
        #EXT-X-VERSION:7
        #EXT-X-TARGETDURATION:10
        #EXT-X-KEY:METHOD=AES-128,URI="a",IV=0x1
        #EXT-X-PROGRAM-DATE-TIME:2020-01-15T18:58:53.977Z
        #EXTINF:1,one
        #EXT-X-BYTERANGE:10@5
        s
        #EXT-X-KEY:METHOD=SAMPLE-AES,URI="b",KEYFORMAT="com.example",KEYFORMATVERSIONS="1/2",CID="x"
        #EXTINF:2,
        #EXT-X-BYTERANGE:10
        s
        #EXTINF:3,
        t
        #EXT-X-MAP:URI="init"
        #EXT-X-KEY:METHOD=AES-128,URI="c",KEYFORMAT="identity"
        #EXT-X-BITRATE:800
        #EXTINF:4,
        u
        #EXT-X-KEY:METHOD=NONE
        #EXTINF:5,
        v
        #EXT-X-ENDLIST

        """

    private static func read(_ text: String, _ strictness: PlaylistStrictness = .strict) throws -> MediaPlaylist {
        guard case .media(let playlist) = try Playlist.read(Array(text.utf8), strictness: strictness).playlist else {
            throw Malformed("playlist is not one of segments", at: 0)
        }
        return playlist
    }

    @Test func `are the same whether they are read with the playlist or when they are asked for`() throws {
        let late = try Self.read(Self.text)
        // a lenient reader and one of variables read them with the playlist
        let lenient = try Self.read(Self.text, .lenient)
        let defined = try Self.read(Self.text.replacing("VERSION:7\n", with: "VERSION:8\n#EXT-X-DEFINE:NAME=\"n\",VALUE=\"v\"\n"))
        let between = try Self.read(
            Self.text.replacing("#EXTINF:3,", with: "#EXT-X-DEFINE:NAME=\"n\",VALUE=\"v\"\n#EXTINF:3,").replacing(
                "VERSION:7",
                with: "VERSION:8"
            )
        )
        for other in [lenient, defined, between] { #expect(other.segments == late.segments) }
        #expect(late.segments.map { $0.keys.map(\.uri) } == [["a"], ["a", "b"], ["a", "b"], ["c", "b"], []])
        #expect(late.segments[1].keys[1].contentID == "x" && late.segments[1].keys[1].keyFormatVersions == "1/2")
        #expect(late.segments[0].keys[0].initializationVector == [UInt8](repeating: 0, count: 15) + [1])
        #expect(late.segments[3].initialization?.keys.map(\.uri) == ["a", "b"])
        #expect(late.segments.map(\.bitrate) == [nil, nil, nil, 800, 800])
        #expect(late.segments.map(\.title) == ["one", "", "", "", ""])
        #expect(late.segments[0].programDateTime == "2020-01-15T18:58:53.977Z")
        #expect(late.segments[1].byteRange == .init(offset: 15, length: 10))
        #expect(try late.write() == Array(Self.text.utf8))
        #expect(late.startTimes == [0, 1, 3, 6, 10].map { .seconds($0) } && late.duration == .seconds(15))
    }

    @Test(arguments: [
        "METHOD=AES-128", "URI=\"a\"", "METHOD=AES-128,URI=\"\"", "METHOD=AES-128,URI=a", "METHOD=\"AES-128\",URI=\"a\"",
        "METHOD=NONE,URI=\"a\"", "METHOD=AES-128,URI=\"a\",IV=1", "METHOD=AES-128,URI=\"a\",IV=0x",
        "METHOD=AES-128,URI=\"a\",IV=\"0x1\"",
        "METHOD=AES-128,URI=\"a\",IV=0x\(String(repeating: "0", count: 33))", "METHOD=AES-128,URI=\"a\",IV=0xg",
        "METHOD=AES-128,URI=\"a\",KEYFORMAT=b", "METHOD=AES-128,URI=\"a\",KEYFORMATVERSIONS=1",
        "METHOD=AES-128,METHOD=AES-128,URI=\"a\"",
        "METHOD=AES-128,URI=\"a\",", "METHOD=AES-128,URI=\"a\" ,IV=0x1", "",
    ])
    func `that are malformed are refused with the playlist`(attributes: String) throws {
        let head = "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:1\n"
        let error = #expect(throws: Malformed.self) {
            try Self.read(head + "#EXT-X-KEY:\(attributes)\n#EXTINF:1,\na\n#EXT-X-ENDLIST\n")
        }
        #expect(error?.offset == head.utf8.count)
    }

    @Test func `of versions that are too low are refused at their line`() throws {
        for (attribute, version) in [("IV=0x1", 2), ("KEYFORMAT=\"a\"", 5), ("KEYFORMATVERSIONS=\"1\"", 5)] {
            func text(_ version: Int) -> String {
                "#EXTM3U\n#EXT-X-VERSION:\(version)\n#EXT-X-TARGETDURATION:1\n#EXT-X-KEY:METHOD=AES-128,URI=\"a\",\(attribute)\n#EXTINF:1,\na\n"
            }
            #expect(throws: Never.self) { try Self.read(text(version)) }
            #expect(throws: Malformed.self) { try Self.read(text(version - 1)) }
        }
    }
}
