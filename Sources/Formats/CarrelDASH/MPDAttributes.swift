// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

/// The fault of an element, in words without content of the document.
struct MPDFault: Error {
    let what: String

    init(_ what: String) {
        self.what = what
    }
}

/// Texts of an MPD.
enum MPDText {
    static func trimmed(_ text: String) -> String {
        var remainder = text[...].unicodeScalars
        while let last = remainder.last, last.properties.isWhitespace { remainder = remainder.dropLast() }
        while let first = remainder.first, first.properties.isWhitespace { remainder = remainder.dropFirst() }
        return String(remainder)
    }

    static func withoutBlanks(_ text: String) -> String { String(text.unicodeScalars.filter { !$0.properties.isWhitespace }) }

    /// Bound of every integer, so that a sum of two fits.
    private static let bound: Int64 = 1 << 62

    /// An integer that may be negative.
    static func integer(_ text: String?, _ what: StaticString) throws(MPDFault) -> Int64? {
        guard let text else { return nil }
        if let number = digits(text) { return number }
        guard let number = Int64(trimmed(text)) else { throw MPDFault("\(what) is not an integer") }
        guard -bound < number, number < bound else { throw MPDFault("\(what) is out of range") }
        return number
    }

    /// An integer that the schema has as unsigned.
    static func unsigned(_ text: String?, _ what: StaticString) throws(MPDFault) -> Int64? {
        guard let number = try integer(text, what) else { return nil }
        guard number >= 0 else { throw MPDFault("\(what) is negative") }
        return number
    }

    /// Units a second: 32 bits, and not zero.
    static func timescale(_ text: String?) throws(MPDFault) -> Int64? {
        guard let scale = try integer(text, "timescale") else { return nil }
        guard 1...0xffff_ffff ~= scale else { throw MPDFault("timescale is out of range") }
        return scale
    }

    /// A number of at most 18 digits, which most are.
    private static func digits(_ text: String) -> Int64? {
        let bytes = text.utf8.span
        guard 1...18 ~= bytes.count else { return nil }
        var value: Int64 = 0
        for index in bytes.indices {
            let byte = bytes[index]
            guard 0x30...0x39 ~= byte else { return nil }
            value = value &* 10 &+ Int64(byte & 15)
        }
        return value
    }

    static func duration(_ text: String?, _ what: StaticString) throws(MPDFault) -> Duration? {
        guard let text else { return nil }
        guard let duration = XMLDuration.parse(text) else { throw MPDFault("\(what) is not a duration") }
        return duration
    }

    /// A date and a time; without a zone in UTC, as clients read it.
    static func instant(_ text: String?, _ what: StaticString) throws(MPDFault) -> Instant? {
        guard let text = text.map(trimmed) else { return nil }
        guard let instant = Instant.parse(text) ?? Instant.parse(text + "Z") else {
            throw MPDFault("\(what) is not a date and a time")
        }
        return instant
    }

    static func range(_ text: String?, _ what: StaticString) throws(MPDFault) -> MPDByteRange? {
        guard let text else { return nil }
        guard let range = MPDByteRange(trimmed(text)) else { throw MPDFault("\(what) is not a range of bytes") }
        return range
    }

    static func flag(_ text: String?) -> Bool? { text.map { $0 == "true" || $0 == "1" } }

    static func template(_ text: String?) throws(MPDFault) -> URLTemplate? {
        guard let text else { return nil }
        do throws(URLTemplate.Fault) { return try URLTemplate(text) } catch { throw MPDFault(error.what) }
    }

    static func timeOffset(_ text: String?) throws(MPDFault) -> MPDTimeOffset? {
        guard let text else { return nil }
        guard let offset = MPDTimeOffset(trimmed(text)) else { throw MPDFault("availability time offset is not a number") }
        return offset
    }
}

extension MPDLink {
    init?(_ tag: borrowing XMLTag) {
        guard let href = tag.value("href") else { return nil }
        self.init(element: tag.local, href: href, isOnLoad: tag.value("actuate") == "onLoad")
    }

