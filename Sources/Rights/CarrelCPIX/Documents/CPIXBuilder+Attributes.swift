// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelRights
import CarrelXML

extension CPIXBuilder {
    func beginRoot(_ tag: borrowing XMLTag) throws(CPIXError) {
        document.contentID = tag["contentId"]
        document.id = tag["id"]
        guard let version = tag["version"] else { return }
        document.version = CPIXDocument.Version(rawValue: version)
        guard document.version != nil || limits.isLenient else {
            throw CPIXError(.version, "the document has version '\(version.prefix(16))': only CPIX 2.3 and 2.4 are supported")
        }
    }

    func beginKey(_ tag: borrowing XMLTag) throws(CPIXError) {
        try require(document.keys.count < limits.keys, "\(limits.keys) content keys")
        let place = "content key \(document.keys.count + 1)"
        var key = CPIXKey(try keyID(tag["kid"], "kid of \(place)"))
        guard keyIDs.insert(key.id).inserted else { throw malformed("the key \(key.id.uuid) is there twice") }
        key.scheme = tag["commonEncryptionScheme"]
        if let scheme = key.scheme, !Self.schemes.contains(scheme) {
            throw malformed("the scheme '\(scheme.prefix(16))' of the key \(key.id.uuid) is unknown")
        }
        if let text = tag["explicitIV"], !text.isEmpty || !limits.isLenient {
            guard let iv = Base64.decode(text), iv.count == 16 || iv.count == 8 else {
                throw malformed("explicitIV of the key \(key.id.uuid) is not base 64 of 8 or 16 bytes")
            }
            key.explicitIV = iv
        }
        if let text = tag["dependsOnKey"] { key.dependsOn = try keyID(text, "dependsOnKey of the key \(key.id.uuid)") }
        document.keys.append(key)
    }

    /// The schemes of ISO/IEC 23001-7, and from version 2.4 on the methods of HLS.
    private static let schemes: Set<String> = ["cenc", "cens", "cbc1", "cbcs", "AES-128", "SAMPLE-AES", "SAMPLE-AES-CTR"]

    func beginSystem(_ tag: borrowing XMLTag) throws(CPIXError) {
        try require(document.systems.count < limits.entries, "\(limits.entries) entries of protection systems")
        let place = "entry \(document.systems.count + 1) of the protection systems"
        var system = CPIXSystem(try keyID(tag["systemId"], "systemId of \(place)"), try keyID(tag["kid"], "kid of \(place)"))
        system.name = tag["name"]
        document.systems.append(system)
    }

    func beginPeriod(_ tag: borrowing XMLTag) throws(CPIXError) {
        try require(document.periods.count < limits.keys, "\(limits.keys) periods")
        var period = CPIXPeriod(id: tag["id"], index: try number(tag["index"], "index of a period"))
        period.start = try instant(tag["start"], "start of a period")
        period.end = try instant(tag["end"], "end of a period")
        period.startOffset = tag["startOffset"]
        period.endOffset = tag["endOffset"]
        if let start = period.start, let end = period.end, end < start {
            throw malformed("the period \(name(period)) ends before it starts")
        }
        if let id = period.id, !periodIDs.insert(id).inserted, !limits.isLenient {
            throw malformed("the period \(name(period)) is there twice")
        }
        document.periods.append(period)
    }

    func beginRule(_ tag: borrowing XMLTag) throws(CPIXError) {
        try require(document.rules.count < limits.entries, "\(limits.entries) usage rules")
        let id = try keyID(tag["kid"], "kid of usage rule \(document.rules.count + 1)")
        document.rules.append(CPIXRule(id, trackType: tag["intendedTrackType"]))
    }

    func beginFilter(_ tag: borrowing XMLTag) throws(CPIXError) {
        filters += 1
        try require(filters <= limits.entries, "\(limits.entries) filters")
        guard let last = document.rules.indices.last else { return }
        let place = "usage rule \(last + 1)"
        switch tag.local {
        case "KeyPeriodFilter":
            guard let id = tag["periodId"] else { throw malformed("a period filter of \(place) has no periodId") }
            document.rules[last].periods.append(id)
        case "LabelFilter":
            guard let label = tag["label"] else { throw malformed("a label filter of \(place) has no label") }
            document.rules[last].labels.append(label)
        case "VideoFilter":
            var filter = CPIXRule.Video(pixels: try bounds(tag["minPixels"], tag["maxPixels"], place))
            filter.framesPerSecond = try bounds(tag["minFps"], tag["maxFps"], place)
            filter.isHDR = try flag(tag["hdr"], place)
            filter.hasWideGamut = try flag(tag["wcg"], place)
            document.rules[last].video.append(filter)
        case "AudioFilter":
            document.rules[last].audio.append(try bounds(tag["minChannels"], tag["maxChannels"], place))
        case "BitrateFilter":
            document.rules[last].bitrates.append(try bounds(tag["minBitrate"], tag["maxBitrate"], place))
        default:
            // a filter that is not understood would let the rule match tracks that it excludes
            guard limits.isLenient else { throw malformed("\(place) has an unknown filter, \(tag.local.prefix(64))") }
        }
    }

    /// The document, with its references checked.
    func finish() throws(CPIXError) -> CPIXDocument {
        if let failure { throw failure }
        for system in document.systems where !keyIDs.contains(system.keyID) {
            throw malformed("an entry of a protection system is for the key \(system.keyID.uuid), which is not in the document")
        }
        for rule in document.rules {
            guard keyIDs.contains(rule.keyID) else {
                throw malformed("a usage rule is for the key \(rule.keyID.uuid), which is not in the document")
            }
            guard !limits.isLenient, let id = rule.periods.first(where: { !periodIDs.contains($0) }) else { continue }
            throw malformed("a usage rule is for the period '\(id.prefix(64))', which is not in the document")
        }
        return document
    }

    // MARK: Values

    private func name(_ period: CPIXPeriod) -> String { "'\((period.id ?? "without an id").prefix(64))'" }

    private func keyID(_ text: String?, _ name: String) throws(CPIXError) -> KeyID {
        guard let text else { throw malformed("\(name) is missing") }
        if let id = KeyID(uuid: text) { return id }
        guard limits.isLenient, let id = KeyID(hex: text) else { throw malformed("\(name) is not a UUID") }
        return id
    }

    private func number(_ text: String?, _ name: String) throws(CPIXError) -> Int? {
        guard let text else { return nil }
        guard let number = Int(text), number >= 0 else { throw malformed("\(name) is not a whole number") }
        return number
    }

    private func bounds(_ lower: String?, _ upper: String?, _ place: String) throws(CPIXError) -> CPIXRule.Bounds {
        let bounds = CPIXRule.Bounds(try number(lower, "a bound in \(place)"), try number(upper, "a bound in \(place)"))
        if let lower = bounds.lower, let upper = bounds.upper, lower > upper {
            throw malformed("a filter of \(place) has a lower bound that exceeds the upper one")
        }
        return bounds
    }

    private func flag(_ text: String?, _ place: String) throws(CPIXError) -> Bool? {
        switch text {
        case nil: return nil
        case "true", "1": return true
        case "false", "0": return false
        default: throw malformed("a filter of \(place) has a flag that is neither true nor false")
        }
    }

    /// A time of XML Schema; one without a zone is in UTC, as SPEKE 2.1 requires.
    private func instant(_ text: String?, _ name: String) throws(CPIXError) -> Instant? {
        guard let text else { return nil }
        guard let instant = Instant.parse(text) ?? Instant.parse(text + "Z") else {
            throw malformed("the \(name) is not a date and time")
        }
        return instant
    }
}
