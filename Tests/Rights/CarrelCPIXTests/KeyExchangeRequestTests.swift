// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCPIX
import CarrelCrypto
import CarrelMP4
import CarrelRights
import CarrelTesting
import CarrelXML
import Testing

/// MP4 files have a type of the same name.
private typealias ID = CarrelRights.KeyID

struct `A packager's request` {
    typealias Dialect = KeyExchangeRequest.Dialect

    /// The keys of a request: the SHA-256 of each id.
    private static func keys(_ request: KeyExchangeRequest) -> [ID: Secret] {
        Dictionary(uniqueKeysWithValues: request.keyIDs.map { ($0, key($0)) })
    }

    private static func key(_ id: ID) -> Secret { Secret(Array(SHA256.hash(id.bytes.rawSpan).prefix(16))) }

    /// Reads a fixture, and answers it.
    private static func answer(_ name: String, _ dialect: Dialect) throws -> (
        request: XMLElement, response: XMLElement, bytes: [UInt8]
    ) {
        let bytes = try Fixtures.bytes("drm/speke/\(name).xml")
        let request = try KeyExchangeRequest(reading: bytes.rawSpan, as: dialect)
        let response = try request.response(keys(request), clearKeyURL: "https://carrel.test/v1/clear-key?a&b")
        return (try XMLElement.parse(bytes.rawSpan), try XMLElement.parse(response.rawSpan), response)
    }

    private static func entries(_ root: XMLElement, _ list: String) -> [XMLElement] { root.child(list)?.children ?? [] }

