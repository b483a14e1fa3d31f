// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH
import Testing

private func read(_ text: String) throws -> MPD {
    let bytes = Array(text.utf8)
    return try MPD.parse(bytes.rawSpan)
}

private func stream(_ information: String, mpd: String = "", period: String = "duration=\"PT100S\"") throws -> MPDSegments {
    let mpd = try read(
        "<MPD \(mpd)><Period \(period)><AdaptationSet><Representation id='r' bandwidth='1'>\(information)</Representation>"
            + "</AdaptationSet></Period></MPD>"
    )
    return try #require(mpd.streams().first).segments()
}

struct `The segment at a time` {
    /// The first that has not ended, found one by one.
    private static func search(_ segments: MPDSegments, _ time: Duration) -> Int? {
        var index = 0
        while let segment = segments[index] {
            if let duration = segment.duration, segment.start + duration <= time,
                segments[index + 1].map({ $0.start <= time }) ?? true
            {
                index += 1
                continue
            }
            guard let duration = segment.duration, segment.start + duration <= time else { return index }
            return index + 1
        }
        return nil
    }

    @Test(arguments: [
        "<SegmentTemplate media='$Number$' timescale='3' duration='7'/>",
        "<SegmentTemplate media='$Number$$SubNumber$' timescale='3' duration='7' k='5'/>",
        "<SegmentTemplate media='$Number$' timescale='90000' presentationTimeOffset='77' duration='180180'/>",
        "<SegmentTemplate media='$Time$' timescale='3' presentationTimeOffset='30'><SegmentTimeline><S t='30' d='7' r='3'/><S d='2'/><S t='90' d='4' r='-1'/><S t='110' d='1'/></SegmentTimeline></SegmentTemplate>",
        "<SegmentTemplate media='$Time$$SubNumber$' timescale='7'><SegmentTimeline><S t='0' d='9' r='9' k='4'/><S d='11' k='2'/></SegmentTimeline></SegmentTemplate>",
        "<SegmentList duration='3'><SegmentURL media='a'/><SegmentURL media='b'/><SegmentURL media='c'/></SegmentList>",
        "<SegmentBase/>",
    ])
    func `is found as by a search from the beginning`(information: String) throws {
        let segments = try stream(information, period: "start=\"PT5S\" duration=\"PT50S\"")
        for step in -20..<700 {
            let time = Duration.milliseconds(step * 100 + 33)
            #expect(segments.index(at: time) == Self.search(segments, time), "\(time)")
        }
        for index in 0..<(segments.count ?? 0) {
            let segment = try #require(segments[index])
            #expect(segments.index(at: segment.start) == index)
        }
    }

    @Test func `is found among a billion, and without an end`() throws {
        let many = try stream(
            "<SegmentTemplate media='$Time$'><SegmentTimeline><S t='0' d='2' r='999999999'/></SegmentTimeline></SegmentTemplate>",
            period: ""
        )
        #expect(many.index(at: .seconds(1_999_999_999)) == 999_999_999)
        #expect(many.index(at: .seconds(2_000_000_000)) == nil)
        let endless = try stream(
            "<SegmentTemplate media='$Number$' duration='2'/>",
            mpd: "type='dynamic'",
            period: "start='PT0S'"
        )
        #expect(endless.index(at: .seconds(1_999_999_999)) == 999_999_999)
    }

    @Test func `of numbers at the edge of their range never traps`() throws {
        for time in ["4611686018427387902", "-4611686018427387902"] {
            for duration in ["1", "4611686018427387903", "2305843009213693951"] {
                let found = try? stream(
                    "<SegmentTemplate media='$Time$'><SegmentTimeline><S t='\(time)' d='\(duration)'/></SegmentTimeline></SegmentTemplate>"
                )
                for at in [Duration.zero, .seconds(Int64.max), .seconds(Int64.min), .seconds(1 << 40), .seconds(-1 << 61)] {
                    _ = found?.index(at: at)
                }
            }
        }
    }
}

struct `A live MPD` {
    private static let attributes = "type='dynamic' availabilityStartTime='1970-01-01T00:00:00Z'"

    private static func at(_ seconds: Int64) -> Instant { Instant(milliseconds: seconds * 1000) }

