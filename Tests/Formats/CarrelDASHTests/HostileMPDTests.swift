// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH
import CarrelTesting
import Testing

/// MPDs of 8 MB that end with a period whose start is not a duration.
enum HostileMPD: String, CaseIterable, Codable, Sendable {
    case timeline, times, lists, sets, roles, events, eventStreams, clocks, bases, locations, preselections, protections, boxes
    case licenses, cryptoPeriods, unknown, inbandEvents, templates, keyIDs

    private var parts: (head: String, item: (Int) -> String, tail: String) {
        let stream = "<Period><AdaptationSet><Representation id=\"r\" bandwidth=\"1\">"
        let end = "</Representation></AdaptationSet></Period>"
        let timeline = stream + "<SegmentTemplate media=\"$Time$\"><SegmentTimeline>"
        let timelineEnd = "</SegmentTimeline></SegmentTemplate>" + end
        switch self {
        case .timeline: return (timeline, { _ in "<S d=\"1\"/>" }, timelineEnd)
        case .times: return (timeline, { "<S t=\"\($0 * 3)\" d=\"1\"/>" }, timelineEnd)
        case .lists:
            return (stream + "<SegmentList>", { "<SegmentURL media=\"a-longer-address-\($0).m4s\"/>" }, "</SegmentList>" + end)
        case .sets: return ("<Period>", { _ in "<AdaptationSet/>" }, "</Period>")
        case .roles: return ("<Period>", { _ in "<AdaptationSet><Role/></AdaptationSet>" }, "</Period>")
        case .events: return ("<Period><EventStream>", { _ in "<Event/>" }, "</EventStream></Period>")
        case .eventStreams: return ("<Period>", { _ in "<EventStream/>" }, "</Period>")
        case .clocks: return ("", { _ in "<UTCTiming/>" }, "")
        case .bases: return ("", { _ in "<BaseURL/>" }, "")
        case .locations: return ("", { _ in "<Location/>" }, "")
        case .preselections: return ("<Period>", { _ in "<Preselection/>" }, "</Period>")
        case .protections: return ("", { _ in "<ContentProtection/>" }, "")
        case .boxes: return ("<ContentProtection>", { _ in "<pssh>AAAA</pssh>" }, "</ContentProtection>")
        case .licenses: return ("<ContentProtection>", { "<Laurl>\($0)</Laurl>" }, "</ContentProtection>")
        case .cryptoPeriods: return ("<ContentProtection>", { _ in "<CryptoPeriod/>" }, "</ContentProtection>")
        case .unknown: return ("", { _ in "<unknown/>" }, "")
        case .inbandEvents:
            let streams = String(repeating: "<InbandEventStream/>", count: 900)
            return (
                "<Period><AdaptationSet>", { _ in "<Representation>\(streams)</Representation>" }, "</AdaptationSet></Period>"
            )
        case .templates:
            return (
                "<Period>", { _ in "<AdaptationSet><SegmentTemplate media=\"$Number$\"/><Representation/></AdaptationSet>" },
                "</Period>"
            )
        case .keyIDs:
            let ids = (0..<100).map { String(repeating: "\($0 % 10)", count: 32) }.joined(separator: " ")
            return (
                "<Period>", { _ in "<AdaptationSet><ContentProtection default_KID=\"\(ids)\"/></AdaptationSet>" }, "</Period>"
            )
        }
    }

    func make() -> [UInt8] {
        let (head, item, tail) = parts
        var bytes: [UInt8] = []
        bytes.reserveCapacity(8 << 20 + 65_536)
        bytes += Array("<MPD>\(head)".utf8)
        var items: [UInt8] = []
        var number = 0
        while items.count < 1 << 18 {
            items += Array(item(number).utf8)
            number += 1
        }
        while bytes.count < 8 << 20 { bytes += items }
        return bytes + Array("\(tail)<Period start=\"x\"/></MPD>".utf8)
    }

    /// Reads it in this process, and prints what that costs.
    func measure() {
        let bytes = make()
        PeakCost.measure {
            do { _ = try MPD.parse(bytes.rawSpan) } catch { return }
            fatalError("a hostile MPD was read")
        }
    }
}

@Suite(.serialized) struct `Hostile MPDs` {
    @Test(arguments: HostileMPD.allCases)
    func `are refused in little time and memory`(mpd: HostileMPD) async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [mpd = mpd as HostileMPD] in
            mpd.measure()
        }
        let cost = try #require(PeakCost(output: result.standardOutputContent))
        guard !PeakCost.isSanitized else { return }
        #expect(cost.seconds < PeakCost.refusalSeconds && cost.mebibytes < 32, "\(cost)")
    }

    @Test(arguments: ["bases", "templates", "ids"]) func `with addresses that multiply are refused`(kind: String) async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [kind = kind as String] in
            let long = String(repeating: "a", count: 400_000)
            let base = kind == "bases" ? "<BaseURL>\(long)/</BaseURL>" : ""
            let ids = kind == "templates" ? String(repeating: "$RepresentationID$", count: 20_000) : "$RepresentationID$"
            let template = "<SegmentTemplate media=\"\(ids)$Number$\" duration=\"1\"/>"
            let id = kind == "templates" ? String(repeating: "b", count: 20_000) : "b"
            let first = kind == "ids" ? "<Representation id=\"\(long)\"/>" : ""
            let item = "<Representation id=\"\(id)\"><BaseURL>c/</BaseURL></Representation>"
            let items = String(repeating: item, count: kind == "templates" ? 100 : 5000)
            let text =
                "<MPD>\(base)<Period>\(base)<AdaptationSet>\(base)\(template)<Representation id=\"a\"/>\(first)\(items)</AdaptationSet></Period></MPD>"
            let bytes = Array(text.utf8)
            PeakCost.measure {
                guard (try? MPD.parse(bytes.rawSpan))?.streams(url: "https://media.example/a.mpd") == nil else {
                    fatalError("a hostile MPD was read")
                }
            }
        }
        let cost = try #require(PeakCost(output: result.standardOutputContent))
        guard !PeakCost.isSanitized else { return }
        #expect(cost.seconds < PeakCost.refusalSeconds && cost.mebibytes < 32, "\(cost)")
    }

    @Test func `have room for a day of segments of two seconds in four streams`() throws {
        let timeline = (0..<43_200).map { "<S t=\"\($0 * 200)\" d=\"\(199 + $0 % 2)\"/>" }.joined()
        let set =
            "<AdaptationSet><SegmentTemplate media=\"$Time$\" timescale=\"100\"><SegmentTimeline>\(timeline)</SegmentTimeline></SegmentTemplate>"
            + "<Representation id=\"r\" bandwidth=\"1\"/></AdaptationSet>"
        let bytes = Array("<MPD><Period>\(set)\(set)\(set)\(set)</Period></MPD>".utf8)
        let mpd = try MPD.parse(bytes.rawSpan)
        #expect(try mpd.streams().map { try $0.segments().count } == Array(repeating: 43_200, count: 4))
    }
}