    private static func text(_ element: XMLElement?) -> String? {
        element.flatMap { Base64.decode($0.text) }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Whether a tree has every element and attribute of another one, in the same order.
    private static func keeps(_ request: XMLElement, _ response: XMLElement) -> Bool {
        guard request.name == response.name, Set(request.attributes).isSubset(of: response.attributes) else { return false }
        var rest = response.children[...]
        for child in request.children {
            guard let place = rest.firstIndex(where: { keeps(child, $0) }) else { return false }
            rest = rest[(place + 1)...]
        }
        return true
    }

    @Test(arguments: [
        ("1_generic_spekev2_dash_widevine_preset_video_1_audio_1_no_rotation", Dialect.speke2(version: "2.0")),
        ("2_speke_v1_style_implementation", .speke2(version: "2.0")), ("testcase2-video3-audio2-3drm", .speke2(version: "2.0")),
        ("v2-request-3drm", .speke2(version: "2.0")), ("v1-request-live-hls-aes128", .speke1), ("v2-request-3drm", .cpix),
    ])
    func `keeps all its elements and attributes in the response`(name: String, dialect: Dialect) throws {
        let (request, response, bytes) = try Self.answer(name, dialect)
        #expect(Self.keeps(request, response))
        let lenient = dialect == .speke1
        var limits = CPIXLimits.request
        limits.isLenient = lenient
        let document = try CPIXDocument(reading: bytes.rawSpan, limits: limits)
        #expect(!document.keys.isEmpty && document.keys.allSatisfy { $0.secret == Self.key($0.id) })
    }

    @Test func `of SPEKE 1 gets the address, the format and the versions of an AES-128 key`() throws {
        let (_, response, _) = try Self.answer("v1-request-live-hls-aes128", .speke1)
        let system = try #require(Self.entries(response, "DRMSystemList").first)
        #expect(Self.text(system.child("KeyFormat")) == "identity" && Self.text(system.child("KeyFormatVersions")) == "1")
        #expect(Self.text(system.child("URIExtXKey")) == "urn:marlin-drm?CID=urn:marlin:kid:6c5f52067d98480884d894f132c1e9fe")
        // AES-128 has neither
        #expect(system.child("PSSH")?.text == "" && system.child("ProtectionHeader")?.text == "")
        #expect(response["id"] == "5E99137A-BD6C-4ECC-A24D-A3EE04B4E011")
    }

    @Test func `gets the public minimum of other vendors' systems, and nothing else`() throws {
        let (_, response, _) = try Self.answer("testcase2-video3-audio2-3drm", .speke2(version: "2.0"))
        let systems = Self.entries(response, "DRMSystemList")
        #expect(systems.count == 15)
        for system in systems {
            let id = try #require(ID(uuid: system["kid"] ?? ""))
            let box = Base64.decode(system.child("PSSH")?.text ?? "") ?? []
            let lines = system.children.filter { $0.name.local == "HLSSignalingData" }.map { Self.text($0) ?? "" }
            #expect(lines.count == 2 && lines[0].hasPrefix("#EXT-X-KEY:METHOD=SAMPLE-AES,"))
            #expect(lines[1] == lines[0].replacing("#EXT-X-KEY", with: "#EXT-X-SESSION-KEY"))
            switch system["systemId"] {
            case "edef8ba9-79d6-4ace-a3c8-27dcd51d21ed":
                // field 2 of Widevine's message: the id
                #expect(Self.header(box)?.data == [0x12, 16] + id.bytes)
                #expect(Self.text(system.child("ContentProtectionData"))?.contains(Base64.encode(box)) == true)
                #expect(lines[0].contains("URI=\"data:text/plain;base64,\(Base64.encode(box))\""))
            case "9a04f079-9840-4286-ab92-e65be0885f95":
                let object = try #require(Self.header(box)?.data)
                #expect(object[0] == UInt8(truncatingIfNeeded: object.count) && object[4...7] == [1, 0, 1, 0])
                let header = String(decoding: stride(from: 10, to: object.count, by: 2).map { object[$0] }, as: UTF8.self)
                let bytes = id.bytes
                let guid = [3, 2, 1, 0, 5, 4, 7, 6].map { bytes[$0] } + bytes[8...]
                #expect(
                    header
                        == "<WRMHEADER xmlns=\"http://schemas.microsoft.com/DRM/2007/03/PlayReadyHeader\" version=\"4.3.0.0\"><DATA>"
                        + "<PROTECTINFO><KIDS><KID ALGID=\"AESCBC\" VALUE=\"\(Base64.encode(guid))\"></KID></KIDS></PROTECTINFO></DATA></WRMHEADER>"
                )
                #expect(lines[0].contains("KEYFORMAT=\"com.microsoft.playready\""))
            default:
                #expect(box.isEmpty && lines[0].contains("URI=\"skd://\(id.uuid)\",KEYFORMAT=\"com.apple.streamingkeydelivery\""))
            }
        }
        // the vector of cbcs, the same for each request
        let keys = Self.entries(response, "ContentKeyList")
        #expect(Set(keys.compactMap { $0["explicitIV"] }).count == keys.count)
        let again = try Self.answer("testcase2-video3-audio2-3drm", .speke2(version: "2.0"))
        #expect(again.response == response)
    }

    private static func header(_ box: [UInt8]) -> ProtectionSystemHeader? {
        guard box.count > 8 else { return nil }
        return ProtectionSystemHeader("pssh", box.rawSpan.extracting(droppingFirst: 8))
    }

    @Test func `gets the common header, ClearKey and Carrel's own`() throws {
        let id = CPIXSamples.ids[0]
        let systems = [
            "1077efec-c0b2-4d02-ace3-3c1e52e2fb4b", "e2719d58-a985-b3c9-781a-b030af78d30e",
            "e5a7c0a4-b92b-4539-85d1-77cdfa9339b7",
        ]
        let list = systems.map {
            "<DRMSystem systemId=\"\($0)\" kid=\"\(id.uuid)\"><PSSH/><ContentProtectionData/><HLSSignalingData/></DRMSystem>"
        }
        let text = CPIXSamples.document(
            "<ContentKeyList><ContentKey kid=\"\(id.uuid)\"/></ContentKeyList><DRMSystemList>\(list.joined())</DRMSystemList>"
        )
        let request = try KeyExchangeRequest(reading: text.rawSpan, as: .cpix)
        let bytes = try request.response(Self.keys(request), clearKeyURL: "https://carrel.test/v1/clear-key?a&b")
        let response = try XMLElement.parse(bytes.rawSpan)
        for (name, system) in zip(["Common", "ClearKey", "Carrel"], Self.entries(response, "DRMSystemList")) {
            let header = try #require(Self.header(Base64.decode(system.child("PSSH")?.text ?? "") ?? []))
            #expect(header.name == name && header.keyIDs.map(\.bytes) == [id.bytes] && header.data.isEmpty)
            let protection = try #require(Self.text(system.child("ContentProtectionData")))
            #expect(protection.contains("https://carrel.test/v1/clear-key?a&amp;b") == (name == "ClearKey"))
            #expect(Self.text(system.child("HLSSignalingData"))?.contains("METHOD=SAMPLE-AES-CTR") == true)
        }
    }

