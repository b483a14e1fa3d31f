// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelRights
import CarrelXML

extension CPIXDocument {
    /// Reads a document. Encrypted keys stay encrypted: ``decrypted(by:)`` decrypts them. Signatures are not verified.
    ///
    /// - Parameters:
    ///   - bytes: the document, in UTF-8 or UTF-16.
    ///   - limits: its limits.
    /// - Throws: `cpix.malformed`, `cpix.too-large`, `cpix.version`, `cpix.recipient`, `cpix.algorithm`.
    package init(reading bytes: RawSpan, limits: CPIXLimits = CPIXLimits()) throws(CPIXError) {
        guard bytes.byteCount <= limits.bytes else {
            throw CPIXError(.tooLarge, "the document is longer than \(limits.bytes) bytes")
        }
        let builder = CPIXBuilder(limits)
        var reader = XMLReader(limits: limits.xml)
        do throws(Malformed) {
            // a document is refused at its first fault, not at its end
            for start in stride(from: 0, to: bytes.byteCount, by: 32_768) {
                let piece = bytes.extracting(start..<min(start + 32_768, bytes.byteCount))
                try reader.read(piece, telling: builder)
                if builder.failure != nil { break }
            }
            if builder.failure == nil { try reader.finish(telling: builder) }
        } catch {
            // what the elements before it show comes first
            if builder.failure == nil {
                throw CPIXError(reader.isOverLimit ? .tooLarge : .malformed, error.description)
            }
        }
        self = try builder.finish()
    }
}

/// Builds a document from its elements.
final class CPIXBuilder: XMLVisitor {
    /// The place of an element.
    enum Place {
        case document, root, ignored
        case recipients, recipient, recipientKey, certificates, certificate
        case documentKey, macMethod, macKey
        case keys, key
        case data, secret, plainValue, encryptedValue, cipherData, cipherValue, valueMAC
        case systems, system, systemData
        case periods, period
        case rules, rule, filter
        case history
        case signature
    }

    /// The parts of a key while it is read.
    struct SecretParts {
        var plain: [UInt8]?
        var cipher: [UInt8]?
        var mac: [UInt8]?
        var algorithm: String?
    }

    let limits: CPIXLimits
    var document = CPIXDocument()
    /// The first fault.
    var failure: CPIXError?
    private var places: [Place] = [.document]
    private var text = ""
    /// The number of the last list, which must follow the lists before it.
    private var lastList = -1
    private var parts = SecretParts()
    private var certificate: Certificate?
    var keyIDs: Set<KeyID> = []
    var periodIDs: Set<String> = []
    /// The number of filters of all rules.
    var filters = 0
    /// Element and playlist of the data that are read.
    private var dataName = ""
    private var playlist: CPIXSystem.Playlist?

    private static let lists: [(name: StaticString, place: Place)] = [
        ("DeliveryDataList", .recipients), ("ContentKeyList", .keys), ("DRMSystemList", .systems),
        ("ContentKeyPeriodList", .periods),
        ("ContentKeyUsageRuleList", .rules), ("UpdateHistoryItemList", .history),
    ]

    init(_ limits: CPIXLimits) {
        self.limits = limits
    }

    // MARK: Elements

    var takesText: Bool {
        switch places.last {
        case .certificate, .plainValue, .cipherValue, .valueMAC, .systemData: failure == nil
        default: false
        }
    }

    func take(_ text: String) { self.text += text }

    func start(_ tag: borrowing XMLTag) {
        guard failure == nil, let parent = places.last else { return }
        do throws(CPIXError) {
            let place = try place(of: tag, in: parent)
            places.append(place)
            try begin(place, in: parent, tag)
        } catch {
            failure = error
        }
    }

    func end() {
        guard failure == nil, let place = places.popLast() else { return }
        do throws(CPIXError) { try finish(place) } catch { failure = error }
        text = ""
    }

