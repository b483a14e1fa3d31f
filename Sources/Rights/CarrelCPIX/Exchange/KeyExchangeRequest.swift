// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
package import CarrelRights
import CarrelXML

/// A packager's request for content keys: a document without keys, which the response fills in (CPIX 2.3 §4, SPEKE 1, 2.0 and 2.1).
package struct KeyExchangeRequest: Sendable {
    /// The rules that the request follows.
    package enum Dialect: Sendable, Equatable {
        /// CPIX 2.3 or 2.4 without further rules.
        case cpix
        /// SPEKE 1, read leniently: its documents do not follow the schema.
        case speke1
        /// SPEKE 2.0 or 2.1; `version` is the value of the header field `X-Speke-Version`, nil without it.
        case speke2(version: String?)
    }

    /// The request.
    package let document: CPIXDocument
    /// The id of the content that the keys are for.
    package let contentID: String
    private let dialect: Dialect
    private let root: XMLElement

    /// Bytes of a content id, at most.
    package static let contentIDLimit = 255
    /// The description that SPEKE requires in the response to a request of another version.
    package static let unsupportedVersion = "Unsupported SPEKE version"

    /// Reads a request.
    ///
    /// - Parameters:
    ///   - bytes: the document, at most ``CPIXLimits/request`` in size.
    ///   - dialect: the rules that it must follow.
    /// - Throws: the errors of reading a document; `speke.version`; `speke.contract` for a violation of SPEKE, and for a request without a
    ///   content id or keys; `cpix.recipient` for a list of recipients without one.
    package init(reading bytes: RawSpan, as dialect: Dialect) throws(CPIXError) {
        var limits = CPIXLimits.request
        var version: SPEKEContract.Version?
        switch dialect {
        case .cpix: break
        case .speke1:
            limits.isLenient = true
            limits.rsaBits = 2048
        case .speke2(let text):
            limits.rsaBits = 2048
            version = text.flatMap { SPEKEContract.Version(rawValue: $0) }
            guard version != nil else { throw CPIXError(.spekeVersion, Self.unsupportedVersion) }
        }
        let document: CPIXDocument
        do throws(CPIXError) { document = try CPIXDocument(reading: bytes, limits: limits) } catch {
            // in SPEKE 2, the version of CPIX belongs to the version of SPEKE
            throw version != nil && error.code == .version ? CPIXError(.spekeVersion, Self.unsupportedVersion) : error
        }
        if let version, document.version != version.document { throw CPIXError(.spekeVersion, Self.unsupportedVersion) }
        let contentID = dialect == .speke1 ? document.id ?? document.contentID : document.contentID
        guard let contentID, 1...Self.contentIDLimit ~= contentID.utf8.count else {
            let attribute = dialect == .speke1 ? "id" : "contentId"
            throw CPIXError(
                .contract,
                "the request names no content in \(attribute), or one of more than \(Self.contentIDLimit) bytes"
            )
        }
        guard !document.keys.isEmpty else { throw CPIXError(.contract, "the request has no ContentKey") }
        for key in document.keys {
            guard case .none = key.value else {
                throw CPIXError(
                    .contract,
                    "the request contains the key \(key.id.uuid): import keys with 'carrel content-key import'"
                )
            }
        }
        if let version { try SPEKEContract.check(document, version) }
        if dialect != .speke1 { try Self.checkSystems(document) }
        var root: XMLElement
        do throws(Malformed) { root = try XMLElement.parse(bytes, limits: limits.xml).withoutFormatting } catch {
            throw CPIXError(.malformed, error.description)
        }
        guard root.namespaces.count <= limits.namespaces else {
            throw CPIXError(.tooLarge, "the document has more than \(limits.namespaces) namespaces")
        }
        // without a recipient, the response would have the keys in the clear
        guard !document.recipients.isEmpty || !root.children.contains(where: { $0.name.local == "DeliveryDataList" }) else {
            throw CPIXError(.recipient, "the DeliveryDataList has no DeliveryData, so that the keys would be sent in the clear")
        }
        // the response is another document, which the signature is not of
        if dialect == .cpix { root.children.removeAll { $0.name.namespace == "\(CPIXNamespace.signature)" } }
        self.root = root
        (self.document, self.contentID, self.dialect) = (document, contentID, dialect)
    }

    /// The ids of the requested keys, in their order.
    package var keyIDs: [KeyID] { document.keys.map(\.id) }

    /// A packager would publish media for a system that no response describes.
    private static func checkSystems(_ document: CPIXDocument) throws(CPIXError) {
        for entry in document.systems where KeySignaling.System(rawValue: entry.system.uuid) == nil {
            throw CPIXError(.unsupported, "Carrel writes no signaling for the protection system \(entry.system.uuid)")
        }
    }

    /// The response: the request with its keys and the data of protection systems. No element and no attribute is dropped, apart from the
    /// signatures of ``Dialect/cpix``.
    ///
    /// - Parameters:
    ///   - keys: the key of each requested id.
    ///   - clearKeyURL: the address where ClearKey players get keys; nil if it is unknown.
    /// - Returns: the document in UTF-8; if the request names recipients, its keys are encrypted to them.
    /// - Throws: `cpix.missing-key` for a requested key that is not in `keys`; `cpix.recipient` if a recipient's key cannot encrypt.
    package func response(_ keys: [KeyID: Secret], clearKeyURL: String? = nil) throws(CPIXError) -> [UInt8] {
        var seal = CPIXSeal()
        var root = root
        var recipients = document.recipients[...]
        for index in root.children.indices where root.children[index].isCPIX {
            switch root.children[index].name.local {
            case "DeliveryDataList": try fillRecipients(&root.children[index], &recipients, seal)
            case "ContentKeyList": try fillKeys(&root.children[index], keys, &seal)
            case "DRMSystemList": fillSystems(&root.children[index], clearKeyURL)
            default: continue
            }
        }
        var writer = XMLWriter()
        writer.root(root, prefixes: CPIXNamespace.prefixes)
        return writer.finish()
    }

    private func fillRecipients(
        _ list: inout XMLElement,
        _ recipients: inout ArraySlice<CPIXRecipient>,
        _ seal: borrowing CPIXSeal
    ) throws(CPIXError) {
        for index in list.children.indices where list.children[index].isCPIX("DeliveryData") {
            guard let recipient = recipients.popFirst() else { return }
            list.children[index].children.removeAll { $0.isCPIX("DocumentKey") || $0.isCPIX("MACMethod") }
            let place = (list.children[index].children.firstIndex { $0.isCPIX("DeliveryKey") } ?? -1) + 1
            list.children[index].children.insert(contentsOf: try seal.elements(for: recipient.certificate), at: place)
        }
    }

    private func fillKeys(_ list: inout XMLElement, _ keys: [KeyID: Secret], _ seal: inout CPIXSeal) throws(CPIXError) {
        let requested = Dictionary(document.keys.map { ($0.id, $0) }) { first, _ in first }
        let needingIV = Set(document.systems.filter { $0.system.uuid == KeySignaling.System.fairPlay.rawValue }.map(\.keyID))
        for index in list.children.indices where list.children[index].isCPIX("ContentKey") {
            guard let id = list.children[index].keyID("kid"), let key = requested[id], let secret = keys[id] else {
                throw CPIXError(.missingKey, "a requested key is missing")
            }
            // the constant vector of `cbcs` is part of the signaling, so that packagers of one content agree on it
            if key.explicitIV == nil, key.scheme == "cbcs" || needingIV.contains(id) {
                list.children[index].attributes.removeAll { $0.name == XMLName("explicitIV") }
                list.children[index].attributes.append(XMLAttribute(XMLName("explicitIV"), Base64.encode(Self.iv(of: id))))
            }
            list.children[index].children.removeAll { $0.isCPIX("Data") }
            let data = document.recipients.isEmpty ? CPIXSeal.clearData(secret) : try seal.data(secret)
            list.children[index].children.insert(data, at: 0)
        }
    }

    /// A vector that is the same in each response and on each node.
    private static func iv(of id: KeyID) -> [UInt8] {
        let text = Array("carrel explicit iv".utf8) + id.bytes
        return Array(SHA256.hash(text.rawSpan).prefix(16))
    }

    private func fillSystems(_ list: inout XMLElement, _ clearKeyURL: String?) {
        let schemes = Dictionary(document.keys.map { ($0.id, $0.scheme) }) { first, _ in first }
        for index in list.children.indices where list.children[index].isCPIX("DRMSystem") {
            guard let keyID = list.children[index].keyID("kid"), let id = list.children[index].keyID("systemId"),
                let system = KeySignaling.System(rawValue: id.uuid)
            else { continue }
            let isFairPlay = system == .fairPlay
            let scheme = (schemes[keyID] ?? nil) ?? (isFairPlay ? "cbcs" : "cenc")
            let signaling = KeySignaling(system: system, keyID: keyID, scheme: scheme, clearKeyURL: clearKeyURL)
            for child in list.children[index].children.indices {
                guard let text = Self.text(of: list.children[index].children[child], signaling) else { continue }
                list.children[index].children[child].text = text
            }
        }
    }

    /// The text of an element of a protection system; nil for one that the system does not have, which stays as is.
    private static func text(of element: XMLElement, _ signaling: KeySignaling) -> String? {
        let base64 = { (text: String) in Base64.encode(Array(text.utf8)) }
        if element.name.namespace == "\(CPIXNamespace.speke)" {
            return switch element.name.local {
            case "KeyFormat": base64(signaling.keyFormat)
            case "KeyFormatVersions": base64(KeySignaling.keyFormatVersions)
            case "ProtectionHeader": signaling.smoothStreaming
            default: nil
            }
        }
        guard element.isCPIX else { return nil }
        switch element.name.local {
        case "PSSH": return signaling.protectionBox.map { Base64.encode($0) }
        case "ContentProtectionData": return signaling.contentProtection.map(base64)
        case "URIExtXKey": return base64(signaling.keyURI)
        case "SmoothStreamingProtectionHeaderData": return signaling.smoothStreaming
        case "HLSSignalingData":
            let name = element["playlist"]
            return base64(signaling.line(in: name == nil || name == "media" ? .media : .multivariant))
        default: return nil
        }
    }
}

extension XMLElement {
    /// The tree without the white space between its tags.
    fileprivate var withoutFormatting: XMLElement {
        var element = self
        if text.allSatisfy(\.isWhitespace) { element.text = "" }
        element.children = children.map(\.withoutFormatting)
        return element
    }

    fileprivate var isCPIX: Bool { name.namespace == "\(CPIXNamespace.cpix)" }

    fileprivate func isCPIX(_ local: String) -> Bool { name.local == local && isCPIX }

    /// An id in an attribute, in either form.
    fileprivate func keyID(_ attribute: String) -> KeyID? {
        self[attribute].flatMap { KeyID(uuid: $0) ?? KeyID(hex: $0) }
    }
}