    @Test func `gets keys that are encrypted to its recipients`() throws {
        let certificate = try CPIXSamples.certificate("Cert1")
        let recipient = """
            <DeliveryDataList><DeliveryData id="encoder"><DeliveryKey><ds:X509Data><ds:X509Certificate>\(Base64.encode(certificate.der))\
            </ds:X509Certificate></ds:X509Data></DeliveryKey><Description>encoder</Description></DeliveryData></DeliveryDataList>
            """
        let id = CPIXSamples.ids[0]
        let text = CPIXSamples.document("\(recipient)<ContentKeyList><ContentKey kid=\"\(id.uuid)\"/></ContentKeyList>")
        let request = try KeyExchangeRequest(reading: text.rawSpan, as: .cpix)
        let response = try request.response(Self.keys(request))
        #expect(!String(decoding: response, as: UTF8.self).contains("PlainValue"))
        let document = try CPIXSamples.read(response)
        #expect(try document.decrypted(by: CPIXSamples.privateKey("Cert1")).keys.map(\.secret) == [Self.key(id)])
    }

    @Test(arguments: [Dialect.cpix, .speke1])
    func `with a list of recipients and no recipient is refused, and no key is sent in the clear`(dialect: Dialect) throws {
        let keys = "<ContentKeyList><ContentKey kid=\"\(CPIXSamples.ids[0].uuid)\"/></ContentKeyList>"
        var lists = ["<DeliveryDataList/>", "<DeliveryDataList> </DeliveryDataList>"]
        // a lenient reader takes unknown elements
        if dialect == .speke1 { lists += ["<DeliveryDataList><DeliveryDate/></DeliveryDataList>"] }
        for list in lists {
            let text = CPIXSamples.document(list + keys, attributes: "id=\"c\" contentId=\"c\" version=\"2.3\"")
            #expect(throws: CPIXError(.recipient)) { try KeyExchangeRequest(reading: text.rawSpan, as: dialect) }
        }
        let plain = CPIXSamples.document(keys, attributes: "id=\"c\" contentId=\"c\" version=\"2.3\"")
        _ = try KeyExchangeRequest(reading: plain.rawSpan, as: dialect)
    }

    @Test func `may have 24 namespaces, and is refused with more in little time`() throws {
        func request(_ count: Int) -> [UInt8] {
            let elements = (0..<count).map { "<x xmlns=\"urn:\($0)\"/>" }.joined()
            return CPIXSamples.document(
                "<ContentKeyList><ContentKey kid=\"\(CPIXSamples.ids[0].uuid)\"/></ContentKeyList>\(elements)"
            )
        }
        let most = request(CPIXLimits.request.namespaces - 1)
        let read = try KeyExchangeRequest(reading: most.rawSpan, as: .cpix)
        let response = try read.response(Self.keys(read))
        let root = try XMLElement.parse(response.rawSpan)
        #expect(root.children.count == CPIXLimits.request.namespaces)
        let many = request(CPIXLimits.request.namespaces)
        #expect(throws: CPIXError(.tooLarge)) { try KeyExchangeRequest(reading: many.rawSpan, as: .cpix) }
        // 100,000 comparisons of 100,000 namespaces took a minute
        let large = request(100_000)
        let time = ContinuousClock().measure {
            _ = #expect(throws: CPIXError(.tooLarge)) { try KeyExchangeRequest(reading: large.rawSpan, as: .cpix) }
        }
        #expect(time < .seconds(20))
    }