    /// The place of an element in another; `.ignored` for one without a meaning here.
    private func place(of tag: borrowing XMLTag, in parent: Place) throws(CPIXError) -> Place {
        let isOwn = tag.isIn(CPIXNamespace.cpix)
        switch parent {
        case .ignored, .history: return .ignored
        case .signature: return .signature
        case .document:
            guard isOwn, tag.isNamed("CPIX") else { throw malformed("the root element is not CPIX of \(CPIXNamespace.cpix)") }
            return .root
        case .root:
            if tag.isIn(CPIXNamespace.signature), tag.isNamed("Signature") { return .signature }
            guard isOwn else { return .ignored }
            guard let list = Self.lists.firstIndex(where: { tag.isNamed($0.name) }) else { return try unknown(tag, "CPIX") }
            guard limits.isLenient || list > lastList else {
                throw malformed("\(tag.local) is there twice, or after a list that it must precede")
            }
            lastList = list
            return Self.lists[list].place
        case .recipients: return try expect(tag, isOwn, "DeliveryData", .recipient)
        case .keys: return try expect(tag, isOwn, "ContentKey", .key)
        case .systems: return try expect(tag, isOwn, "DRMSystem", .system)
        case .periods: return try expect(tag, isOwn, "ContentKeyPeriod", .period)
        case .rules: return try expect(tag, isOwn, "ContentKeyUsageRule", .rule)
        case .recipient:
            guard isOwn else { return .ignored }
            if tag.isNamed("DeliveryKey") { return .recipientKey }
            if tag.isNamed("DocumentKey") { return .documentKey }
            return tag.isNamed("MACMethod") ? .macMethod : .ignored
        case .recipientKey: return tag.isIn(CPIXNamespace.signature) && tag.isNamed("X509Data") ? .certificates : .ignored
        case .certificates: return tag.isIn(CPIXNamespace.signature) && tag.isNamed("X509Certificate") ? .certificate : .ignored
        case .key, .documentKey: return isOwn && tag.isNamed("Data") ? .data : .ignored
        case .macMethod:
            // the schema has it in the namespace of PSKC, and documents have it in either
            return tag.isNamed("Key") || tag.isNamed("MACKey") ? .macKey : .ignored
        case .data: return tag.isIn(CPIXNamespace.pskc) && tag.isNamed("Secret") ? .secret : .ignored
        case .secret:
            guard tag.isIn(CPIXNamespace.pskc) else { return .ignored }
            if tag.isNamed("PlainValue") { return .plainValue }
            if tag.isNamed("EncryptedValue") { return .encryptedValue }
            return tag.isNamed("ValueMAC") ? .valueMAC : .ignored
        case .encryptedValue, .macKey:
            guard tag.isIn(CPIXNamespace.encryption) else { return .ignored }
            return tag.isNamed("CipherData") ? .cipherData : .ignored
        case .cipherData: return tag.isIn(CPIXNamespace.encryption) && tag.isNamed("CipherValue") ? .cipherValue : .ignored
        case .system: return isOwn ? .systemData : .ignored
        case .rule: return isOwn ? .filter : .ignored
        case .period, .filter, .certificate, .plainValue, .cipherValue, .valueMAC, .systemData: return .ignored
        }
    }

    private func expect(_ tag: borrowing XMLTag, _ isOwn: Bool, _ name: StaticString, _ place: Place) throws(CPIXError) -> Place {
        if isOwn, tag.isNamed(name) { return place }
        return isOwn ? try unknown(tag, "a list of \(name)") : .ignored
    }

    private func unknown(_ tag: borrowing XMLTag, _ parent: String) throws(CPIXError) -> Place {
        guard limits.isLenient else { throw malformed("\(parent) has an unknown element, \(tag.local.prefix(64))") }
        return .ignored
    }