    @Test func `has a window from its buffer to the edge`() throws {
        let mpd = try read(
            "<MPD \(Self.attributes) timeShiftBufferDepth='PT30S' suggestedPresentationDelay='PT6S'><Period start='PT10S'/></MPD>"
        )
        #expect(mpd.window(at: Self.at(5), mpd.timings) == nil)
        #expect(mpd.window(at: Self.at(20), mpd.timings) == .seconds(10)..<Duration.seconds(20))
        #expect(mpd.window(at: Self.at(100), mpd.timings) == .seconds(70)..<Duration.seconds(100))
        #expect(mpd.startTime(at: Self.at(100), mpd.timings, delay: .seconds(9)) == .seconds(94))
        #expect(mpd.startTime(at: Self.at(12), mpd.timings, delay: .zero) == .seconds(10))
        let ended = try read("<MPD \(Self.attributes) mediaPresentationDuration='PT40S'><Period start='PT0S'/></MPD>")
        #expect(ended.window(at: Self.at(100), ended.timings) == .zero..<Duration.seconds(40))
        #expect(ended.startTime(at: Self.at(100), ended.timings, delay: .seconds(9)) == .seconds(40))
        let closed = try read("<MPD \(Self.attributes) availabilityEndTime='1970-01-01T00:00:50Z'><Period start='PT0S'/></MPD>")
        #expect(closed.window(at: Self.at(100), closed.timings) == .zero..<Duration.seconds(50))
        let whole = try read("<MPD mediaPresentationDuration='PT40S'><Period/></MPD>")
        #expect(whole.window(at: Self.at(0), whole.timings) == .zero..<Duration.seconds(40))
        #expect(whole.startTime(at: Self.at(0), whole.timings, delay: .seconds(9)) == .zero)
    }

    @Test func `is loaded again as it says, and where`() throws {
        #expect(try read("<MPD \(Self.attributes) minimumUpdatePeriod='PT2S'/>").reload == .after(.seconds(2)))
        #expect(try read("<MPD \(Self.attributes) minimumUpdatePeriod='PT0S'/>").reload == .whenNeeded)
        #expect(try read("<MPD \(Self.attributes)/>").reload == .never)
        #expect(try read("<MPD minimumUpdatePeriod='PT2S'/>").reload == .never)
        let moved = try read("<MPD><Location> ../b/m.mpd </Location><Location>c</Location></MPD>")
        #expect(moved.location(url: "https://h/a/m.mpd?x") == "https://h/b/m.mpd")
        #expect(try read("<MPD/>").location(url: "https://h/a/m.mpd?x") == "https://h/a/m.mpd?x")
    }

    @Test func `has periods by their times`() throws {
        let mpd = try read(
            "<MPD \(Self.attributes)><Period start='PT0S' duration='PT5S'/><Period start='PT10S'/><Period start='PT20S'/><Period id='e'/></MPD>"
        )
        let timings = mpd.timings
        #expect([-1, 0, 4, 5, 9, 10, 19, 20, 900].map { timings.index(at: .seconds($0)) } == [nil, 0, 0, nil, nil, 1, 1, 2, 2])
        // a period that is announced does not end the one before
        #expect(timings.map(\.isEarly) == [false, false, false, true])
        #expect(timings[2].duration == nil && mpd.end(timings) == nil)
    }

    @Test func `has no segments of a period whose start is not known`() throws {
        let set =
            "<AdaptationSet><Representation id='r' bandwidth='1'><SegmentTemplate media='$Number$' duration='2'/></Representation></AdaptationSet>"
        let mpd = try read("<MPD \(Self.attributes)><Period start='PT0S'>\(set)</Period><Period>\(set)</Period></MPD>")
        let streams = mpd.streams()
        #expect(try streams[0].segments().available(in: mpd, at: Self.at(11)) == 0..<5)
        #expect(try streams[1].segments().available(in: mpd, at: Self.at(11)).isEmpty)
    }

