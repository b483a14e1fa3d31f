// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML
package import CarrelRights

/// An XML document that instructs a reader to register with a user, acquire a license, or deregister.
///
/// The format of `ActionToken` and `LicenseAcquisition` follows observed Marlin Broadband documents. Public samples of the other
/// two operations do not exist: their elements are named by analogy. The business token inside is Carrel's own (``SealedToken``);
/// nothing is certified.
package struct ActionToken: Sendable, Hashable {
    /// The namespace of the root.
    package static let namespace = "urn:marlin:broadband:1-2:nemo:services:action-token"
    /// The media type of a document.
    package static let mediaType = "application/vnd.marlin.drm.actiontoken+xml"
    /// Bytes of a document that is read, at most.
    package static let maxByteCount = 32_768
    /// Bytes of a business token, at most.
    package static let maxTokenByteCount = 8192

    /// The use that the reader makes of the token; the raw value is the element's name.
    package enum Operation: String, Sendable, CaseIterable {
        case registration = "Registration"
        case licenseAcquisition = "LicenseAcquisition"
        case deregistration = "Deregistration"

        /// The kind of the sealed token inside.
        package var kind: BusinessRules.Kind {
            switch self {
            case .registration: .registration
            case .licenseAcquisition: .license
            case .deregistration: .deregistration
            }
        }

        /// The operation of a sealed token; nil for a stream's, which is in no action token.
        package init?(_ kind: BusinessRules.Kind) {
            switch kind {
            case .registration: self = .registration
            case .license: self = .licenseAcquisition
            case .deregistration: self = .deregistration
            case .ms3: return nil
            }
        }
    }

    /// The service, and the place of its configuration.
    package struct Configuration: Sendable, Hashable {
        /// The service's id: a URN, or another text of 1 to 255 visible ASCII characters.
        package let serviceID: String
        /// Counts up when the configuration changes: 1 to 2^31 − 1. A reader that has another fetches it.
        package let version: Int
        /// The URL of the configuration: `https`, or `http` on this machine.
        package let location: String

        /// - Throws: `rights.malformed` for values outside of their bounds.
        package init(serviceID: String, version: Int, location: String) throws(RightsError) {
            guard BusinessRules.isContentID(serviceID), 1...Int(Int32.max) ~= version else {
                throw RightsError(.malformed, "a service is named by a short text and the version of its configuration")
            }
            guard location.utf8.count <= 2048, ServiceAddress(location)?.isTrustworthy == true else {
                throw RightsError(.malformed, "the location of a configuration is not an https URL")
            }
            self.serviceID = serviceID
            self.version = version
            self.location = location
        }
    }

    package let operation: Operation
    package let configuration: Configuration
    /// The business token, 1 byte to 8 KiB. Only the service reads it.
    package let businessToken: [UInt8]

    /// - Parameters:
    ///   - operation: the use that the reader makes of it.
    ///   - configuration: the service.
    ///   - businessToken: 1 byte to 8 KiB.
    /// - Throws: `rights.malformed` for a token of another length.
    package init(_ operation: Operation, configuration: Configuration, businessToken: [UInt8]) throws(RightsError) {
        guard 1...Self.maxTokenByteCount ~= businessToken.count else {
            throw RightsError(.malformed, "a business token has 1 byte to 8 KiB")
        }
        self.operation = operation
        self.configuration = configuration
        self.businessToken = businessToken
    }

    /// Reads a document.
    ///
    /// A document is a command, so all of it must be known: another element, attribute or text than those written by ``write()``,
    /// and one of them twice, is refused. A DOCTYPE and entities that it could declare are refused too.
    ///
    /// - Parameter bytes: at most 32 KiB.
    /// - Throws: `rights.malformed`.
    package init(parsing bytes: RawSpan) throws(RightsError) {
        let root = try ServiceDocument.root(bytes, maxByteCount: Self.maxByteCount, "ActionToken", Self.namespace)
        guard root.children.count == 2, root.attributes.isEmpty, ServiceDocument.isSpace(root.text) else { throw Self.malformed }
        let info = try ServiceDocument.children(
            of: root.children[0],
            named: "ConfigurationInfo",
            in: Self.namespace,
            ["ResourceLocation"]
        )
        guard let operation = Operation(rawValue: root.children[1].name.local) else {
            throw RightsError(.malformed, "the action token has an operation that is not known")
        }
        let parts = try ServiceDocument.children(
            of: root.children[1],
            named: operation.rawValue,
            in: Self.namespace,
            ["Type", "BusinessToken"]
        )
        guard root.children[1].attributes.isEmpty, parts[0] == "personality", let token = Base64.decode(parts[1]) else {
            throw Self.malformed
        }
        let configuration = try Configuration(
            serviceID: root.children[0]["broadbandServiceId"] ?? "",
            version: root.children[0]["configVersion"].flatMap { ServiceDocument.number($0) } ?? 0,
            location: info[0]
        )
        guard root.children[0].attributes.count == 2 else { throw Self.malformed }
        try self.init(operation, configuration: configuration, businessToken: token)
    }

    /// The document in UTF-8, with a line for each element.
    package func write() -> [UInt8] {
        var writer = XMLWriter()
        writer.start("ActionToken", ["xmlns": Self.namespace])
        writer.newLine()
        let version = String(configuration.version)
        writer.start("ConfigurationInfo", ["broadbandServiceId": configuration.serviceID, "configVersion": version])
        writer.newLine()
        writer.element("ResourceLocation", text: configuration.location)
        writer.newLine()
        writer.end()
        writer.newLine()
        switch operation {
        case .registration: writer.start("Registration")
        case .licenseAcquisition: writer.start("LicenseAcquisition")
        case .deregistration: writer.start("Deregistration")
        }
        writer.newLine()
        writer.element("Type", text: "personality")
        writer.newLine()
        writer.element("BusinessToken", text: Base64.encode(businessToken))
        writer.newLine()
        writer.end()
        writer.newLine()
        return writer.finish()
    }

    private static var malformed: RightsError { RightsError(.malformed, "the document is not an action token") }
}

extension ActionToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The operation and the service: the business token is not printed.
    package var description: String { "ActionToken(\(operation.rawValue) at \(configuration.serviceID))" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