    private func begin(_ place: Place, in parent: Place, _ tag: borrowing XMLTag) throws(CPIXError) {
        switch place {
        case .root: try beginRoot(tag)
        case .recipient:
            try require(document.recipients.count < limits.recipients, "\(limits.recipients) recipients")
            certificate = nil
            recipient = RecipientParts(id: tag["id"], name: tag["name"])
        case .documentKey:
            guard recipient?.hasDocumentKey == false else {
                throw malformed("\(recipientName) has two document keys")
            }
            recipient?.hasDocumentKey = true
            parts = SecretParts()
        case .macMethod:
            guard recipient?.hasMAC == false else { throw malformed("\(recipientName) has two MAC methods") }
            recipient?.hasMAC = true
            let algorithm = tag["Algorithm"] ?? ""
            guard algorithm == CPIXAlgorithm.mac else {
                let reason = CPIXAlgorithm.isSHA1(algorithm) ? "SHA-1 is broken" : "the format has HMAC-SHA-512"
                throw CPIXError(.algorithm, "\(recipientName) has the MAC method '\(algorithm.prefix(128))': \(reason)")
            }
        case .macKey: parts = SecretParts()
        case .key: try beginKey(tag)
        case .data:
            if parent == .key { parts = SecretParts() }
        case .system: try beginSystem(tag)
        case .systemData:
            dataName = tag.local
            playlist = try playlist(tag["playlist"])
        case .period: try beginPeriod(tag)
        case .rule: try beginRule(tag)
        case .filter: try beginFilter(tag)
        case .signature:
            if parent == .root, document.warnings.isEmpty { document.warnings.append(.unverifiedSignature) }
            if tag.isNamed("SignatureMethod") || tag.isNamed("DigestMethod"), let algorithm = tag["Algorithm"],
                CPIXAlgorithm.isSHA1(algorithm)
            {
                throw CPIXError(.algorithm, "the document's signature uses SHA-1, which is broken")
            }
        case .ignored:
            guard parent == .encryptedValue || parent == .macKey, tag.isNamed("EncryptionMethod") else { return }
            parts.algorithm = tag["Algorithm"]
        default: return
        }
    }

    private func finish(_ place: Place) throws(CPIXError) {
        switch place {
        case .certificate:
            // the recipient's own certificate is the first; its issuers may follow
            if certificate == nil { certificate = try readCertificate() }
        case .plainValue: parts.plain = try bytes("a key")
        case .cipherValue: parts.cipher = try bytes("an encrypted key")
        case .valueMAC: parts.mac = try bytes("the code of an encrypted key")
        case .documentKey: recipient?.documentKey = try transportedKey("document key")
        case .macKey: recipient?.macKey = try transportedKey("key of codes")
        case .recipient: try finishRecipient()
        case .key: try finishKey()
        case .systemData: try finishSystemData()
        default: return
        }
    }

    // MARK: Recipients

    /// The parts of a recipient while it is read.
    private struct RecipientParts {
        var id: String?
        var name: String?
        var hasDocumentKey = false
        var hasMAC = false
        var documentKey: [UInt8]?
        var macKey: [UInt8]?
    }

    private var recipient: RecipientParts?
    private var recipientName: String { "recipient \(document.recipients.count + 1)" }

    private func readCertificate() throws(CPIXError) -> Certificate {
        let der = try bytes("the certificate of \(recipientName)")
        let certificate: Certificate
        do throws(CryptoError) { certificate = try Certificate(der: der) } catch {
            throw CPIXError(.recipient, "the certificate of \(recipientName) cannot be read")
        }
        try CPIXRecipient.check(certificate, named: recipientName, rsaBits: limits.rsaBits)
        return certificate
    }

    private func transportedKey(_ name: String) throws(CPIXError) -> [UInt8] {
        guard let algorithm = parts.algorithm, algorithm == CPIXAlgorithm.keyTransport else {
            let given = parts.algorithm.map { "'\($0.prefix(128))'" } ?? "no algorithm"
            throw CPIXError(
                .algorithm,
                "the \(name) of \(recipientName) is encrypted with \(given): only rsa-oaep-mgf1p is accepted"
            )
        }
        guard let cipher = parts.cipher else { throw malformed("the \(name) of \(recipientName) has no value") }
        return cipher
    }

