// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
public import CarrelJSON

/// The limits of a license in time and number.
package struct LicenseTerms: Sendable, Equatable {
    /// From when on it can be used.
    package var notBefore: Instant?
    /// The absolute end, in addition to all other limits.
    package var notAfter: Instant?
    /// Seconds from the issue until the first play: the first clock of a dual expiry.
    package var storageSeconds: Int?
    /// Seconds from the first play: the second clock.
    package var playbackSeconds: Int?
    /// How long a stream's slot is held without a renewal, in seconds.
    package var leaseSeconds: Int?
    /// When a renewal should be requested.
    package var renewAt: Instant?
    /// How often it can be played.
    package var playCount: Int?
    /// Whether the store of a device may keep it.
    package var isStorable = false

    package init() {}

    /// Whether time can end it.
    package var isLimitedInTime: Bool {
        notBefore != nil || notAfter != nil || storageSeconds != nil || playbackSeconds != nil || leaseSeconds != nil
    }

    package var json: JSON {
        var object: JSONObject = ["storable": .bool(isStorable)]
        object["nbf"] = notBefore?.numericDate
        object["exp"] = notAfter?.numericDate
        object["storage"] = storageSeconds.map { .integer($0) }
        object["playback"] = playbackSeconds.map { .integer($0) }
        object["lease"] = leaseSeconds.map { .integer($0) }
        object["renewAt"] = renewAt?.numericDate
        object["plays"] = playCount.map { .integer($0) }
        return .object(object)
    }

    /// - Throws: `rights.malformed`: a term that cannot be read is not a term that is missing.
    package init(_ json: JSON) throws(RightsError) {
        func instant(_ name: String) throws(RightsError) -> Instant? {
            guard json[name] != nil else { return nil }
            guard let instant = json.instant(name) else { throw RightsError(.malformed, "\(name) of the terms is not a time") }
            return instant
        }
        func count(_ name: String) throws(RightsError) -> Int? {
            guard let value = json[name] else { return nil }
            guard let count = value.int, 0...4_000_000_000 ~= count else {
                throw RightsError(.malformed, "\(name) of the terms is not a whole number of seconds or plays")
            }
            return count
        }
        guard let storable = json["storable"]?.bool else {
            throw RightsError(.malformed, "the terms of the license cannot be read")
        }
        isStorable = storable
        notBefore = try instant("nbf")
        notAfter = try instant("exp")
        renewAt = try instant("renewAt")
        storageSeconds = try count("storage")
        playbackSeconds = try count("playback")
        leaseSeconds = try count("lease")
        playCount = try count("plays")
    }
}

/// Something that a player must do, or must not let happen, while it plays.
public struct Obligation: Sendable, Equatable {
    /// The kinds that are defined. A license may name others.
    public enum Kind: String, Sendable, CaseIterable {
        /// A digital output needs a protection of at least `level`.
        case outputProtection = "output-protection"
        /// No analogue output.
        case noAnalogueOutput = "no-analogue-output"
        /// Capture of the screen is discouraged.
        case discourageCapture = "discourage-capture"
        /// At most `pixels` pixels.
        case imageConstraint = "image-constraint"
        /// `payload`, a text, is shown over each picture and page.
        case watermark
        /// No export to other formats.
        case noExport = "no-export"
        /// No printing.
        case noPrint = "no-print"
        /// At most `pages` pages are printed.
        case printLimit = "print-limit"
        /// At most `characters` characters are copied.
        case copyLimit = "copy-limit"
        /// Plays are counted and uploaded.
        case metering
        /// The service is contacted every `seconds` seconds.
        case attended
    }

    /// A kind, or a name of another version.
    public let type: String
    /// The values that the kind defines.
    public let parameters: JSONObject
    /// Whether a player that cannot do it must not play.
    public let isCritical: Bool

    package init(type: String, parameters: JSONObject = [:], isCritical: Bool) {
        self.type = type
        self.parameters = parameters
        self.isCritical = isCritical
    }

    package init(_ kind: Kind, parameters: JSONObject = [:], isCritical: Bool) {
        self.init(type: kind.rawValue, parameters: parameters, isCritical: isCritical)
    }

    package var json: JSON {
        ["type": .string(type), "parameters": .object(parameters), "critical": .bool(isCritical)]
    }

    /// - Throws: `rights.malformed`.
    package init(_ json: JSON) throws(RightsError) {
        guard let type = json["type"]?.string, 1...64 ~= type.utf8.count, let parameters = json["parameters"]?.object,
            let critical = json["critical"]?.bool
        else { throw RightsError(.malformed, "an obligation cannot be read") }
        self.init(type: type, parameters: parameters, isCritical: critical)
    }
}