    /// The reference of an element that may be one.
    init?(of tag: borrowing XMLTag) {
        guard tag.isNamed("Period") || tag.isNamed("AdaptationSet") || tag.isNamed("EventStream") || tag.isNamed("SegmentList")
        else { return nil }
        self.init(tag)
    }
}

extension MPD {
    init(_ tag: borrowing XMLTag) throws(MPDFault) {
        self.init()
        id = tag["id"]
        if let type = tag["type"] {
            guard let kind = Kind(rawValue: type) else { throw MPDFault("type is neither static nor dynamic") }
            self.kind = kind
        }
        profiles = tag["profiles"] ?? ""
        availabilityStartTime = try MPDText.instant(tag["availabilityStartTime"], "availability start time")
        availabilityEndTime = try MPDText.instant(tag["availabilityEndTime"], "availability end time")
        publishTime = try MPDText.instant(tag["publishTime"], "publish time")
        mediaPresentationDuration = try MPDText.duration(tag["mediaPresentationDuration"], "media presentation duration")
        minimumUpdatePeriod = try MPDText.duration(tag["minimumUpdatePeriod"], "minimum update period")
        minBufferTime = try MPDText.duration(tag["minBufferTime"], "minimum buffer time")
        timeShiftBufferDepth = try MPDText.duration(tag["timeShiftBufferDepth"], "time shift buffer depth")
        suggestedPresentationDelay = try MPDText.duration(tag["suggestedPresentationDelay"], "suggested presentation delay")
        maxSegmentDuration = try MPDText.duration(tag["maxSegmentDuration"], "maximum segment duration")
    }
}

extension MPDPeriod {
    init(_ tag: borrowing XMLTag) throws(MPDFault) {
        self.init(id: tag["id"])
        start = try MPDText.duration(tag["start"], "start of a period")
        duration = try MPDText.duration(tag["duration"], "duration of a period")
        link = MPDLink(tag)
    }
}

extension MPDMediaProperties {
    init(_ tag: borrowing XMLTag) throws(MPDFault) {
        self.init()
        mimeType = tag["mimeType"]
        codecs = tag["codecs"]
        width = try MPDText.unsigned(tag["width"], "width")
        height = try MPDText.unsigned(tag["height"], "height")
        frameRate = tag["frameRate"]
        sar = tag["sar"]
        audioSamplingRate = tag["audioSamplingRate"]
        profiles = tag["profiles"]
        startWithSAP = try MPDText.unsigned(tag["startWithSAP"], "startWithSAP")
        maxPlayoutRate = tag["maxPlayoutRate"]
        scanType = tag["scanType"]
    }
}

extension MPDAdaptationSet {
    init(_ tag: borrowing XMLTag) throws(MPDFault) {
        self.init()
        id = tag["id"]
        group = try MPDText.unsigned(tag["group"], "group")
        contentType = tag["contentType"]
        language = tag["lang"]
        par = tag["par"]
        segmentAlignment = tag["segmentAlignment"]
        selectionPriority = try MPDText.unsigned(tag["selectionPriority"], "selection priority")
        properties = try MPDMediaProperties(tag)
        link = MPDLink(tag)
    }
}

extension MPDRepresentation {
    init(_ tag: borrowing XMLTag) throws(MPDFault) {
        let bandwidth = try MPDText.unsigned(tag["bandwidth"], "bandwidth") ?? 0
        self.init(id: tag["id"] ?? "", bandwidth: UInt64(bandwidth))
        dependencyID = tag["dependencyId"]
        qualityRanking = try MPDText.unsigned(tag["qualityRanking"], "quality ranking")
        properties = try MPDMediaProperties(tag)
    }
}

extension MPDPreselection {
    init(_ tag: borrowing XMLTag) {
        self.init()
        id = tag["id"]
        components = tag["preselectionComponents"]?.split(separator: " ").map(String.init) ?? []
        language = tag["lang"]
        codecs = tag["codecs"]
    }
}