    @Test func `tells when a segment is there`() throws {
        func time(_ offset: String, _ index: Int) throws -> Instant? {
            let mpd = try read(
                "<MPD \(Self.attributes)><Period start='PT10S'><AdaptationSet><Representation id='r' bandwidth='1'>"
                    + "<SegmentTemplate media='$Number$' duration='4' \(offset)/></Representation></AdaptationSet></Period></MPD>"
            )
            let stream = try #require(mpd.streams().first)
            #expect(stream.availabilityTimeComplete == !offset.contains("false"))
            let found = try stream.segments().availabilityTime(of: index, in: mpd)
            // the same rule as for all segments
            if let found {
                let segments = try stream.segments()
                #expect(segments.available(in: mpd, at: found).contains(index))
                #expect(!segments.available(in: mpd, at: found.advanced(byMilliseconds: -1)).contains(index))
            }
            return found
        }
        #expect(try time("", 2) == Self.at(22))
        #expect(try time("availabilityTimeOffset='3' availabilityTimeComplete='false'", 2) == Self.at(19))
        #expect(try time("availabilityTimeOffset='INF'", 2) == nil)
    }

    @Test func `costs the same after any time on the air`() throws {
        let mpd = try read(
            "<MPD \(Self.attributes) timeShiftBufferDepth='PT60S'><Period start='PT0S'><AdaptationSet><Representation id='r' bandwidth='1'>"
                + "<SegmentTemplate media='$Number$' duration='2'/></Representation></AdaptationSet></Period></MPD>"
        )
        let segments = try #require(mpd.streams().first).segments()
        for hours in [1, 100, 1_000_000] as [Int64] {
            let available = segments.available(in: mpd, at: Self.at(hours * 3600))
            #expect(available.count == 32 || available.count == 31)
            #expect(available.upperBound == Int(hours) * 1800)
        }
    }
}

struct `Clocks of an MPD` {
    @Test(arguments: MPDClock.Method.allCases, ["2012", "2014"])
    func `are known by every scheme`(method: MPDClock.Method, year: String) throws {
        let value = method == .direct ? "2026-01-31T18:00:00.5Z" : "https://a/t  b"
        let clock = try #require(MPDClock(MPDDescriptor(scheme: "urn:mpeg:dash:utc:\(method.rawValue):\(year)", value: value)))
        #expect(clock.method == method)
        #expect(clock.servers == (method == .direct ? [] : ["https://a/t", "b"]))
        #expect(clock.time == (method == .direct ? Instant.parse("2026-01-31T18:00:00.5Z") : nil))
    }

    @Test func `ignores events without content`() throws {
        let mpd = try read(
            """
            <MPD><UTCTiming schemeIdUri='urn:other' value='a'/><UTCTiming schemeIdUri='urn:mpeg:dash:utc:direct:2014' value='now'/>
            <UTCTiming schemeIdUri='urn:mpeg:dash:utc:http-iso:2014'/><UTCTiming schemeIdUri='urn:mpeg:dash:utc:http-head:2014' value='t'/></MPD>
            """
        )
        #expect(mpd.clocks.map(\.method) == [.httpHead])
    }

    @Test func `read the time of a response`() throws {
        func time(_ method: String, _ body: [UInt8]) -> Instant? {
            MPDClock(MPDDescriptor(scheme: "urn:mpeg:dash:utc:\(method):2014", value: "x"))?.time(inBody: body)
        }
        let expected = Instant.parse("2026-01-31T18:00:00Z")
        #expect(time("http-xsdate", Array("2026-01-31T18:00:00\r\n".utf8)) == expected)
        #expect(time("http-iso", Array("2026-01-31T19:00:00+01:00".utf8)) == expected)
        let seconds = UInt32(try #require(expected).milliseconds / 1000 + 2_208_988_800)
        var stamp: [UInt8] = []
        stamp.append(bigEndian: seconds)
        #expect(time("http-ntp", stamp + [0x80, 0, 0, 0]) == expected.map { $0.advanced(byMilliseconds: 500) })
        // after February 2036 the seconds start again
        #expect(time("http-ntp", [0, 0, 0, 0, 0, 0, 0, 0]) == Instant.parse("2036-02-07T06:28:16Z"))
        #expect(time("http-ntp", stamp) == nil && time("http-head", stamp) == nil)
        #expect(time("http-iso", [UInt8](repeating: 0x20, count: 2000)) == nil)
    }
}
