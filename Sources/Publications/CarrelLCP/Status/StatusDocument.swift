// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelJSON
import CarrelPublication

/// A license status document (LSD 1.0 §2): the changes to a license since it was issued.
public struct StatusDocument: Sendable {
    /// The license's identifier.
    public let id: String
    /// The state of the license.
    public let status: Status
    /// For the user.
    public let message: String
    /// When the license, and when the status, was last changed.
    public let licenseUpdated: Instant?
    /// The time of the last change of the status.
    public let statusUpdated: Instant?
    /// The links of the document, such as to register, renew and return.
    public let links: [LicenseLink]
    /// Until when the license can be extended.
    public let potentialEnd: Instant?
    /// The actions on it, by device.
    public let events: [Event]

    /// The state of a license. The set grows with the specification.
    public struct Status: RawRepresentable, Sendable, Hashable {
        /// The value of `status` in the document.
        public let rawValue: String
        /// Creates a status from its value in the document; any value is accepted.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// No device has been registered.
        public static let ready = Status(rawValue: "ready")
        /// At least one device has been registered.
        public static let active = Status(rawValue: "active")
        /// The provider revoked the license after it was used.
        public static let revoked = Status(rawValue: "revoked")
        /// The user returned the loan.
        public static let returned = Status(rawValue: "returned")
        /// The provider or user cancelled the license before it was used.
        public static let cancelled = Status(rawValue: "cancelled")
        /// The license has ended.
        public static let expired = Status(rawValue: "expired")
    }

    /// Something that was done with a license (LSD 1.0 §2.5).
    public struct Event: Sendable, Equatable {
        /// Such as `register`.
        public let type: String
        /// The time of the event; nil if it is missing or malformed.
        public let time: Instant?
    }

    static let mediaType = "application/vnd.readium.license.status.v1.0+json"

    /// Reads a document leniently: optional members may be missing, times may be unreadable, and unknown links and media types
    /// are ignored. A revoked license is revoked however its date is written.
    ///
    /// - Parameter bytes: the document, in UTF-8.
    /// - Throws: `lcp.status` for other data.
    public init(_ bytes: [UInt8]) throws(LCPError) {
        guard let json = try? JSON.parse(bytes.rawSpan, limits: JSONLimits(byteCount: 1 << 20)), let object = json.object else {
            throw LCPError(.malformedStatus, "the status document is not a JSON object")
        }
        let reader = DocumentReader(object, "status document", .malformedStatus)
        id = try reader.text("id")
        status = Status(rawValue: try reader.text("status"))
        message = object["message"]?.string ?? ""
        func time(_ json: JSON?) -> Instant? { json?.string.flatMap { Instant.parse($0) } }
        licenseUpdated = time(object["updated"]?["license"])
        statusUpdated = time(object["updated"]?["status"])
        links = (object["links"]?.array ?? []).compactMap(LicenseLink.init)
        potentialEnd = time(object["potential_rights"]?["end"])
        events = (object["events"]?.array ?? []).compactMap { event in
            (event["type"]?.string).map { Event(type: $0, time: time(event["timestamp"])) }
        }
    }

    /// The address of the new license: among the links to LCP licenses, the link with a known profile, or without a profile.
    ///
    /// - Parameter profiles: the known profiles.
    /// - Returns: nil if there is no usable link.
    func licenseLink(_ profiles: ProfileRegistry) -> LicenseLink? {
        let licenses = links.filter {
            $0.relations.contains("license")
                && ($0.mediaType == nil || $0.mediaType?.essence == LicenseDocument.mediaType
                    || $0.mediaType?.essence == "application/json")
        }
        let usable = licenses.filter { link in link.profile.map { profiles[$0] != nil } ?? false }
        return usable.max { ($0.profile ?? "") < ($1.profile ?? "") } ?? licenses.first { $0.profile == nil }
    }
}
