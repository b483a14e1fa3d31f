// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCPIX
import CarrelCrypto
import CarrelRights
import CarrelTesting
import Testing

struct `A document` {
    @Test(arguments: CPIXDocument.Version.allCases)
    func `is the same when it is written and read again`(version: CPIXDocument.Version) throws {
        var full = CPIXSamples.full
        if version == .v24 { full.periods[0].startOffset = "PT0S" }
        let written = try full.write(as: version)
        let read = try CPIXSamples.read(written)
        #expect(read.version == version && read.contentID == full.contentID)
        #expect(read.keys.map(\.secret) == full.keys.map(\.secret) && read.keys.map(\.id) == full.keys.map(\.id))
        #expect(
            read.keys.map(\.explicitIV) == full.keys.map(\.explicitIV) && read.keys.map(\.dependsOn) == full.keys.map(\.dependsOn)
        )
        #expect(read.systems == full.systems && read.periods == full.periods && read.rules == full.rules)
        #expect(try read.write(as: version) == written)
        let text = String(decoding: written, as: UTF8.self)
        #expect(text.contains(version == .v23 ? "playlist=\"master\"" : "playlist=\"multiVariant\""))
    }

    @Test func `of 2.3 follows the schema, in the clear and encrypted`() async throws {
        try await Self.validate(CPIXSamples.full.write(as: .v23), schema: "cpix.xsd")
        let recipients = [try CPIXSamples.certificate("Cert1"), try CPIXSamples.certificate("Cert2")]
        try await Self.validate(CPIXSamples.full.write(as: .v23, to: recipients), schema: "cpix.xsd")
    }

    /// Validates a document with xmllint and a schema of the fixtures.
    static func validate(_ document: [UInt8], schema: String) async throws {
        let lint = try requirePeer("xmllint")
        let path = try Fixtures.path("drm/cpix/\(schema)")
        // the schema imports the attributes of XML, which libxml2 would load from the W3C
        let result = try await runProcess([lint, "--nonet", "--noout", "--schema", path, "-"], input: document)
        #expect(result.status == .exited(0), "\(result.errorText)")
    }

    @Test func `is opened by each recipient, and with no other key`() async throws {
        let certificates = try TestCertificates()
        let first = try Certificate(
            der: await certificates.make("first", extensions: TestCertificates.signer, key: .rsa(bits: 3072))
        )
        let second = try Certificate(
            der: await certificates.make("second", extensions: TestCertificates.signer, key: .rsa(bits: 4096))
        )
        try await certificates.makeKey("other", .rsa(bits: 3072))
        let document = try CPIXSamples.read(CPIXSamples.full.write(as: .v23, to: [first, second]))
        #expect(document.keys.allSatisfy { $0.secret == nil })
        for name in ["first", "second"] {
            let file = Secret(try #require(certificates.directory.read("\(name).key")))
            let key = try RSAPrivateKey(file: file, password: Secret([]))
            #expect(!RSAPrivateKey.needsPassword(file))
            #expect(try document.decrypted(by: key).keys.map { $0.secret } == CPIXSamples.secrets)
        }
        let other = try RSAPrivateKey(file: Secret(try #require(certificates.directory.read("other.key"))), password: Secret([]))
        #expect(throws: CPIXError(.missingKey)) { try document.decrypted(by: other) }
    }

    @Test func `is opened with a private key under a password`() async throws {
        let certificates = try TestCertificates()
        let certificate = try Certificate(
            der: await certificates.make("one", extensions: TestCertificates.signer, key: .rsa(bits: 3072))
        )
        let document = try CPIXSamples.read(CPIXSamples.full.write(as: .v23, to: [certificate]))
        let folder = certificates.directory
        try await checkProcess([
            try requirePeer("openssl"), "pkcs8", "-topk8", "-in", "\(folder.path)/one.key", "-out", "\(folder.path)/locked.pem",
            "-passout", "pass:secret",
        ])
        let file = Secret(try #require(folder.read("locked.pem")))
        #expect(RSAPrivateKey.needsPassword(file))
        for password in ["", "wrong"] {
            #expect(throws: CryptoError(.key)) { try RSAPrivateKey(file: file, password: Secret(Array(password.utf8))) }
        }
        let key = try RSAPrivateKey(file: file, password: Secret(Array("secret".utf8)))
        #expect(try document.decrypted(by: key).keys.map { $0.secret } == CPIXSamples.secrets)
    }

    /// Replacements in an encrypted document, and the code that each is refused with.
    private static let alterations: [(from: String, to: String, code: CPIXError.Code)] = [
        ("hmac-sha512", "hmac-sha1", .algorithm), ("hmac-sha512", "hmac-sha256", .algorithm),
        ("xmlenc#aes256-cbc", "xmlenc#aes128-cbc", .algorithm), ("xmlenc#rsa-oaep-mgf1p", "xmlenc#rsa-1_5", .algorithm),
        ("<cpix:MACMethod ", "<cpix:Other ", .malformed), ("<pskc:ValueMAC>", "<pskc:ValueMAC>AAAA", .integrity),
        ("version=\"2.3\"", "version=\"2.2\"", .version), ("version=\"2.3\"", "version=\"4.0\"", .version),
    ]

    @Test(arguments: alterations) func `that was altered is refused`(row: (from: String, to: String, code: CPIXError.Code)) throws
    {
        let key = try CPIXSamples.privateKey("Cert1")
        let written = try CPIXSamples.full.write(as: .v23, to: [try CPIXSamples.certificate("Cert1")])
        let text = String(decoding: written, as: UTF8.self)
        let altered = Array(text.replacing(row.from, with: row.to, maxReplacements: 1).utf8)
        #expect(altered != written)
        let error = try #require(throws: CPIXError.self) { try CPIXSamples.read(altered).decrypted(by: key) }
        #expect(error.code == row.code, "\(error)")
    }

    @Test func `without a code for a key, or without a MAC method, is refused`() throws {
        let key = try CPIXSamples.privateKey("Cert1")
        let text = String(
            decoding: try CPIXSamples.full.write(as: .v23, to: [try CPIXSamples.certificate("Cert1")]),
            as: UTF8.self
        )
        let mac = try #require(text.firstRange(of: "<pskc:ValueMAC>")?.lowerBound)
        let macEnd = try #require(text.firstRange(of: "</pskc:ValueMAC>")?.upperBound)
        let withoutCode = text.replacingSubrange(mac..<macEnd)
        #expect(throws: CPIXError(.integrity)) { try CPIXSamples.read(Array(withoutCode.utf8)).decrypted(by: key) }
        let method = try #require(text.firstRange(of: "<cpix:MACMethod")?.lowerBound)
        let methodEnd = try #require(text.firstRange(of: "</cpix:MACMethod>")?.upperBound)
        let withoutMethod = text.replacingSubrange(method..<methodEnd)
        #expect(throws: CPIXError(.integrity)) { try CPIXSamples.read(Array(withoutMethod.utf8)).decrypted(by: key) }
    }

    @Test func `with two document keys is refused`() throws {
        let key = try CPIXSamples.privateKey("Cert1")
        let certificate = try CPIXSamples.certificate("Cert1")
        let first = String(decoding: try CPIXSamples.full.write(as: .v23, to: [certificate]), as: UTF8.self)
        let second = String(decoding: try CPIXSamples.full.write(as: .v23, to: [certificate]), as: UTF8.self)
        func part(_ text: String, _ name: String) throws -> String {
            let start = try #require(text.firstRange(of: "<cpix:\(name)>")?.lowerBound)
            return String(text[start..<(try #require(text.firstRange(of: "</cpix:\(name)>")?.upperBound))])
        }
        // in one recipient
        let documentKey = try part(first, "DocumentKey")
        let twice = first.replacing(documentKey, with: documentKey + documentKey)
        let error = try #require(throws: CPIXError(.malformed)) { try CPIXSamples.read(Array(twice.utf8)) }
        #expect(error.message == "recipient 1 has two document keys")
        // of one recipient in two entries
        let delivery = try part(first, "DeliveryData")
        let both = first.replacing(delivery, with: delivery + (try part(second, "DeliveryData")))
        #expect(throws: CPIXError(.integrity)) { try CPIXSamples.read(Array(both.utf8)).decrypted(by: key) }
        let same = first.replacing(delivery, with: delivery + delivery)
        #expect(try CPIXSamples.read(Array(same.utf8)).decrypted(by: key).keys.map { $0.secret } == CPIXSamples.secrets)
    }

    /// Contents of a document that are refused, with the code and a part of the message.
    private static let refusals: [(content: String, code: CPIXError.Code, message: String)] = [
        ("<ContentKeyList><ContentKey/></ContentKeyList>", .malformed, "kid of content key 1 is missing"),
        ("<ContentKeyList><ContentKey kid=\"1\"/></ContentKeyList>", .malformed, "kid of content key 1 is not a UUID"),
        ("<ContentKeyList>\(CPIXSamples.key(1))\(CPIXSamples.key(1))</ContentKeyList>", .malformed, "is there twice"),
        (
            "<ContentKeyList>\(CPIXSamples.key(1).replacing("AAAAAAAAAAAAAAAAAAAAAA==", with: "AAAA"))</ContentKeyList>",
            .malformed,
            "has 3 bytes"
        ),
        ("<ContentKeyList>\(CPIXSamples.key(1).replacing("AA==", with: "A*"))</ContentKeyList>", .malformed, "is not base 64"),
        ("<ContentKeyList><Key/></ContentKeyList>", .malformed, "unknown element, Key"),
        ("<ContentKeyList/><ContentKeyList/>", .malformed, "ContentKeyList is there twice"),
        ("<DRMSystemList/><ContentKeyList/>", .malformed, "after a list that it must precede"),
        ("<Other/>", .malformed, "unknown element, Other"),
        (
            "<ContentKeyUsageRuleList><ContentKeyUsageRule kid=\"\(CPIXSamples.ids[0].uuid)\"/></ContentKeyUsageRuleList>",
            .malformed,
            "is not in the document"
        ),
        (
            """
            <ContentKeyList>\(CPIXSamples.key(1))</ContentKeyList><ContentKeyUsageRuleList><ContentKeyUsageRule \
            kid="\(CPIXSamples.ids[0].uuid)"><NewFilter/></ContentKeyUsageRule></ContentKeyUsageRuleList>
            """, .malformed, "unknown filter, NewFilter"
        ),
        (
            """
            <ContentKeyList>\(CPIXSamples.key(1))</ContentKeyList><ContentKeyUsageRuleList><ContentKeyUsageRule \
            kid="\(CPIXSamples.ids[0].uuid)"><VideoFilter minPixels="2" maxPixels="1"/></ContentKeyUsageRule></ContentKeyUsageRuleList>
            """, .malformed, "a lower bound that exceeds the upper one"
        ),
        (
            """
            <ContentKeyList>\(CPIXSamples.key(1))</ContentKeyList><ContentKeyUsageRuleList><ContentKeyUsageRule \
            kid="\(CPIXSamples.ids[0].uuid)"><KeyPeriodFilter periodId="p"/></ContentKeyUsageRule></ContentKeyUsageRuleList>
            """, .malformed, "the period 'p'"
        ),
        (
            """
            <ContentKeyPeriodList><ContentKeyPeriod id="p" start="2026-01-02T00:00:00Z" end="2026-01-01T00:00:00Z"/>\
            </ContentKeyPeriodList>
            """, .malformed, "ends before it starts"
        ),
        ("<DeliveryDataList><DeliveryData/></DeliveryDataList>", .recipient, "recipient 1 has no X.509 certificate"),
        (
            "<ds:Signature><ds:SignedInfo><ds:SignatureMethod Algorithm=\"http://www.w3.org/2000/09/xmldsig#rsa-sha1\"/>",
            .algorithm, "SHA-1"
        ),
        (
            """
            <ds:Signature><ds:SignedInfo><ds:Reference><ds:DigestMethod Algorithm="http://www.w3.org/2000/09/xmldsig#sha1"/>
            """, .algorithm, "SHA-1"
        ),
    ]

    @Test(arguments: refusals)
    func `that violates the format is refused`(row: (content: String, code: CPIXError.Code, message: String)) throws {
        let error = try #require(throws: CPIXError.self) { try CPIXSamples.read(CPIXSamples.document(row.content)) }
        #expect(error.code == row.code && error.message.contains(row.message), "\(error)")
    }

    @Test func `with entities is refused`() throws {
        let text = String(decoding: CPIXSamples.document("<ContentKeyList/>"), as: UTF8.self)
        let entities =
            "<!DOCTYPE CPIX [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>" + text.replacing("\"c\"", with: "\"&b;\"")
        let error = try #require(throws: CPIXError(.malformed)) { try CPIXSamples.read(Array(entities.utf8)) }
        #expect(error.message.contains("DOCTYPE"))
    }

    @Test func `with a signature is read with a warning`() throws {
        let signature = """
            <ContentKeyList>\(CPIXSamples.key(1))</ContentKeyList><ds:Signature><ds:SignedInfo><ds:SignatureMethod \
            Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha512"/></ds:SignedInfo></ds:Signature><ds:Signature/>
            """
        let document = try CPIXSamples.read(CPIXSamples.document(signature))
        #expect(document.warnings == [.unverifiedSignature] && document.keys.count == 1)
    }

    @Test(arguments: [true, false])
    func `with more keys than the limit is refused immediately and in little memory`(isEmpty: Bool) async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [isEmpty = isEmpty as Bool] in
            let keys = (0..<100_000).map {
                isEmpty ? "<ContentKey kid=\"\(KeyID(label: "\($0)").uuid)\"/>" : CPIXSamples.key($0)
            }
            let bytes = CPIXSamples.document("<ContentKeyList>\(keys.joined())</ContentKeyList>")
            var code: CPIXError.Code?
            PeakCost.measure {
                do throws(CPIXError) { _ = try CPIXSamples.read(bytes) } catch { code = error.code }
            }
            precondition(code == .tooLarge)
        }
        let cost = try #require(PeakCost(output: result.standardOutputContent))
        guard !PeakCost.isSanitized else { return }
        #expect(cost.seconds < PeakCost.refusalSeconds && cost.mebibytes < 64, "\(cost)")
    }

    @Test func `with the largest number of keys is read`() throws {
        var limits = CPIXLimits()
        limits.keys = 1000
        let list = { (count: Int) in
            CPIXSamples.document("<ContentKeyList>\((0..<count).map(CPIXSamples.key).joined())</ContentKeyList>")
        }
        #expect(try CPIXSamples.read(list(1000), limits: limits).keys.count == 1000)
        let error = try #require(throws: CPIXError(.tooLarge)) { try CPIXSamples.read(list(1001), limits: limits) }
        #expect(error.message == "the document has more than 1000 content keys")
    }
}

extension String {
    /// The text without a part.
    fileprivate func replacingSubrange(_ range: Range<String.Index>) -> String {
        String(self[..<range.lowerBound] + self[range.upperBound...])
    }
}
