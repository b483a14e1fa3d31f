// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCPIX
import CarrelCrypto
import CarrelJSON
import CarrelRights
import CarrelTesting
import Testing

/// Each file of the fixtures, with the result that its table states.
struct `A fixture` {
    /// How a file is used, and the code that refuses it.
    enum Use: Sendable {
        case clearDocument(keys: Int)
        case encryptedDocument(refusal: CPIXError.Code?)
        case expectations
        case schema
        case speke1(keys: Int)
        case speke2(keys: Int)
        case refusedSPEKE2(CPIXError.Code)
        case recipient(refusal: String?)
        case privateKey
    }

    static let files: [(name: String, use: Use)] = [
        ("cpix/axinom-demo-multikey-clear.xml", .clearDocument(keys: 3)),
        ("cpix/cpix.xsd", .schema), ("cpix/pskc.xsd", .schema), ("cpix/xenc-schema.xsd", .schema),
        ("cpix/xmldsig-core-schema.xsd", .schema),
        ("cpix/selfmade-encrypted-bad-mac.xml", .encryptedDocument(refusal: .integrity)),
        ("cpix/selfmade-encrypted-expected.json", .expectations),
        ("cpix/selfmade-encrypted-two-recipients.xml", .encryptedDocument(refusal: nil)),
        ("cpix/selfmade-encrypted-with-documentkey-algorithm-attr.xml", .encryptedDocument(refusal: nil)),
        ("pki/Cert1.cer", .recipient(refusal: nil)), ("pki/Cert1.pfx", .privateKey), ("pki/Cert2.cer", .recipient(refusal: nil)),
        ("pki/Cert2.pfx", .privateKey), ("pki/WeakCert_Sha1.cer", .recipient(refusal: "SHA-1")),
        ("pki/WeakCert_SmallKey.cer", .recipient(refusal: "2048 bits")),
        ("speke/1_generic_spekev2_dash_widevine_preset_video_1_audio_1_no_rotation.xml", .speke2(keys: 2)),
        ("speke/2_speke_v1_style_implementation.xml", .speke2(keys: 1)),
        ("speke/3_negative_wrong_version_spekev2_dash_widevine.xml", .refusedSPEKE2(.spekeVersion)),
        // a rule of it is for a period that is not there
        ("speke/4_spekev2_negative_preset_shared_video.xml", .refusedSPEKE2(.malformed)),
        ("speke/5_spekev2_negative_preset_shared_audio.xml", .refusedSPEKE2(.contract)),
        ("speke/testcase2-video3-audio2-3drm.xml", .speke2(keys: 5)), ("speke/v1-request-live-hls-aes128.xml", .speke1(keys: 1)),
        ("speke/v2-request-3drm.xml", .speke2(keys: 2)),
    ]

    @Test func `of these folders is in the table`() throws {
        _ = try Fixtures.path("drm/README.md")
        let found = FixtureFolder.files(["drm/cpix", "drm/speke", "drm/pki"], ending: "").map { String($0.dropFirst(4)) }
        #expect(Set(found) == Set(Self.files.map(\.name)))
    }

