// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelEME
import CarrelJSON
import CarrelTesting
import Testing

struct `A message of ClearKey` {
    private static func request(_ text: String) throws -> ClearKeyRequest {
        let bytes = Array(text.utf8)
        return try ClearKeyRequest(parsing: bytes.rawSpan)
    }

    private static func problem(_ text: String) -> String? {
        do throws(EMEError) {
            let bytes = Array(text.utf8)
            _ = try ClearKeyRequest(parsing: bytes.rawSpan)
            return nil
        } catch {
            return error.code.identifier
        }
    }

    @Test func `is read as the specification writes requests, releases and licenses`() throws {
        let bytes = try Fixtures.bytes("drm/clearkey/w3c-request.json")
        let request = try ClearKeyRequest(parsing: bytes.rawSpan)
        #expect(request.purpose == .license(.temporary) && !request.isPlain)
        #expect(request.keyIDs.map { Base64URL.encode($0) } == ["LwVHf8JLtPrv2GUXFW2v_A", "0DdtU9od-Bh5L3xbv0Xf_A"])
        let released = try Fixtures.bytes("drm/clearkey/w3c-release.json")
        let release = try ClearKeyRequest(parsing: released.rawSpan)
        #expect(release.purpose == .release && release.keyIDs == request.keyIDs)
        #expect(try JSON.parse(release.write().rawSpan) == JSON.parse(released.rawSpan), "the acknowledgement has the same form")
        for name in ["w3c-license.json", "sample_fragmented_clearkey.license.json"] {
            let text = try Fixtures.bytes("drm/clearkey/\(name)")
            let license = try ClearKeyLicense(parsing: text.rawSpan)
            #expect(license.keys.count == 1 && license.keys[0].id.count == 16 && license.keys[0].key.count == 16)
            let written = license.write(for: ClearKeyRequest([license.keys[0].id], .license(.temporary)))
            #expect(try JSON.parse(written.rawSpan) == JSON.parse(text.rawSpan))
        }
    }

    @Test(arguments: ["LwVHf8JLtPrv2GUXFW2v_A", "LwVHf8JLtPrv2GUXFW2v_A==", "LwVHf8JLtPrv2GUXFW2v/A", "LwVHf8JLtPrv2GUXFW2v/A=="])
    func `is read in every form of base 64, and answered in the alphabet of the player`(form: String) throws {
        let request = try Self.request(#"{"kids":["\#(form)"],"type":"temporary"}"#)
        #expect(request.keyIDs.map { Hex.encode($0) } == ["2f05477fc24bb4faefd86517156daffc"])
        let key = Secret([0xfb, 0xff] + [UInt8](repeating: 0, count: 14))
        let license = ClearKeyLicense([.init(id: request.keyIDs[0], key: key)]).write(for: request)
        let text = String(decoding: license, as: UTF8.self)
        #expect(text.contains(form.hasSuffix("v_A") ? "\"-_8AAA" : "\"+/8AAA"))
        #expect(try ClearKeyLicense(parsing: license.rawSpan).keys[0].key == key)
    }

    @Test func `may name its session, and other members`() throws {
        let text = #"{"kids":["LwVHf8JLtPrv2GUXFW2v_A","LwVHf8JLtPrv2GUXFW2v_A"],"type":"persistent-license","vendor":{"a":[1]}}"#
        let request = try Self.request(text)
        #expect(request.purpose == .license(.persistent) && request.keyIDs.count == 1, "an id that is named twice is one key")
        #expect(try Self.request(#"{"kids":["AA"],"type":null}"#).purpose == .release)
    }

    @Test(arguments: [
        "", "[]", "{}", "null", #"{"kids":[]}"#, #"{"kids":"LwVHf8JLtPrv2GUXFW2v_A"}"#, #"{"kids":[1]}"#,
        #"{"kids":[""]}"#, #"{"kids":["LwVHf8JLtPrv2GUXFW2v!A"]}"#, #"{"kids":["LwVHf8JLtPrv2GUXFW2v_A="]}"#,
        #"{"kids":["LwVHf8JLtPrv2GUXFW2v_A==="]}"#, #"{"kids":["LwVHf8JLtPrv2GUXFW2v_B"]}"#,
        #"{"kids":["AA"],"type":"persistent-usage-record"}"#, #"{"kids":["AA"],"type":1}"#,
        #"{"kids":["AA"],"type":"temporary"} "x""#, "\u{0}",
    ])
    func `that is malformed is refused`(text: String) {
        #expect(Self.problem(text) == "eme.malformed")
    }

    @Test func `with ten thousand keys is refused, within a second`() {
        let kids = (0..<10_000).map { number in
            let id = [UInt8](repeating: 7, count: 14) + [UInt8(number >> 8), UInt8(number & 255)]
            return "\"\(Base64URL.encode(id))\""
        }
        let text = #"{"kids":["# + kids.joined(separator: ",") + #"],"type":"temporary"}"#
        let clock = ContinuousClock()
        let duration = clock.measure { #expect(Self.problem(text) == "eme.too-many-keys") }
        #expect(duration < .seconds(1))
        #expect(Self.problem(#"{"kids":["AA"],"x":""# + String(repeating: "a", count: 600_000) + "\"}") == "eme.malformed")
    }

    @Test(arguments: [
        "", "{}", #"{"keys":{}}"#, #"{"keys":[{"kty":"oct","kid":"!","k":"AA"}]}"#, #"{"keys":[{"kty":"oct","kid":"AA"}]}"#,
    ])
    func `is not a license without keys in base 64`(text: String) {
        #expect(throws: EMEError.self) {
            let bytes = Array(text.utf8)
            _ = try ClearKeyLicense(parsing: bytes.rawSpan)
        }
    }

    @Test func `with keys of other types is a license without them`() throws {
        let bytes = Array(#"{"keys":[{"kty":"RSA","n":"AQAB"},{"kty":"oct","kid":"AQ","k":"Ag"}]}"#.utf8)
        #expect(try ClearKeyLicense(parsing: bytes.rawSpan).keys.map(\.id) == [[1]])
    }
}
