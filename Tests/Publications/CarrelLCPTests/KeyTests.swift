// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelPublication
import CarrelTesting
import Testing

@testable import CarrelLCP

@Suite("The keys of a license")
struct KeyTests {
    @Test(arguments: FixtureOracles.publications)
    func `of others come out of the passphrase, or out of its digest`(name: String) async throws {
        let oracle = try FixtureOracles()["publications", name]
        let license = try UnverifiedLicense(try await FixtureOracles.license(name)).verified(by: ProfileRegistry())
        let passphrase = try #require(oracle["passphrase"]?.string)
        let digest = try #require(oracle["user_key_hex"]?.string)
        for words in [passphrase, digest, digest.uppercased()] {
            let keys = try UserKey.candidates(words).compactMap { try license.contentKey($0) }
            #expect(keys.map(\.hexDigest) == [oracle["content_key_sha256"]?.string])
        }
        for words in ["", passphrase + " ", passphrase.uppercased(), String(digest.dropLast())] {
            #expect(try UserKey.candidates(words).allSatisfy { try license.contentKey($0) == nil }, "\(words)")
        }
        let key = UserKey(passphrase: passphrase)
        for field in ["email", "name"] {
            let value = try #require(license.userField(field, key))
            #expect(hexDigest(Array(value.utf8)) == oracle["user_\(field)_plain_sha256"]?.string)
        }
    }

    @Test(arguments: 1...16)
    func `may be padded with any bytes, of which only the last says how many they are`(count: Int) throws {
        let key = Secret.random(count: 32)
        let plain = Random.bytes(48 - count)
        let padded = plain + Random.bytes(count - 1) + [UInt8(count)]
        let iv = Random.bytes(16)
        let out = try TestProvider.cipherText(padded.rawSpan, key, iv)
        #expect(try XMLEncryption.decrypt(iv + out.prefix(48), key: key) == Secret(plain))
    }

    @Test(arguments: [0, 17, 255])
    func `are refused with padding that none can be`(count: UInt8) throws {
        let key = Secret.random(count: 32)
        let iv = Random.bytes(16)
        let blocks = [UInt8](repeating: count, count: 16)
        let out = try TestProvider.cipherText(blocks.rawSpan, key, iv)
        #expect(throws: CryptoError(.padding)) { try XMLEncryption.decrypt(iv + out.prefix(16), key: key) }
        for length in [0, 15, 16, 31, 33] {
            #expect(throws: CryptoError(.length)) { try XMLEncryption.decrypt([UInt8](repeating: 1, count: length), key: key) }
        }
    }

    @Test func `are an error of the license when the passphrase is right and the content key is none`() async throws {
        let provider = try await TestProvider()
        var document = try provider.unsigned()
        let key = UserKey(passphrase: provider.passphrase)
        var encryption = try #require(document["encryption"]?.object)
        let short = [UInt8](repeating: 1, count: 31)
        encryption["content_key"] = [
            "algorithm": .string(Encryption.aes256CBC),
            "encrypted_value": .string(try TestProvider.encrypt(short.rawSpan, key.secret)),
        ]
        document["encryption"] = .object(encryption)
        let license = try UnverifiedLicense(try await provider.sign(document)).verified(by: provider.profiles)
        #expect(throws: LCPError(.contentKey, "")) { try license.contentKey(key) }
    }

    @Test func `are made by a profile's own function, which must make 32 bytes`() async throws {
        let provider = try await TestProvider()
        let key = UserKey(passphrase: provider.passphrase)
        func verified(_ transform: @escaping LCPProfile.UserKeyTransform) async throws -> VerifiedLicense {
            let profile = LCPProfile(
                uri: LCPProfile.basicURI,
                anchors: [try provider.anchor],
                signatures: [.rsaSHA256],
                transform: transform
            )
            return try UnverifiedLicense(try await provider.license()).verified(by: ProfileRegistry([profile]))
        }
        // also when it returns the array that it was given, which is wiped then
        #expect(try await verified { $0 }.contentKey(key) == provider.contentKey)
        #expect(try await verified { Array($0.reversed()) }.contentKey(key) == nil)
        for count in [0, 31, 33] {
            let wrong = try await verified { digest in Array((digest + [0]).prefix(count)) }
            #expect(throws: LCPError(.unsupportedProfile, "")) { try wrong.contentKey(key) }
            #expect(throws: LCPError(.unsupportedProfile, "")) { try wrong.isOpened(by: key) }
        }
    }

    @Test func `and the user of a license are never printed`() async throws {
        let provider = try await TestProvider()
        let user: JSON = ["id": "reader-1", "name": "Ann Reader", "email": "ann@example.com"]
        let license = try UnverifiedLicense(try await provider.license(["user": user]))
        let verified = try license.verified(by: provider.profiles)
        let asked = LCPAuthenticatedLicense(reason: .passphraseNotFound, document: license.document)
        for value in [license, verified, asked, license.document, license.document.user] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] {
                #expect(!text.contains("Ann") && !text.contains("ann@"))
            }
        }
    }

    @Test func `never print`() {
        let key = UserKey(passphrase: "open sesame")
        for text in ["\(key)", String(reflecting: key)] {
            #expect(!text.contains("sesame"))
            #expect(!text.contains(key.hexDigest.prefix(8)))
        }
    }
}
