// SPDX-License-Identifier: Apache-2.0

import CarrelJSON

/// The accessibility metadata of a publication (Readium Web Publication Manifest, "Accessibility"; schema.org).
public struct Accessibility: Sendable, Equatable {
    /// URIs of conformance levels.
    public var conformsTo: [String]
    /// The reason why it need not conform, such as `eaa-microenterprise`.
    public var exemption: String?
    /// Senses needed to perceive the content, such as `textual`, `visual`, `auditory` (schema.org `accessMode`).
    public var accessModes: [String]
    /// Each a set of modes that suffice together.
    public var accessModesSufficient: [[String]]
    /// Features that help readers, such as `alternativeText` or `readingOrder` (schema.org `accessibilityFeature`).
    public var features: [String]
    /// Hazards to readers, such as `flashing` or `noMotionSimulationHazard` (schema.org `accessibilityHazard`).
    public var hazards: [String]
    /// A summary for people (schema.org `accessibilitySummary`).
    public var summary: String?
    /// The name of the certifier of conformance.
    public var certifiedBy: String?
    /// The certifier's credential, a name or a URI.
    public var certifierCredential: String?
    /// The URI of the certifier's report.
    public var certifierReport: String?

    /// Creates empty metadata.
    public init() {
        conformsTo = []
        accessModes = []
        accessModesSufficient = []
        features = []
        hazards = []
    }

    /// Whether it is empty.
    public var isEmpty: Bool { self == Accessibility() }

    init(_ object: JSONObject) {
        self.init()
        conformsTo = object["conformsTo"].map(Link.strings) ?? []
        exemption = object["exemption"]?.string
        accessModes = object["accessMode"].map(Link.strings) ?? []
        accessModesSufficient = (object["accessModeSufficient"]?.array ?? []).map(Link.strings).filter { !$0.isEmpty }
        features = object["feature"].map(Link.strings) ?? []
        hazards = object["hazard"].map(Link.strings) ?? []
        summary = object["summary"]?.string
        let certification = object["certification"]?.object
        certifiedBy = certification?["certifiedBy"]?.string
        certifierCredential = certification?["credential"]?.string
        certifierReport = certification?["report"]?.string
    }

    var json: JSON? {
        var object = JSONObject()
        object["conformsTo"] = conformsTo.oneOrMany
        object["exemption"] = exemption.map(JSON.string)
        var certification = JSONObject()
        certification["certifiedBy"] = certifiedBy.map(JSON.string)
        certification["credential"] = certifierCredential.map(JSON.string)
        certification["report"] = certifierReport.map(JSON.string)
        if !certification.isEmpty { object["certification"] = .object(certification) }
        object["accessMode"] = Self.array(accessModes)
        if !accessModesSufficient.isEmpty {
            object["accessModeSufficient"] = .array(
                accessModesSufficient.compactMap { $0.count == 1 ? .string($0[0]) : Self.array($0) }
            )
        }
        object["feature"] = Self.array(features)
        object["hazard"] = Self.array(hazards)
        object["summary"] = summary.map(JSON.string)
        return object.isEmpty ? nil : .object(object)
    }

    private static func array(_ strings: [String]) -> JSON? { strings.isEmpty ? nil : .array(strings.map(JSON.string)) }
}
