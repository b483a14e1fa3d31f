// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML
package import CarrelRights

/// The document at an action token's `ResourceLocation` (`/hms/bb/configuration`), with the URLs of the service's operations.
///
/// Marlin's own configuration document is not public. This format is Carrel's, in its own namespace, and only Carrel's readers
/// read it.
package struct BroadbandConfiguration: Sendable, Hashable {
    /// The namespace of the root.
    package static let namespace = "urn:carrel:broadband:configuration:1"
    /// The media type of a document.
    package static let mediaType = "application/xml"
    /// Bytes of a document that is read, at most.
    package static let maxByteCount = 32_768

    /// The service's id, as action tokens name it.
    package let serviceID: String
    /// The version that action tokens name.
    package let version: Int
    /// The URL at which installations are personalised. All four are `https`, or `http` on this machine.
    package let personalization: String
    /// The URL for registration tokens.
    package let registration: String
    /// The URL for license tokens.
    package let licenseAcquisition: String
    /// The URL for deregistration tokens.
    package let deregistration: String

    /// - Throws: `rights.malformed` for a value outside of its bounds.
    package init(
        serviceID: String,
        version: Int,
        personalization: String,
        registration: String,
        licenseAcquisition: String,
        deregistration: String
    ) throws(RightsError) {
        for location in [personalization, registration, licenseAcquisition, deregistration] {
            // the same bounds as for the location in an action token
            _ = try ActionToken.Configuration(serviceID: serviceID, version: version, location: location)
        }
        self.serviceID = serviceID
        self.version = version
        self.personalization = personalization
        self.registration = registration
        self.licenseAcquisition = licenseAcquisition
        self.deregistration = deregistration
    }

    /// Reads a document. What is not known is refused, as in an ``ActionToken``: a later shape has another namespace.
    ///
    /// - Parameter bytes: at most 32 KiB.
    /// - Throws: `rights.malformed`.
    package init(parsing bytes: RawSpan) throws(RightsError) {
        let root = try ServiceDocument.root(bytes, maxByteCount: Self.maxByteCount, "BroadbandConfiguration", Self.namespace)
        let names = ["Personalization", "Registration", "LicenseAcquisition", "Deregistration"]
        let locations = try ServiceDocument.children(of: root, named: "BroadbandConfiguration", in: Self.namespace, names)
        guard root.attributes.count == 2 else { throw RightsError(.malformed, "the document has an attribute that is not known") }
        try self.init(
            serviceID: root["broadbandServiceId"] ?? "",
            version: root["configVersion"].flatMap { ServiceDocument.number($0) } ?? 0,
            personalization: locations[0],
            registration: locations[1],
            licenseAcquisition: locations[2],
            deregistration: locations[3]
        )
    }

    /// The document in UTF-8, with a line for each element.
    package func write() -> [UInt8] {
        var writer = XMLWriter()
        let attributes: KeyValuePairs<StaticString, String?> = [
            "xmlns": Self.namespace, "broadbandServiceId": serviceID, "configVersion": String(version),
        ]
        writer.start("BroadbandConfiguration", attributes)
        writer.newLine()
        writer.element("Personalization", text: personalization)
        writer.newLine()
        writer.element("Registration", text: registration)
        writer.newLine()
        writer.element("LicenseAcquisition", text: licenseAcquisition)
        writer.newLine()
        writer.element("Deregistration", text: deregistration)
        writer.newLine()
        return writer.finish()
    }
}