extension MPDDescriptor {
    init(_ tag: borrowing XMLTag) {
        self.init(scheme: tag["schemeIdUri"] ?? "", value: tag["value"], id: tag["id"])
    }
}

extension MPDLabel {
    init(_ tag: borrowing XMLTag) {
        self.init("", language: tag["lang"], id: tag["id"])
    }
}

extension MPDBaseURL {
    init(_ tag: borrowing XMLTag) throws(MPDFault) {
        self.init("", serviceLocation: tag["serviceLocation"])
        availabilityTimeOffset = try MPDText.timeOffset(tag["availabilityTimeOffset"])
        availabilityTimeComplete = MPDText.flag(tag["availabilityTimeComplete"])
        byteRange = tag["byteRange"]
    }
}

extension MPDContentProtection {
    init(_ tag: borrowing XMLTag) throws(MPDFault) {
        self.init(scheme: tag["schemeIdUri"] ?? "", value: tag["value"])
        for id in tag.value("default_KID")?.split(whereSeparator: \.isWhitespace) ?? [] {
            // other texts than UUIDs name no key
            if let id = Self.keyID(id) { defaultKeyIDs.append(id) }
        }
        robustness = tag["robustness"]
        ref = tag["ref"]
        refID = tag["refId"]
    }
}

extension MPDSegmentEncryption.Period {
    init(_ tag: borrowing XMLTag) throws(MPDFault) {
        self.init()
        let offset = try MPDText.unsigned(tag["offset"], "offset of a crypto period") ?? 0
        let count = try MPDText.unsigned(tag["numSegments"], "number of segments of a crypto period")
        guard offset >= 0, count ?? 0 >= 0 else { throw MPDFault("crypto period is out of range") }
        self.offset = UInt64(offset)
        self.count = count.map { UInt64($0) }
        initializationVector = try Self.vector(tag)
        keyURITemplate = tag["keyUriTemplate"]
        _ = try MPDText.template(keyURITemplate)
    }

    /// Adds the periods of a CryptoTimeline: runs of one length.
    static func add(_ tag: borrowing XMLTag, to periods: inout [Self]) throws(MPDFault) {
        var period = try Self(tag)
        let repeats = try MPDText.unsigned(tag["numCryptoPeriods"], "number of crypto periods") ?? 1
        guard 1...10_000 ~= repeats, periods.count + Int(repeats) <= 100_000 else {
            throw MPDFault("number of crypto periods is out of range")
        }
        let offset = try MPDText.unsigned(tag["firstStartOffset"], "first start offset of a crypto timeline") ?? 0
        guard offset >= 0 else { throw MPDFault("crypto period is out of range") }
        for index in 0..<repeats {
            period.offset = index == 0 ? UInt64(offset) : 0
            periods.append(period)
        }
    }

    private static func vector(_ tag: borrowing XMLTag) throws(MPDFault) -> [UInt8]? {
        guard let text = tag["IV"] else { return nil }
        let digits = text.hasPrefix("0x") || text.hasPrefix("0X") ? text.dropFirst(2) : text[...]
        guard 1...32 ~= digits.utf8.count,
            let bytes = Hex.decode(String(repeating: "0", count: 32 - digits.utf8.count) + digits)
        else { throw MPDFault("initialization vector is not 128 hexadecimal bits") }
        return bytes
    }
}

extension MPDEventStream {
    init(_ tag: borrowing XMLTag) throws(MPDFault) {
        self.init(scheme: tag["schemeIdUri"] ?? "", value: tag["value"])
        timescale = try MPDText.timescale(tag["timescale"]) ?? 1
        presentationTimeOffset = try MPDText.integer(tag["presentationTimeOffset"], "presentation time offset") ?? 0
        link = MPDLink(tag)
    }
}

