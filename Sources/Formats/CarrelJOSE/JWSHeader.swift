// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
import CarrelJSON

/// The header of a signature (RFC 7515 §4): only the accepted members, nothing that leads elsewhere.
package struct JWSHeader: Sendable {
    package let algorithm: SignatureAlgorithm
    /// Which key signed it; nil if it is not declared.
    package let keyID: String?
    /// The media type of the whole, without `application/`, such as `JWT`.
    package let type: String?
    /// The signer's certificate in DER and those that lead from it to a root; empty if there are none.
    package let certificates: [[UInt8]]

    /// The most certificates that are read.
    package static let maxCertificates = 5

    /// - Parameters:
    ///   - bytes: the decoded text of the header.
    ///   - limit: the longest header that is read, in bytes.
    /// - Throws: `jose.malformed`, `jose.algorithm`.
    init(_ bytes: [UInt8], upTo limit: Int) throws(JOSEError) {
        guard let object = try? JSON.parse(bytes.rawSpan, limits: JSONLimits(depth: 4, byteCount: limit)).object else {
            throw JOSEError(.malformed, "the header is no JSON object")
        }
        // "none", every symmetric algorithm and every asymmetric one that no supported signer needs end here (RFC 8725 §3.1).
        switch object["alg"]?.string {
        case "RS256": algorithm = .rs256
        case "ES256": algorithm = .es256
        default: throw JOSEError(.algorithm, "it is not signed with RS256 or ES256")
        }
        // Extensions that have to be understood (§4.1.11); we understand none.
        guard object["crit"] == nil, object["b64"] == nil else { throw JOSEError(.algorithm, "it needs an unknown extension") }
        keyID = try Self.text("kid", of: object)
        type = try Self.text("typ", of: object)
        certificates = try Self.certificates(object["x5c"])
    }

    private static func text(_ name: String, of object: JSONObject) throws(JOSEError) -> String? {
        guard let value = object[name] else { return nil }
        guard let text = value.string, text.utf8.count <= 512 else { throw JOSEError(.malformed, "\(name) is not a short text") }
        return text
    }

    private static func certificates(_ value: JSON?) throws(JOSEError) -> [[UInt8]] {
        guard let value else { return [] }
        guard let elements = value.array, 1...maxCertificates ~= elements.count else {
            throw JOSEError(.malformed, "x5c is not a list of 1 to \(maxCertificates) certificates")
        }
        var certificates: [[UInt8]] = []
        for element in elements {
            guard let bytes = element.string.flatMap({ Base64.decode($0) }) else {
                throw JOSEError(.malformed, "x5c is not base 64")
            }
            certificates.append(bytes)
        }
        return certificates
    }
}