    @Test func `loses its signature by CPIX, because the response is another document`() throws {
        let signature = "<ds:Signature><ds:SignedInfo/></ds:Signature>"
        let text = CPIXSamples.document(
            "<ContentKeyList><ContentKey kid=\"\(CPIXSamples.ids[0].uuid)\"/></ContentKeyList>\(signature)",
            attributes: "id=\"c\" contentId=\"c\" version=\"2.3\""
        )
        for (dialect, isKept) in [(Dialect.cpix, false), (.speke1, true)] {
            let request = try KeyExchangeRequest(reading: text.rawSpan, as: dialect)
            #expect(request.document.warnings == [.unverifiedSignature])
            let response = try request.response(Self.keys(request))
            #expect(String(decoding: response, as: UTF8.self).contains("SignedInfo") == isKept)
        }
    }

    @Test(arguments: [
        ("WeakCert_SmallKey", Dialect.cpix, true), ("WeakCert_SmallKey", .speke2(version: "2.0"), false),
        ("WeakCert_SmallKey", .speke1, false), ("WeakCert_Sha1", .cpix, true), ("WeakCert_Sha1", .speke2(version: "2.0"), true),
        ("WeakCert_Sha1", .speke1, true),
    ])
    func `with a weak recipient is refused, by the rules of its protocol`(name: String, dialect: Dialect, isRefused: Bool) throws
    {
        let certificate = try CPIXSamples.certificate(name)
        let text = String(
            decoding: try Fixtures.bytes("drm/speke/1_generic_spekev2_dash_widevine_preset_video_1_audio_1_no_rotation.xml"),
            as: UTF8.self
        )
        let recipient = """
            <cpix:DeliveryDataList><cpix:DeliveryData><cpix:DeliveryKey><ds:X509Data><ds:X509Certificate>\
            \(Base64.encode(certificate.der))</ds:X509Certificate></ds:X509Data></cpix:DeliveryKey></cpix:DeliveryData>\
            </cpix:DeliveryDataList><cpix:ContentKeyList>
            """
        let bytes = Array(text.replacing("<cpix:ContentKeyList>", with: recipient).utf8)
        if isRefused {
            #expect(throws: CPIXError(.recipient)) { try KeyExchangeRequest(reading: bytes.rawSpan, as: dialect) }
        } else {
            let request = try KeyExchangeRequest(reading: bytes.rawSpan, as: dialect)
            #expect(String(decoding: try request.response(Self.keys(request)), as: UTF8.self).contains("ValueMAC"))
        }
    }

    /// Replacements in a good request of SPEKE 2.0, and a part of the refusal.
    private static let violations: [(from: String, to: String, message: String)] = [
        ("contentId=\"test_case_generic\"", "", "names no content in contentId"),
        (" commonEncryptionScheme=\"cenc\"", "", "has no commonEncryptionScheme"),
        ("commonEncryptionScheme=\"cenc\"", "commonEncryptionScheme=\"SAMPLE-AES\"", "which SPEKE 2.0 does not have"),
        (" intendedTrackType=\"VIDEO\"", "", "has no intendedTrackType"),
        ("intendedTrackType=\"VIDEO\"", "intendedTrackType=\"ANY\"", "'ANY' is not a preset of SPEKE"),
        ("intendedTrackType=\"VIDEO\"", "intendedTrackType=\"SD+\"", "'SD+' is not a preset of SPEKE"),
        ("intendedTrackType=\"VIDEO\"", "intendedTrackType=\"AUDIO\"", "do not fit its intendedTrackType, 'AUDIO'"),
        ("<cpix:AudioFilter />", "<cpix:VideoFilter />", "do not fit its intendedTrackType, 'AUDIO'"),
        ("edef8ba9-79d6-4ace-a3c8-27dcd51d21ed", "94ce86fb-07ff-4f43-adb8-93d2fa968ca2", "FairPlay needs the scheme cbcs"),
        ("edef8ba9-79d6-4ace-a3c8-27dcd51d21ed", "3d5e6d35-9b9a-41e8-b843-dd3c6e72c42c", "writes no signaling"),
    ]

