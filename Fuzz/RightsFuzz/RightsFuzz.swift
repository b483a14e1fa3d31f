// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJOSE
import CarrelJSON
import CarrelRights

/// Messages of players and of the service: nothing is accepted that a key of ours did not sign or encrypt. The first byte chooses the reader.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let choice = bytes.first else { return 0 }
    let body = Array(bytes.dropFirst())
    let text = String(decoding: body, as: UTF8.self)
    switch choice % 8 {
    case 0:
        if (try? PersonalizationRequest(text)) != nil, text.isEmpty { fatalError("an empty request was accepted") }
        let urls = ["https://localhost/hms/ms3/rights/"]
        let time = Instant(milliseconds: 1_800_000_000_000)
        if (try? DPoPProof(text, method: .get, urls: urls, token: "token", at: time))?.id.isEmpty == true {
            fatalError("a proof without an id was accepted")
        }
    case 1:
        let read = try? KeyRequest.Unverified(text, environment: "live", keys: [parties.id: parties.service])
        if let read, (try? read.verified(by: parties.device.publicKey)) != nil {
            fatalError("a request was accepted that was not made")
        }
        if let link = try? LinkRequest.Unverified(text),
            (try? link.verified(by: parties.device.publicKey, environment: "live")) != nil
        {
            fatalError("a request for a code was accepted that was not made")
        }
    case 2: if (try? License(text, keys: parties.keys)) != nil { fatalError("a license was accepted that was not signed") }
    case 3: if (try? Revocations(text, keys: parties.keys)) != nil { fatalError("a list was accepted that was not signed") }
    case 4:
        if (try? ServiceKeys(text, signedBy: parties.device.publicKey)) != nil {
            fatalError("keys were accepted that were not signed")
        }
    case 5: _ = try? CertificationRequest(der: body)
    case 6:
        if let certificate = try? Certificate(der: body) {
            _ = (certificate.serial, certificate.commonName, certificate.identifier, certificate.thumbprint)
            _ = try? PlayerCertificate(certificate)
        }
    default:
        // the stored records of a device
        if let json = try? JSON.parse(body.rawSpan) {
            if let terms = try? LicenseTerms(json), (try? LicenseTerms(terms.json)) != terms {
                fatalError("terms change when kept")
            }
            if let clock = try? TrustedClock(json), (try? TrustedClock(clock.json)) != clock {
                fatalError("a clock changes when kept")
            }
            _ = try? Obligation(json)
            _ = try? PersonalizationResponse(json)
            _ = try? JWK(json)
        }
    }
    return 0
}

private struct Parties {
    let device = P256.PrivateKey()
    let service = P256.PrivateKey()
    let license = Ed25519.PrivateKey.generate()
    let id: String
    let keys: ServiceKeys

    init() {
        id = JWK.p256(service.publicKey).thumbprint
        let validity = Instant(milliseconds: 0)...Instant(milliseconds: 4_000_000_000_000)
        let key = JWK.ed25519(license.publicKey)
        keys = ServiceKeys(
            environment: "live",
            number: 1,
            keys: [ServiceKeys.Use.license, .revocation, .time].map { .init(use: $0, key: key, validity: validity) },
            authorities: [],
            validity: validity
        )
    }
}

private let parties = Parties()
