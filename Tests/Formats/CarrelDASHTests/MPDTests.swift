// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH
import Testing

private func read(_ text: String) throws(Malformed) -> MPD {
    let bytes = Array(text.utf8)
    return try MPD.parse(bytes.rawSpan)
}

/// An MPD of one representation.
private func document(_ information: String, mpd: String = "", period: String = "") -> String {
    """
    <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" \(mpd)><Period \(period)><AdaptationSet mimeType="video/mp4">
    <Representation id="r" bandwidth="5000">\(information)</Representation></AdaptationSet></Period></MPD>
    """
}

private func segments(_ information: String, mpd: String = "", period: String = "duration=\"PT10S\"") throws -> [MPDSegment] {
    let mpd = try read(document(information, mpd: mpd, period: period))
    let stream = try #require(mpd.streams(url: "http://h/a/m.mpd").first)
    let segments = try stream.segments()
    return try (0..<(try #require(segments.count))).map { try #require(segments[$0]) }
}

struct `Segments of an MPD` {
    @Test func `by number last as long as the period, the last one shorter`() throws {
        let found = try segments(
            "<SegmentTemplate duration=\"4\" startNumber=\"0\" media=\"$RepresentationID$/$Number%03d$.m4s\"/>"
        )
        #expect(found.map(\.url) == ["http://h/a/r/000.m4s", "http://h/a/r/001.m4s", "http://h/a/r/002.m4s"])
        #expect(found.map(\.start) == [.zero, .seconds(4), .seconds(8)])
        #expect(found.map(\.duration) == [.seconds(4), .seconds(4), .seconds(2)])
    }

    @Test func `by number end with the end number`() throws {
        let found = try segments("<SegmentTemplate duration=\"1\" startNumber=\"5\" endNumber=\"7\" media=\"$Number$\"/>")
        #expect(found.map(\.number) == [5, 6, 7])
    }

    @Test func `by time follow the timeline with repeats and gaps, less the presentation time offset`() throws {
        let found = try segments(
            """
            <SegmentTemplate timescale="10" presentationTimeOffset="100" media="$Time$-$Number$-$Bandwidth$">
            <SegmentTimeline><S t="100" d="20" r="1"/><S t="150" d="10"/><S d="5" n="9"/></SegmentTimeline></SegmentTemplate>
            """,
            period: "start=\"PT7S\" duration=\"PT10S\""
        )
        #expect(found.map(\.url) == ["100-1-5000", "120-2-5000", "150-3-5000", "160-9-5000"].map { "http://h/a/\($0)" })
        #expect(found.map(\.start) == [.seconds(7), .seconds(9), .seconds(12), .seconds(13)])
        #expect(found.map(\.duration) == [.seconds(2), .seconds(2), .seconds(1), .milliseconds(500)])
    }

    @Test func `repeat up to the next entry or the end of the period`() throws {
        let found = try segments(
            """
            <SegmentTemplate timescale="10" presentationTimeOffset="100" media="$Time$">
            <SegmentTimeline><S t="100" d="20" r="-1"/><S t="140" d="30" r="-1"/></SegmentTimeline></SegmentTemplate>
            """
        )
        #expect(found.map(\.time) == [100, 120, 140, 170])
    }

    @Test func `of a list have their addresses and ranges`() throws {
        let found = try segments(
            """
            <BaseURL>b/</BaseURL><SegmentList duration="2"><Initialization sourceURL="i" range="0-9"/>
            <SegmentURL media="one" mediaRange="10-19" indexRange="3-4"/><SegmentURL mediaRange="20-"/></SegmentList>
            """
        )
        #expect(found.map(\.url) == ["http://h/a/b/one", "http://h/a/b/"])
        #expect(found.map(\.byteRange) == [.init(offset: 10, length: 10), .init(offset: 20, length: nil)])
        #expect(found[0].indexRange == .init(offset: 3, length: 2))
    }

    @Test func `of a base are one with its index range`() throws {
        let found = try segments(
            "<BaseURL>v.mp4</BaseURL><SegmentBase indexRange=\"800-1000\"><Initialization range=\"0-799\"/></SegmentBase>"
        )
        #expect(found.map(\.url) == ["http://h/a/v.mp4"])
        #expect(found.map(\.duration) == [.seconds(10)])
        #expect(found[0].indexRange == .init(offset: 800, length: 201))
    }

    @Test func `are made one by one, a billion of them too`() throws {
        let text = document(
            "<SegmentTemplate media=\"$Time$\"><SegmentTimeline><S t=\"0\" d=\"1\" r=\"1000000000\"/></SegmentTimeline></SegmentTemplate>"
        )
        let segments = try #require(try read(text).streams().first).segments()
        #expect(segments.count == 1_000_000_001)
        #expect(segments[1_000_000_000]?.url == "1000000000")
        #expect(segments[1_000_000_001] == nil)
    }

    @Test func `inherit from set and period, by element`() throws {
        let mpd = try read(
            """
            <MPD mediaPresentationDuration="PT4S"><BaseURL>http://cdn/</BaseURL><Period><BaseURL>p/</BaseURL>
            <SegmentTemplate timescale="2" media="t-$Number$" startNumber="3"/>
            <AdaptationSet codecs="x"><SegmentTemplate duration="4"/><Role schemeIdUri="urn:mpeg:dash:role:2011" value="main"/>
            <Representation id="1" bandwidth="1"/><Representation id="2" bandwidth="2" codecs="y"><BaseURL>r/</BaseURL>
            <SegmentTemplate startNumber="8"/></Representation>
            <Representation id="3" bandwidth="3"><SegmentBase/></Representation></AdaptationSet></Period></MPD>
            """
        )
        let streams = mpd.streams()
        let urls = try streams.map { try $0.segments()[0]?.url }
        #expect(urls == ["http://cdn/p/t-3", "http://cdn/p/r/t-8", "http://cdn/p/"])
        #expect(streams.map(\.properties.codecs) == ["x", "y", "x"])
        #expect(mpd.periods[0].adaptationSets[0].roles.map(\.value) == ["main"])
    }

    @Test func `of periods begin where the one before ends`() throws {
        let mpd = try read(
            "<MPD mediaPresentationDuration=\"PT30S\"><Period duration=\"PT5S\"/><Period/><Period start=\"PT12S\"/></MPD>"
        )
        #expect(mpd.timings.map(\.start) == [.zero, .seconds(5), .seconds(12)])
        #expect(mpd.timings.map(\.duration) == [.seconds(5), .seconds(7), .seconds(18)])
    }
}

struct `A dynamic MPD` {
    static let start = Instant(milliseconds: 1_000_000)
    static let attributes =
        "type=\"dynamic\" availabilityStartTime=\"1970-01-01T00:16:40Z\" timeShiftBufferDepth=\"PT10S\" minimumUpdatePeriod=\"PT2S\""

    private func available(_ information: String, after seconds: Double, mpd: String = attributes) throws -> [Int64] {
        let mpd = try read(document(information, mpd: mpd))
        let segments = try #require(mpd.streams().first).segments()
        let now = Self.start.advanced(byMilliseconds: Int64(seconds * 1000))
        return segments.available(in: mpd, at: now).compactMap { segments[$0]?.number }
    }

    static let numbers = "<SegmentTemplate duration=\"2\" media=\"$Number$\"/>"

    @Test func `has segments from when they are complete until they leave the buffer`() throws {
        #expect(try available(Self.numbers, after: 1.9) == [])
        #expect(try available(Self.numbers, after: 2) == [1])
        #expect(try available(Self.numbers, after: 5.9) == [1, 2])
        // the first is complete at 2 s, and stays for 10 s and its own duration
        #expect(try available(Self.numbers, after: 14) == [1, 2, 3, 4, 5, 6, 7])
        #expect(try available(Self.numbers, after: 14.1) == [2, 3, 4, 5, 6, 7])
    }

    @Test func `has segments earlier by the availability time offset`() throws {
        let early = "<SegmentTemplate duration=\"2\" media=\"$Number$\" availabilityTimeOffset=\"1.5\"/>"
        #expect(try available(early, after: 0.4) == [])
        #expect(try available(early, after: 0.5) == [1])
        #expect(try available("<BaseURL availabilityTimeOffset=\"0.5\">b/</BaseURL>" + early, after: 0) == [1])
    }

    @Test func `without a buffer depth keeps all`() throws {
        let attributes = "type=\"dynamic\" availabilityStartTime=\"1970-01-01T00:16:40Z\""
        #expect(try available(Self.numbers, after: 1000, mpd: attributes).count == 500)
    }

    @Test func `repeats a timeline up to now`() throws {
        let text =
            "<SegmentTemplate media=\"$Time$\"><SegmentTimeline><S t=\"0\" d=\"2\" r=\"-1\"/></SegmentTimeline></SegmentTemplate>"
        #expect(try available(text, after: 100) == [44, 45, 46, 47, 48, 49, 50])
    }

    @Test func `tells when to come back, and where`() throws {
        let mpd = try read(
            """
            <MPD \(Self.attributes) suggestedPresentationDelay="PT6S" publishTime="1970-01-01T00:20:00"><Location> https://n/ </Location>
            <PatchLocation>p</PatchLocation><Period/>
            <UTCTiming schemeIdUri="urn:mpeg:dash:utc:direct:2014" value="2020-01-01T00:00:00Z"/></MPD>
            """
        )
        #expect(mpd.minimumUpdatePeriod == .seconds(2))
        #expect(mpd.suggestedPresentationDelay == .seconds(6))
        #expect(mpd.publishTime == Instant(milliseconds: 1_200_000))
        #expect(mpd.locations == ["https://n/"])
        #expect(mpd.patchLocations == ["p"])
        #expect(mpd.utcTimings.map(\.scheme) == ["urn:mpeg:dash:utc:direct:2014"])
    }
}

struct `Content protection of an MPD` {
    @Test func `is read for every system`() throws {
        let mpd = try read(
            """
            <MPD xmlns:cenc="urn:mpeg:cenc:2013" xmlns:mspr="urn:microsoft:playready"><Period duration="PT1S"><AdaptationSet>
            <ContentProtection schemeIdUri="urn:mpeg:dash:mp4protection:2011" value="cbcs" cenc:default_KID="00112233-4455-6677-8899-AABBCCDDEEFF"/>
            <ContentProtection schemeIdUri="urn:uuid:EDEF8BA9-79D6-4ACE-A3C8-27DCD51D21ED"><cenc:pssh> AAEC
             Aw== </cenc:pssh></ContentProtection>
            <ContentProtection schemeIdUri="urn:uuid:9a04f079-9840-4286-ab92-e65be0885f95"><mspr:pro>AQI=</mspr:pro></ContentProtection>
            <ContentProtection schemeIdUri="urn:uuid:e2719d58-a985-b3c9-781a-b030af78d30e"><undeclared:laurl>https://k/</undeclared:laurl><undeclared:Laurl>https://k/</undeclared:Laurl><undeclared:authzurl>https://t/</undeclared:authzurl></ContentProtection>
            <ContentProtection schemeIdUri="urn:uuid:f239e769-efa3-4850-9c16-a903c6932efb"/>
            <ContentProtection schemeIdUri="urn:uuid:94ce86fb-07ff-4f43-adb8-93d2fa968ca2"/>
            <Representation id="r" bandwidth="1"><ContentProtection schemeIdUri="URN:MPEG:dash:mp4protection:2011" value="cenc"/></Representation>
            </AdaptationSet></Period></MPD>
            """
        )
        let list = try #require(mpd.streams().first).properties.contentProtections
        #expect(list.map(\.system) == [.widevine, .playReady, .clearKey, .primetime, .fairPlay, .commonEncryption])
        #expect(list[0].protectionBoxes == [[0, 1, 2, 3]])
        #expect(list[1].playReadyObject == [1, 2])
        #expect(list[2].licenseURLs == ["https://k/"], "an address in both forms of the element is one")
        #expect(list[2].authorizationURLs == ["https://t/"])
        #expect(list[5].value == "cenc")
        let set = mpd.periods[0].adaptationSets[0].properties.contentProtections
        #expect(set[0].defaultKeyIDs == ["00112233445566778899aabbccddeeff"])
    }

    @Test func `of whole segments changes from period to period`() throws {
        let mpd = try read(
            document(
                """
                <ContentProtection schemeIdUri="urn:mpeg:dash:sea:2012"><s:SegmentEncryption schemeIdUri="urn:mpeg:dash:sea:aes128-cbc:2013"/>
                <s:CryptoPeriod offset="1" numSegments="2" IV="0x0f" keyUriTemplate="k1"/><s:CryptoPeriod keyUriTemplate="k$Number$"/>
                </ContentProtection>
                """
            )
        )
        let encryption = try #require(mpd.streams().first?.properties.contentProtections.first?.segmentEncryption)
        #expect(encryption.scheme == "urn:mpeg:dash:sea:aes128-cbc:2013")
        #expect((0..<5).map { encryption.period(ofSegment: $0)?.keyURITemplate } == [nil, "k1", "k1", "k$Number$", "k$Number$"])
        #expect(encryption.periods[0].initializationVector == [UInt8](repeating: 0, count: 15) + [15])
    }
}

struct `An MPD` {
    @Test func `names remote elements and removes those that are nothing`() throws {
        let mpd = try read(
            """
            <MPD xmlns:xlink="http://www.w3.org/1999/xlink"><Period xlink:href="https://h/p.xml" xlink:actuate="onLoad"/>
            <Period><AdaptationSet xlink:href="urn:mpeg:dash:resolve-to-zero:2013"/>
            <AdaptationSet xlink:href="a.xml"/></Period></MPD>
            """
        )
        #expect(mpd.links.map(\.href) == ["https://h/p.xml", "a.xml"])
        #expect(mpd.links.map(\.isOnLoad) == [true, false])
        #expect(mpd.periods[1].adaptationSets.count == 1)
    }

    @Test func `has events, labels and preselections`() throws {
        let mpd = try read(
            """
            <MPD><Period><EventStream schemeIdUri="urn:e" timescale="10" presentationTimeOffset="5">
            <Event presentationTime="7" duration="3" id="1" messageData="m"/><Event>text</Event></EventStream>
            <AdaptationSet lang="de"><Label lang="de">Ton</Label><InbandEventStream schemeIdUri="urn:i" value="1"/>
            <Accessibility schemeIdUri="urn:a" value="v"/></AdaptationSet>
            <Preselection id="s" preselectionComponents="1 2"><Label>Alles</Label></Preselection></Period></MPD>
            """
        )
        #expect(mpd.periods[0].eventStreams[0].events.map(\.message) == ["m", "text"])
        let set = mpd.periods[0].adaptationSets[0]
        #expect(set.properties.labels.map(\.text) == ["Ton"])
        #expect(set.properties.inbandEventStreams.map(\.scheme) == ["urn:i"])
        #expect(set.accessibilities.map(\.value) == ["v"])
        #expect(mpd.periods[0].preselections[0].components == ["1", "2"])
        #expect(mpd.periods[0].preselections[0].labels.map(\.text) == ["Alles"])
    }

    /// An element, and what is wrong with it.
    static let wrong: [(String, String)] = [
        ("<SegmentTemplate media=\"$Numb$\"/>", "template has an unknown identifier"),
        ("<SegmentTemplate media=\"$Number\"/>", "template has a single dollar sign"),
        ("<SegmentTemplate media=\"$SubNumber$\"/>", "template has sub-numbers without numbers or times"),
        ("<SegmentTemplate media=\"$Number%5d$\"/>", "template has a width that is not %0Nd"),
        ("<SegmentTemplate timescale=\"0\"/>", "timescale is out of range"),
        ("<SegmentTemplate timescale=\"x\"/>", "timescale is not an integer"),
        ("<SegmentBase indexRange=\"5\"/>", "index range is not a range of bytes"),
        ("<SegmentBase indexRange=\"5-4\"/>", "index range is not a range of bytes"),
        (
            "<ContentProtection><s:CryptoPeriod IV=\"0x000000000000000000000000000000000\"/></ContentProtection>",
            "initialization vector is not 128 hexadecimal bits"
        ),
    ]

    @Test(arguments: wrong)
    func `with a fault is refused at its element`(element: String, what: String) throws {
        let text = document(element)
        var caught: Malformed?
        do { _ = try read(text) } catch { caught = error }
        let inner = element.hasPrefix("<Content") ? "<s:CryptoPeriod" : element
        let offset = try #require(text.firstRange(of: inner)).lowerBound.utf16Offset(in: text)
        #expect(caught == Malformed(what, at: offset))
    }

    /// Timelines that are refused where they make segments.
    @Test(arguments: [
        ("<S d=\"0\"/>", "duration of a timeline entry is not above zero"), ("<S t=\"0\"/>", "timeline entry has no duration"),
        ("<S d=\"9223372036854775807\"/>", "duration of a timeline entry is out of range"),
        ("<S d=\"1\" r=\"9223372036854775807\"/>", "repeat count of a timeline entry is out of range"),
        ("<S d=\"1\" r=\"-1\"/><S d=\"1\"/>", "timeline repeats up to an entry without a time"),
        ("<S d=\"4611686018427387000\" r=\"3\"/>", "timeline is too long"),
    ])
    func `with an impossible timeline is refused`(entries: String, what: String) {
        var caught: Malformed?
        do {
            _ = try read(
                document("<SegmentTemplate media=\"$Time$\"><SegmentTimeline>\(entries)</SegmentTimeline></SegmentTemplate>")
            )
        } catch {
            caught = error
        }
        #expect(caught?.what == what)
        #expect(caught.map { $0.offset > 0 } == true)
    }

    @Test(arguments: [
        "", "<html/>", "<MPD>", "<MPD type=\"live\"/>", "<MPD mediaPresentationDuration=\"10\"/>", "<MPD publishTime=\"today\"/>",
        "<!DOCTYPE MPD><MPD/>", "<MPD><Period start=\"P1H\"/></MPD>", "<MPD><Period duration=\"PT1.5M\"/></MPD>",
    ])
    func `that is none is refused`(text: String) {
        #expect(throws: Malformed.self) { try read(text) }
    }

    /// Elements by the thousand.
    @Test(arguments: [
        ("<Representation id=\"r\"/>", 10_001, "MPD has too many representations"),
        ("<EssentialProperty schemeIdUri=\"u\"/>", 1001, "set or representation has too many elements"),
    ])
    func `of too many elements is refused`(element: String, count: Int, what: String) throws {
        func text(_ count: Int) -> String {
            "<MPD><Period><AdaptationSet>\(String(repeating: element, count: count))</AdaptationSet></Period></MPD>"
        }
        #expect(try read(text(count - 1)).periods.count == 1)
        var caught: Malformed?
        do { _ = try read(text(count)) } catch { caught = error }
        #expect(caught?.what == what)
    }

    @Test func `is written with what a packager knows`() throws {
        var mpd = MPD()
        mpd.profiles = "urn:mpeg:dash:profile:isoff-live:2011"
        mpd.mediaPresentationDuration = .milliseconds(12_500)
        mpd.minBufferTime = .seconds(2)
        var representation = MPDRepresentation(id: "v1", bandwidth: 400_000)
        representation.properties.codecs = "avc1.42c01e"
        (representation.properties.width, representation.properties.height) = (640, 360)
        var information = SegmentInformation(.template)
        information.timescale = 1000
        information.media = try URLTemplate.parse("$RepresentationID$/$Number%05d$.m4s")
        information.initializationTemplate = try URLTemplate.parse("$RepresentationID$/init.mp4")
        information.timeline = [.init(time: 0, duration: 4000, repeats: 2), .init(duration: 500)]
        var protection = MPDContentProtection(scheme: "urn:mpeg:dash:mp4protection:2011", value: "cenc")
        protection.defaultKeyIDs = ["00112233445566778899aabbccddeeff"]
        var common = MPDContentProtection(scheme: "urn:uuid:1077efec-c0b2-4d02-ace3-3c1e52e2fb4b")
        common.protectionBoxes = [[1, 2, 3]]
        var set = MPDAdaptationSet()
        set.language = "de"
        set.properties.mimeType = "video/mp4"
        set.properties.contentProtections = [protection, common]
        set.roles = [MPDDescriptor(scheme: MPDDescriptor.dashRole, value: "main")]
        set.information = information
        set.representations = [representation]
        var period = MPDPeriod(id: "1", start: .zero)
        period.adaptationSets = [set]
        mpd.periods = [period]
        let bytes = mpd.write()
        let again = try MPD.parse(bytes.rawSpan)
        #expect(again == mpd)
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.contains("cenc:default_KID=\"00112233-4455-6677-8899-aabbccddeeff\""))
        #expect(text.contains("mediaPresentationDuration=\"PT12.5S\""))
        let stream = try #require(again.streams(url: "https://h/m.mpd").first)
        #expect(try stream.segments()[3]?.url == "https://h/v1/00004.m4s")
        #expect(stream.initialization?.url == "https://h/v1/init.mp4")
    }
}

struct `Numbers of an MPD at the edge of their range` {
    private static let least = "-9223372036854775808"
    private static let greatest = "9223372036854775807"

    private static func timeline(_ attributes: String, _ entry: String) -> String {
        "<SegmentTemplate media=\"$Number$-$Time$\" \(attributes)><SegmentTimeline><S \(entry)/></SegmentTimeline></SegmentTemplate>"
    }

    static let refused = [
        "<SegmentTemplate media=\"$Number$\" duration=\"1\" startNumber=\"\(least)\"/>",
        "<SegmentTemplate media=\"$Number$\" duration=\"1\" startNumber=\"-1\"/>",
        "<SegmentTemplate media=\"$Number$\" duration=\"1\" startNumber=\"0\" endNumber=\"\(greatest)\"/>",
        "<SegmentTemplate media=\"$Number$\" duration=\"10\" presentationTimeOffset=\"\(least)\"/>",
        "<SegmentTemplate media=\"$Number$\" duration=\"10\" timescale=\"4294967296\"/>",
        timeline("presentationTimeOffset=\"-9223372036854775807\"", "t=\"100\" d=\"10\" r=\"3\""),
        timeline("", "t=\"\(least)\" d=\"10\" r=\"3\""),
        timeline("", "t=\"0\" n=\"\(least)\" d=\"10\" r=\"3\""),
        timeline("timescale=\"1099511627775\"", "t=\"0\" d=\"10\" r=\"-1\""),
        timeline("eptDelta=\"4611686018427387904\"", "t=\"0\" d=\"10\""),
    ]

    @Test(arguments: refused)
    func `are refused outside it`(information: String) throws {
        #expect(throws: Malformed.self) { try read(document(information, period: "duration=\"PT100S\"")) }
    }

    @Test(arguments: [0, 1, (1 << 62) - 1] as [Int64], [1, 0xffff_ffff] as [Int64])
    func `are counted within it`(time: Int64, timescale: Int64) throws {
        let mpd = try read(
            document(
                Self.timeline("timescale=\"\(timescale)\"", "t=\"\(time)\" d=\"1\" r=\"-1\""),
                mpd: "type=\"dynamic\" availabilityStartTime=\"1970-01-01T00:00:00Z\""
            )
        )
        let segments = try #require(mpd.streams(url: "http://h/m.mpd").first).segments()
        let available = segments.available(in: mpd, at: Instant(milliseconds: 1_700_000_000_000))
        #expect(available.lowerBound == 0)
        #expect(segments[0]?.time == time)
        for index in [available.upperBound - 1, available.upperBound, .max] { _ = segments[index] }
    }
}