    @Test(arguments: violations)
    func `that violates SPEKE 2 is refused`(row: (from: String, to: String, message: String)) throws {
        let text = String(
            decoding: try Fixtures.bytes("drm/speke/1_generic_spekev2_dash_widevine_preset_video_1_audio_1_no_rotation.xml"),
            as: UTF8.self
        )
        #expect(text.contains(row.from))
        let bytes = Array(text.replacing(row.from, with: row.to).utf8)
        let error = try #require(throws: CPIXError.self) {
            try KeyExchangeRequest(reading: bytes.rawSpan, as: .speke2(version: "2.0"))
        }
        #expect(error.message.contains(row.message), "\(error)")
    }

    @Test(arguments: [
        ("2.0", "2.3", true), ("2.1", "2.4", true), ("2.0", "2.4", false), ("2.1", "2.3", false), ("1.0", "2.3", false),
        ("3.0", "2.3", false), (nil, "2.3", false), ("2.0", "4.0", false),
    ])
    func `of another version of SPEKE or CPIX is refused`(speke: String?, cpix: String, isRead: Bool) throws {
        let text = String(decoding: try Fixtures.bytes("drm/speke/v2-request-3drm.xml"), as: UTF8.self)
        let bytes = Array(
            text.replacing("version=\"2.3\"", with: "version=\"\(cpix)\"").replacing("\"cenc\"", with: "\"cbcs\"")
                .replacing("\"master\"", with: cpix == "2.4" ? "\"multiVariant\"" : "\"master\"").utf8
        )
        guard !isRead else {
            _ = try KeyExchangeRequest(reading: bytes.rawSpan, as: .speke2(version: speke))
            return
        }
        let error = try #require(throws: CPIXError(.spekeVersion)) {
            try KeyExchangeRequest(reading: bytes.rawSpan, as: .speke2(version: speke))
        }
        #expect(error.message == "Unsupported SPEKE version")
    }

    @Test func `with a key in it is refused`() throws {
        let text = CPIXSamples.document("<ContentKeyList>\(CPIXSamples.key(1))</ContentKeyList>")
        let error = try #require(throws: CPIXError(.contract)) { try KeyExchangeRequest(reading: text.rawSpan, as: .cpix) }
        #expect(error.message.contains("carrel content-key import"))
        let empty = CPIXSamples.document("")
        #expect(throws: CPIXError(.contract)) { try KeyExchangeRequest(reading: empty.rawSpan, as: .cpix) }
    }

    @Test func `of SPEKE 1 may have lists twice, elements of others, and ids without hyphens`() throws {
        let (one, two) = (CPIXSamples.ids[0], CPIXSamples.ids[1])
        let text = CPIXSamples.document(
            """
            <x:ContentKeyList xmlns:x="urn:x"><x:ContentKey/></x:ContentKeyList><DRMSystemList><DRMSystem kid="\(one.uuid)" \
            systemId="81376844-f976-481e-a84e-cc25d39b0b33"><URIExtXKey/></DRMSystem></DRMSystemList><ContentKeyList>\
            <ContentKey kid="\(one.hex)" explicitIV=""/><New/></ContentKeyList><ContentKeyList><ContentKey kid="\(two.uuid)"/></ContentKeyList>
            """,
            attributes: "id=\"c\""
        )
        let request = try KeyExchangeRequest(reading: text.rawSpan, as: .speke1)
        #expect(request.keyIDs == [one, two])
        let response = String(decoding: try request.response(Self.keys(request)), as: UTF8.self)
        #expect(response.split(separator: "PlainValue>").count == 5 && response.contains("xmlns:ns"))
        #expect(throws: CPIXError(.malformed)) { try KeyExchangeRequest(reading: text.rawSpan, as: .cpix) }
    }
}