extension MPDEventStream.Event {
    init(_ tag: borrowing XMLTag) throws(MPDFault) {
        self.init()
        presentationTime = try MPDText.unsigned(tag["presentationTime"], "presentation time") ?? 0
        duration = try MPDText.unsigned(tag["duration"], "duration of an event")
        id = tag["id"]
        message = tag["messageData"]
    }
}

extension SegmentInformation.Address {
    init(_ tag: borrowing XMLTag, _ url: StaticString, _ range: StaticString) throws(MPDFault) {
        self.init(url: tag[url], range: try MPDText.range(tag[range], "range"))
    }
}

extension SegmentInformation.ListedSegment {
    init(_ tag: borrowing XMLTag) throws(MPDFault) {
        self.init(media: try SegmentInformation.Address(tag, "media", "mediaRange"))
        index = try SegmentInformation.Address(tag, "index", "indexRange")
    }
}

extension SegmentInformation.TimelineEntry {
    init(_ tag: borrowing XMLTag) throws(MPDFault) {
        // most have nothing but digits
        var (time, duration, repeats, number, parts) = (Int64?.none, Int64?.none, Int64(0), Int64?.none, Int64(1))
        var isPlain = true
        tag.eachNumber { letter, value in
            guard let value else { return isPlain = false }
            switch letter {
            case UInt8(ascii: "t"): time = value
            case UInt8(ascii: "d"): duration = value
            case UInt8(ascii: "r"): repeats = value
            case UInt8(ascii: "n"): number = value
            case UInt8(ascii: "k"): parts = value
            default: break
            }
        }
        if isPlain, let duration, duration > 0, Self.partRange ~= parts {
            self.init(time: time, duration: duration, repeats: repeats, number: number, parts: parts)
            return
        }
        guard let duration = try MPDText.unsigned(tag["d"], "duration of a timeline entry") else {
            throw MPDFault("timeline entry has no duration")
        }
        guard duration > 0 else { throw MPDFault("duration of a timeline entry is not above zero") }
        self.init(
            time: try MPDText.integer(tag["t"], "time of a timeline entry"),
            duration: duration,
            repeats: try MPDText.integer(tag["r"], "repeat count of a timeline entry") ?? 0,
            number: try MPDText.unsigned(tag["n"], "number of a timeline entry"),
            parts: try Self.parts(tag["k"]) ?? 1
        )
    }

    /// The number of segments that a segment sequence may have.
    private static let partRange: ClosedRange<Int64> = 1...100_000

    /// The number of segments in a segment sequence.
    static func parts(_ text: String?) throws(MPDFault) -> Int64? {
        guard let parts = try MPDText.unsigned(text, "number of segments in a sequence") else { return nil }
        guard partRange ~= parts else { throw MPDFault("number of segments in a sequence is out of range") }
        return parts
    }
}

extension SegmentInformation {
    init(_ kind: Kind, _ tag: borrowing XMLTag) throws(MPDFault) {
        self.init(kind)
        timescale = try MPDText.timescale(tag["timescale"])
        presentationTimeOffset = try MPDText.integer(tag["presentationTimeOffset"], "presentation time offset")
        eptDelta = try MPDText.integer(tag["eptDelta"], "eptDelta")
        indexRange = try MPDText.range(tag["indexRange"], "index range")
        isIndexRangeExact = MPDText.flag(tag["indexRangeExact"])
        availabilityTimeOffset = try MPDText.timeOffset(tag["availabilityTimeOffset"])
        availabilityTimeComplete = MPDText.flag(tag["availabilityTimeComplete"])
        link = MPDLink(of: tag)
        guard kind != .base else { return }
        duration = try MPDText.unsigned(tag["duration"], "duration of segments")
        startNumber = try MPDText.unsigned(tag["startNumber"], "start number")
        endNumber = try MPDText.unsigned(tag["endNumber"], "end number")
        guard kind == .template else { return }
        parts = try TimelineEntry.parts(tag["k"])
        media = try MPDText.template(tag["media"])
        index = try MPDText.template(tag["index"])
        initializationTemplate = try MPDText.template(tag["initialization"])
    }
}
