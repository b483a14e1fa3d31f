// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelRights
import CarrelTesting
import Testing

struct `A proof of possession` {
    /// RFC 9449 §7.1.
    static let published = """
        eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdC\
        RnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwi\
        aHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJjZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8y\
        cjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFFbyJ9.2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSY\
        oMxhAJpLjA
        """
    static let token = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"
    static let time = Instant(milliseconds: 1_562_262_618_000)

    @Test func `of the specification is read`() throws {
        let proof = try DPoPProof(
            Self.published,
            method: .get,
            urls: ["https://resource.example.org/protectedresource"],
            token: Self.token,
            at: Self.time
        )
        #expect(proof.thumbprint == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
        #expect(proof.id == "e1j3V_bKic8-LAEB" && proof.issuedAt == Self.time)
        let file = try Fixtures.bytes("drm/jose/dpop-selfmade.json")
        let fixture = try JSON.parse(file.rawSpan)
        let made = try DPoPProof(
            fixture["proof"]?.string ?? "",
            method: .post,
            urls: ["https://cp.example.test/v1/license"],
            token: fixture["access_token"]?.string ?? "",
            at: Instant(milliseconds: 1_735_689_600_000)
        )
        #expect(made.thumbprint == fixture["expected_jkt"]?.string && made.id == "dpop-fixture-0001")
    }

    @Test func `that was altered in one character is refused`() throws {
        let characters = Array(Self.published.utf8)
        for place in stride(from: 0, to: characters.count, by: 3) {
            var altered = characters
            altered[place] = altered[place] == UInt8(ascii: "B") ? UInt8(ascii: "C") : UInt8(ascii: "B")
            let text = String(decoding: altered, as: UTF8.self)
            #expect(throws: RightsError.self, "\(place)") {
                try DPoPProof(
                    text,
                    method: .get,
                    urls: ["https://resource.example.org/protectedresource"],
                    token: Self.token,
                    at: Self.time
                )
            }
        }
    }

    @Test(arguments: [2048, 2049])
    func `names an address of 2048 bytes at most`(length: Int) async throws {
        let key = P256.PrivateKey()
        let start = "https://localhost/"
        let url = start + String(repeating: "a", count: length - start.utf8.count)
        let made = try await DPoPProof.make(method: .get, url: url, token: "abc", signingKey: key.publicKey, now: Self.time) {
            key.sign($0.rawSpan)
        }
        let proof = try? DPoPProof(made.text, method: .get, urls: [url], token: "abc", at: Self.time)
        #expect((proof != nil) == (length == 2048))
    }

    @Test func `that is made is read, with what its answer repeats`() async throws {
        let key = P256.PrivateKey()
        let made = try await DPoPProof.make(
            method: .get,
            url: "https://LOCALHOST:443/hms/ms3/rights/?b=abc#x",
            token: "abc",
            signingKey: key.publicKey,
            now: Self.time
        ) { key.sign($0.rawSpan) }
        let proof = try DPoPProof(
            made.text,
            method: .get,
            urls: ["https://other.test/", "https://localhost/hms/ms3/rights/"],
            token: "abc",
            at: Self.time
        )
        #expect(proof.key == key.publicKey && proof.id == made.id && proof.digest == made.digest)
        let bytes = Array(made.text.utf8)
        #expect(made.digest == SHA256.hash(bytes.rawSpan))
    }
}

struct `The certificate that a proxy forwards` {
    @Test func `is a byte sequence of a bounded length`() throws {
        // RFC 9440 §2.2: a byte sequence; here of three bytes
        #expect(try ClientCertificate(forwardedIn: ["Client-Cert": ":AQID:"]) == .forwarded([1, 2, 3]))
        #expect(try ClientCertificate(forwardedIn: [:]) == nil)
        let long = ":\(Base64.encode([UInt8](repeating: 1, count: 20_000))):"
        #expect(throws: HTTPError.self) { try ClientCertificate(forwardedIn: ["Client-Cert": long]) }
    }
}