    @Test(arguments: files) func `opens, or is refused, as its table says`(file: (name: String, use: Use)) async throws {
        let bytes = try Fixtures.bytes("drm/\(file.name)")
        switch file.use {
        case .clearDocument(let count):
            let document = try CPIXSamples.read(bytes)
            #expect(document.keys.compactMap(\.secret).count == count && document.rules.count == 3 && document.warnings.isEmpty)
            #expect(CPIXSamples.hex(document.keys[0].secret) == "2b10364ea99e4fb2d51a5a5f04b43cf2")
            var small = CPIXTrack(.video(pixels: 640 * 360, framesPerSecond: 25), named: "small")
            #expect(try document.keyID(for: small)?.uuid == "f3d588c7-c17a-4033-9035-8db317390be6")
            small.kind = .video(pixels: 1920 * 1080, framesPerSecond: 25)
            #expect(try document.keyID(for: small)?.uuid == "44b18a32-6d36-499d-8b93-a20f948ac5f2")
            small.kind = .audio(channels: 2)
            #expect(try document.keyID(for: small)?.uuid == "ae6e87e2-3c3c-46d1-8e9d-ef4c461d4681")
        case .encryptedDocument(let refusal): try Self.checkEncrypted(bytes, refusal)
        case .expectations: #expect(try JSON.parse(bytes.rawSpan)["keys"]?.array?.count == 2)
        case .schema:
            let written = try CPIXSamples.full.write(as: .v23)
            try await `A document`.validate(written, schema: "cpix.xsd")
            #expect(!bytes.isEmpty)
        case .speke1(let count):
            let request = try KeyExchangeRequest(reading: bytes.rawSpan, as: .speke1)
            #expect(request.keyIDs.count == count && request.contentID == "5E99137A-BD6C-4ECC-A24D-A3EE04B4E011")
        case .speke2(let count):
            let request = try KeyExchangeRequest(reading: bytes.rawSpan, as: .speke2(version: "2.0"))
            #expect(request.keyIDs.count == count)
        case .refusedSPEKE2(let code):
            let error = try #require(throws: CPIXError.self) {
                try KeyExchangeRequest(reading: bytes.rawSpan, as: .speke2(version: "2.0"))
            }
            #expect(error.code == code, "\(error)")
        case .recipient(nil):
            let certificate = try Certificate(der: bytes)
            try CPIXRecipient.check(certificate, named: "it", rsaBits: 3072)
        case .recipient(let refusal?):
            let certificate = try Certificate(der: bytes)
            let error = try #require(throws: CPIXError(.recipient)) {
                try CPIXSamples.full.write(as: .v23, to: [certificate])
            }
            #expect(error.message.contains(refusal))
            // SPEKE allows shorter keys, and no weak digest
            let isShort = refusal.contains("bits")
            #expect((try? CPIXRecipient.check(certificate, named: "it", rsaBits: 2048)) != nil || !isShort)
            #expect((try? CPIXRecipient.check(certificate, named: "it", rsaBits: 2048)) == nil || isShort)
        case .privateKey:
            let name = String(file.name.dropFirst(4).prefix(5))
            let key = try RSAPrivateKey(file: Secret(bytes), password: Secret(Array(name.utf8)))
            #expect(key.belongs(to: try CPIXSamples.certificate(name)))
            #expect(RSAPrivateKey.needsPassword(Secret(bytes)))
            #expect(throws: CryptoError(.key)) { try RSAPrivateKey(file: Secret(bytes), password: Secret(Array("wrong".utf8))) }
        }
    }

    private static func checkEncrypted(_ bytes: [UInt8], _ refusal: CPIXError.Code?) throws {
        let json = try Fixtures.bytes("drm/cpix/selfmade-encrypted-expected.json")
        let expected = try JSON.parse(json.rawSpan)
        let document = try CPIXSamples.read(bytes)
        #expect(document.contentID == expected["content_id"]?.string && document.recipients.count == 2)
        for recipient in ["Cert1", "Cert2"] {
            let key = try CPIXSamples.privateKey(recipient)
            if let refusal {
                let error = try #require(throws: CPIXError.self) { try document.decrypted(by: key) }
                #expect(error.code == refusal && error.message.contains("9eb4050d-e44b-4802-932e-27d75083e266"))
                continue
            }
            let opened = try document.decrypted(by: key)
            for (key, expected) in zip(opened.keys, expected["keys"]?.array ?? []) {
                #expect(key.id.uuid == expected["kid"]?.string && CPIXSamples.hex(key.secret) == expected["key_hex"]?.string)
                #expect(key.scheme == expected["scheme"]?.string)
                #expect(key.explicitIV.map { Hex.encode($0) } == expected["explicit_iv_hex"]?.string)
            }
        }
    }
}