    private func finishRecipient() throws(CPIXError) {
        guard let recipient else { return }
        guard let certificate else {
            throw CPIXError(.recipient, "\(recipientName) has no X.509 certificate, and other kinds of keys are not accepted")
        }
        document.recipients.append(
            CPIXRecipient(
                id: recipient.id,
                name: recipient.name,
                certificate: certificate,
                documentKey: recipient.documentKey,
                macKey: recipient.macKey
            )
        )
    }

    // MARK: Keys

    private func finishKey() throws(CPIXError) {
        guard let last = document.keys.indices.last else { return }
        let name = "the key \(document.keys[last].id.uuid)"
        defer { parts = SecretParts() }
        switch (parts.plain?.count, parts.cipher) {
        case (nil, nil): return
        case (let count?, nil):
            guard count == 16 else { throw malformed("\(name) has \(count) bytes, and content keys have 16") }
            // the only reference to the bytes, so that they are wiped and no copy
            var plain = parts.plain.take() ?? []
            document.keys[last].value = .clear(Secret(copying: plain.rawSpan))
            SecretMemory.wipe(&plain)
        case (nil, let cipher?):
            guard let algorithm = parts.algorithm, algorithm == CPIXAlgorithm.cipher else {
                let given = parts.algorithm.map { "'\($0.prefix(128))'" } ?? "no algorithm"
                throw CPIXError(.algorithm, "\(name) is encrypted with \(given): the format has AES-256-CBC")
            }
            document.keys[last].value = .encrypted(cipher: cipher, mac: parts.mac)
        default: throw malformed("\(name) is both clear and encrypted")
        }
    }

    // MARK: Systems

    private func finishSystemData() throws(CPIXError) {
        guard let last = document.systems.indices.last else { return }
        guard dataName != "SmoothStreamingProtectionHeaderData" else {
            document.systems[last].smoothStreaming = text
            return
        }
        guard ["PSSH", "ContentProtectionData", "URIExtXKey", "HLSSignalingData"].contains(dataName) else { return }
        let value = try bytes("\(dataName) of the key \(document.systems[last].keyID.uuid)")
        switch dataName {
        case "PSSH": document.systems[last].protectionBox = value
        case "ContentProtectionData": document.systems[last].contentProtection = value
        case "URIExtXKey": document.systems[last].keyURI = value
        default:
            guard document.systems[last].hlsSignaling.updateValue(value, forKey: playlist) == nil || limits.isLenient else {
                throw malformed("the key \(document.systems[last].keyID.uuid) has HLSSignalingData twice for the same playlist")
            }
        }
    }

    private func playlist(_ name: String?) throws(CPIXError) -> CPIXSystem.Playlist? {
        switch name {
        case nil: return nil
        case "media": return .media
        case "master", "multiVariant": return .multivariant
        default:
            guard limits.isLenient else { throw malformed("a playlist is 'media', 'master' or 'multiVariant'") }
            return nil
        }
    }

    // MARK: Text

    /// The base 64 of the element's text, which may have line breaks.
    private func bytes(_ name: String) throws(CPIXError) -> [UInt8] {
        if let bytes = Base64.decode(text) { return bytes }
        guard let bytes = Base64.decode(text.filter { !$0.isWhitespace }) else { throw malformed("\(name) is not base 64") }
        return bytes
    }

    func malformed(_ message: String) -> CPIXError { CPIXError(.malformed, message) }

    func require(_ isWithin: Bool, _ limit: String) throws(CPIXError) {
        guard isWithin else { throw CPIXError(.tooLarge, "the document has more than \(limit)") }
    }
}
